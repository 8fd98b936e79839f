"""How many seconds of its tenant's month a job keeps free until it has ended."""

from __future__ import annotations

from typing import Final

from services.domain.errors import NotFound
from services.domain.media_format import START_BYTES
from services.domain.object_key import ObjectKey
from services.domain.sound_length import length_s
from services.domain.video import SpokenAudio, VideoRequest
from services.ports.catalogue import VoiceCatalogue
from services.ports.objects import ObjectStore
from services.ports.uploads import UploadStore
from services.settings import Settings
from services.usecases.check_upload import find_upload
from services.usecases.estimate_speech import estimate_text

# What speech is recorded with at the least, in bytes a second: 16 kbit/s of sound, 160 kbit/s with a picture.
_LEAST_BYTES_PER_S: Final = {"audio": 2_000.0, "video": 20_000.0}


def held_seconds(
    request: VideoRequest,
    *,
    tenant_id: str,
    voices: VoiceCatalogue,
    uploads: UploadStore,
    objects: ObjectStore,
    settings: Settings,
    has_language_model: bool = False,
) -> float:
    """The estimated duration of a text; of a brief the seconds asked for; of a recording what its first bytes tell.

    Of a recording whose first bytes do not tell it is a bound: its size at the lowest rate that speech is recorded
    with, and of one behind a URL ``max_audio_s``. What is held too much is free again when the job ends.

    Raises:
        ContentRejected: ``upload_not_found``, and what ``check_voice`` says.
    """
    speech = request.speech
    if not isinstance(speech, SpokenAudio):
        found = estimate_text(speech, voices=voices, has_language_model=has_language_model, write_script_first=False)
        return round(found.duration_s, 2)
    if speech.upload_id is None:
        return settings.max_audio_s
    upload = find_upload(speech.upload_id, tenant_id=tenant_id, uploads=uploads, param="speech.audio_upload_id")
    try:
        start = objects.start_of(ObjectKey.parse(upload.object_key), size_bytes=START_BYTES)
    except NotFound:  # deleted since it was checked: preparing the job will say so
        return settings.max_audio_s
    least = _LEAST_BYTES_PER_S.get(upload.media_type.partition("/")[0], _LEAST_BYTES_PER_S["audio"])
    told = length_s(start, upload.size_bytes)
    return round(min(upload.size_bytes / least if told is None else told, settings.max_audio_s), 2)
