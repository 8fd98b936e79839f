"""How many seconds of its tenant's month a job keeps free until it has ended."""

from __future__ import annotations

from typing import Final

from services.domain import wire
from services.domain.engine import EngineKind
from services.domain.errors import ContentRejected, NotFound
from services.domain.job import Job
from services.domain.media_format import START_BYTES
from services.domain.object_key import ObjectKey
from services.domain.sound_length import length_s
from services.domain.storyboard import Storyboard
from services.domain.video import SpokenAudio, VideoRequest
from services.ports.catalogue import VoiceCatalogue
from services.ports.objects import ObjectStore
from services.ports.uploads import UploadStore
from services.settings import Settings
from services.usecases.check_upload import find_upload
from services.usecases.estimate_speech import estimate_text

# What speech is recorded with at the least, in bytes a second: 16 kbit/s of sound, 160 kbit/s with a picture.
_LEAST_BYTES_PER_S: Final = {"audio": 2_000.0, "video": 20_000.0}
_INEXACT_S: Final = 1.0  # by which first bytes may be wrong: padding, tags behind the sound


def held_seconds(
    request: VideoRequest,
    *,
    tenant_id: str,
    voices: VoiceCatalogue,
    uploads: UploadStore,
    objects: ObjectStore,
    settings: Settings,
    most_s: float,
    has_language_model: bool = False,
) -> float:
    """The estimated duration of a text; of a brief the seconds asked for; of a recording what its first bytes tell.

    Of a recording whose first bytes do not tell it is a bound: its size at the lowest rate that speech is recorded
    with, and of one behind a URL ``max_audio_s``. What is held too much is free again once the job is prepared, or has
    ended.

    Args:
        most_s: The tenant's whole month: no bound is more.

    Raises:
        ContentRejected: ``upload_not_found``, and what ``check_voice`` says.
    """
    speech = request.speech
    if not isinstance(speech, SpokenAudio):
        found = estimate_text(speech, voices=voices, has_language_model=has_language_model, write_script_first=False)
        return round(found.duration_s, 2)
    if speech.upload_id is None:
        return min(settings.max_audio_s, most_s)
    upload = find_upload(speech.upload_id, tenant_id=tenant_id, uploads=uploads, param="speech.audio_upload_id")
    try:
        start = objects.start_of(ObjectKey.parse(upload.object_key), size_bytes=START_BYTES)
    except NotFound:  # deleted since it was checked: preparing the job will say so
        return min(settings.max_audio_s, most_s)
    told = length_s(start, upload.size_bytes)
    if told is None:
        told = min(_bound_s(upload.size_bytes, upload.media_type), most_s)
    return round(min(told, settings.max_audio_s), 2)


def held_when_prepared(job: Job, storyboard: bytes, *, objects: ObjectStore) -> float | None:
    """What the job holds once its sound is an object of its own: less, where that is found to be shorter.

    Raises:
        ContentRejected: ``longer_than_monthly_quota``: a recording that was fetched is longer than what is held for it.
    """
    if job.held_s is None or job.kind is not EngineKind.VIDEO:
        return job.held_s
    speech = wire.decode(Storyboard, storyboard).speech
    if speech.audio_key is None:
        return job.held_s
    key = ObjectKey.parse(speech.audio_key)
    info, start = objects.head(key), objects.start_of(key, size_bytes=START_BYTES)
    told = length_s(start, info.size_bytes)
    if told is not None and speech.script is None and told > job.held_s + _INEXACT_S:
        raise ContentRejected(
            f"The recording has {told:.1f} s, and its tenant's month holds {job.held_s:g} s for it.",
            code="longer_than_monthly_quota",
            param="speech",
        )
    found = _bound_s(info.size_bytes, info.media_type) if told is None else told
    return min(job.held_s, round(found, 2))


def _bound_s(size_bytes: int, media_type: str) -> float:
    return size_bytes / _LEAST_BYTES_PER_S.get(media_type.partition("/")[0], _LEAST_BYTES_PER_S["audio"])
