"""What a video's presenter says: recorded sound, or a script and the voice that speaks it."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from services.domain import wire
from services.domain.brief import Script, WriterKind
from services.domain.copywriting import spoken_characters
from services.domain.errors import SpokesmodelError, Unavailable
from services.domain.job import Job
from services.domain.storyboard import SpeechShot
from services.domain.video import SpokenAudio, SpokenText
from services.ports.catalogue import Voice, VoiceCatalogue
from services.ports.language_model import LanguageModel
from services.ports.managed_speech import ManagedSpeech
from services.ports.objects import ObjectStore
from services.ports.uploads import UploadStore
from services.usecases.copy_inputs import copy_upload
from services.usecases.fetch_source import SourceReader
from services.usecases.work_key import work_key
from services.usecases.write_script import write_script

MANAGED_ENGINES: Final = ("polly",)  # of voices that speak while a job is prepared


def prepare_speech(
    speech: SpokenText | SpokenAudio,
    job: Job,
    *,
    voices: VoiceCatalogue,
    language_model: LanguageModel | None,
    managed_speech: ManagedSpeech | None,
    objects: ObjectStore,
    uploads: UploadStore,
    fetch: SourceReader,
) -> SpeechShot:
    """What is said: the script written when a brief was given, and spoken when the voice is a managed one.

    Raises:
        ContentRejected: ``upload_not_found``, or what ``write_script`` says of the brief or ``ManagedSpeech`` of the
            text.
        NotFound: ``voice_not_found``.
        Unavailable: What ``ManagedSpeech`` says.
    """
    if isinstance(speech, SpokenAudio):
        if speech.source_url is not None:
            key = fetch(speech.source_url, "audio", ("audio", "video"), "speech.audio_source_url")
        else:
            key = copy_upload(
                speech.upload_id or "", "audio", job, param="speech.audio_upload_id", objects=objects, uploads=uploads
            )
        return SpeechShot(audio_key=key, transcript=speech.transcript, language=speech.language)
    voice = voices.get(speech.voice.voice_id)
    script = _script(speech, voice, language_model)
    language = speech.language or (script.language if speech.brief is not None else None)
    shot = SpeechShot(script=script, voice=speech.voice, language=language)
    if voice.engine in MANAGED_ENGINES:
        return _spoken(shot, script, voice, job, managed_speech=managed_speech, objects=objects)
    return shot


def _script(speech: SpokenText, voice: Voice, language_model: LanguageModel | None) -> Script:
    if speech.brief is not None:
        try:
            return write_script(
                speech.brief,
                voice=voice,
                language_model=language_model,
                speed=speech.voice.speed,
                pause_s=speech.voice.pause_s,
            )
        except SpokesmodelError as error:
            error.param = f"speech.{error.param}" if error.param else "speech.brief"  # as the client named it
            raise
    text = speech.text or ""
    return Script(
        text=text,
        language=speech.language or voice.language,
        writer=WriterKind.CLIENT,
        estimated_duration_s=round(
            spoken_characters(text, voice.language) / (voice.characters_per_s * speech.voice.speed), 2
        ),
    )


def _spoken(
    shot: SpeechShot,
    script: Script,
    voice: Voice,
    job: Job,
    *,
    managed_speech: ManagedSpeech | None,
    objects: ObjectStore,
) -> SpeechShot:
    """``shot`` with the sound and its times as objects of the job; a repetition writes the same keys."""
    if managed_speech is None or shot.voice is None:
        raise Unavailable(
            f"The voice {voice.id} is a managed one, and this system uses no managed voices.",
            code="voice_not_available",
            retryable=False,
        )
    spoken = managed_speech.speak(script.text, voice, shot.voice)
    audio_key, timeline_key = work_key(job, spoken.name), work_key(job, "speech.json")
    objects.put(audio_key, spoken.data, media_type=spoken.media_type)
    objects.put(timeline_key, wire.encode(spoken.timeline), media_type="application/json")
    return replace(
        shot,
        audio_key=str(audio_key),
        timeline_key=str(timeline_key),
        transcript=script.text,
        language=shot.language or voice.language,
    )
