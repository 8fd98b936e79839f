"""How long what is said will be, before it is spoken."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from services.domain.copywriting import primary_language, spoken_characters
from services.domain.errors import SpokesmodelError
from services.domain.video import SpokenAudio, SpokenText, VoiceSettings
from services.ports.catalogue import VoiceCatalogue
from services.ports.uploads import UploadStore
from services.settings import Settings
from services.usecases.check_upload import find_upload
from services.usecases.check_voice import check_voice
from services.usecases.write_script import write_script

_SENTENCE_END: Final = re.compile(r"[.!?…](?=\s|$)|[。！？]")
_SILENCE_S: Final = 0.3  # before and behind the words, beyond what the voice's rate has in it
# How far the real duration may be off, by what it is worked out from. Against espeak-ng, English scripts and prose came
# within 8 %, texts made of prices and dates within 22 %, single words within 0.4 s; other languages, counted by English
# rules, within 21 %. Briefs: what the writers may miss.
_TEXT_UNCERTAINTY: Final = 0.15
_NUMBERS_UNCERTAINTY: Final = 0.25
_LEAST_UNCERTAINTY_S: Final = 0.4
_DIGIT: Final = re.compile(r"\d")
_OTHER_TEXT_UNCERTAINTY: Final = 0.35
_BRIEF_UNCERTAINTY: Final = 0.25
_WELL_KNOWN: Final = ("en", "zh")
# Bytes a second of what clients record: PCM of 16 bit at 44.1 kHz, speech at 96 kbit/s, phone video at 4 Mbit/s.
_BYTES_PER_S: Final = {"audio/wav": 88_200.0, "audio": 12_000.0, "video": 500_000.0}
_USUAL_RECORDING_S: Final = 30.0


class Basis(StrEnum):
    """What an estimate of the duration is worked out from."""

    TEXT = "text"  # the words and the voice's measured rate
    SCRIPT = "script"  # the words that the template writer will write
    BRIEF = "brief"  # the seconds asked for; too few facts make it shorter
    RECORDING = "recording"  # the file's size and type: a guess
    PICTURES = "pictures"  # those asked for, which are counted and not guessed; nothing has a duration


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeechEstimate:
    """Attributes:
    uncertainty: The real duration is expected within this fraction of ``duration_s``, up or down; None for a guess.
    num_characters: What a voice speaks.
    """

    duration_s: float
    uncertainty: float | None
    basis: Basis
    num_characters: int = 0


def estimate_text(
    speech: SpokenText, *, voices: VoiceCatalogue, has_language_model: bool = False, write_script_first: bool = True
) -> SpeechEstimate:
    """The estimate of a text or brief.

    Args:
        has_language_model: Whether one will write the scripts of briefs; it is not asked for an estimate.
        write_script_first: Let the template writer write a brief's script, a tenth of a second of work, and count its
            words; False takes the seconds asked for.

    Raises:
        ContentRejected: What ``check_voice`` says.
    """
    check_voice(speech, voices, has_language_model=has_language_model)
    voice, settled = voices.get(speech.voice.voice_id), speech.voice
    if speech.brief is not None and (has_language_model or not write_script_first):
        return SpeechEstimate(
            duration_s=speech.brief.duration_s,
            uncertainty=_BRIEF_UNCERTAINTY,
            basis=Basis.BRIEF,
            num_characters=round(speech.brief.duration_s * voice.characters_per_s * settled.speed),
        )
    text, basis = speech.text or "", Basis.TEXT
    if speech.brief is not None:
        try:
            script = write_script(speech.brief, voice=voice, speed=settled.speed, pause_s=settled.pause_s)
        except SpokesmodelError as error:
            error.param = f"speech.{error.param}" if error.param else "speech.brief"  # as the client named it
            raise
        text, basis = script.text, Basis.SCRIPT
    seconds = spoken_characters(text, voice.language) / (voice.characters_per_s * settled.speed)
    seconds += max(1, len(_SENTENCE_END.findall(text))) * settled.pause_s + _SILENCE_S
    uncertainty = _uncertainty(text, voice.language, settled, seconds)
    return SpeechEstimate(duration_s=seconds, uncertainty=uncertainty, basis=basis, num_characters=len(text))


def estimate_recording(
    speech: SpokenAudio, *, tenant_id: str, uploads: UploadStore, settings: Settings
) -> SpeechEstimate:
    """A guess from the file's size and type; nothing is opened.

    Raises:
        ContentRejected: ``upload_not_found``.
    """
    seconds = _USUAL_RECORDING_S  # behind a URL that is not read for an estimate
    if speech.upload_id is not None:
        upload = find_upload(speech.upload_id, tenant_id=tenant_id, uploads=uploads, param="speech.audio_upload_id")
        family = upload.media_type.partition("/")[0]
        rate = _BYTES_PER_S.get(upload.media_type, _BYTES_PER_S.get(family, _BYTES_PER_S["audio"]))
        seconds = min(upload.size_bytes / rate, settings.max_audio_s)
    return SpeechEstimate(duration_s=seconds, uncertainty=None, basis=Basis.RECORDING)


def _uncertainty(text: str, language: str, settled: VoiceSettings, seconds: float) -> float:
    if primary_language(language) not in _WELL_KNOWN or settled.pronunciations:
        share = _OTHER_TEXT_UNCERTAINTY
    else:
        share = _NUMBERS_UNCERTAINTY if _DIGIT.search(text) else _TEXT_UNCERTAINTY
    return round(max(share, _LEAST_UNCERTAINTY_S / seconds), 2)
