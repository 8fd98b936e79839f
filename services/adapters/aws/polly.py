"""Amazon Polly's neural voices: sound, and its speech marks as the mouth's timeline.

A text that one request holds comes as Ogg Vorbis at 24 kHz, the voices' own rate. A longer one is cut between sentences
and comes as PCM at 16 kHz, the most that Polly gives as PCM, because only PCM can be joined to the sample.
"""

from __future__ import annotations

import io
import wave
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from services.adapters.aws.clients import Clients, error_code, translated
from services.adapters.aws.ogg import ogg_duration_s
from services.adapters.aws.polly_marks import phonemes_of, read_marks, words_of
from services.adapters.aws.polly_text import Part, parts_of
from services.domain.errors import ContentRejected, SpokesmodelError, Unavailable
from services.domain.timeline import Phoneme, SpeechTimeline, TimelineSource, Word
from services.domain.video import VoiceSettings
from services.ports.catalogue import Voice
from services.ports.managed_speech import SpokenFile

POLLY_VOICES: Final = Path(__file__).with_name("polly_voices.json")
ID_PREFIX: Final = "polly-"
_PCM_RATE_HZ: Final = 16_000
_SOUND_RATE: Final = "24000"
_GAP_S: Final = 0.25  # between parts; within one, Polly pauses by itself
_NUM_AT_ONCE: Final = 6
_ENGINE: Final = "neural"
_NOT_HERE: Final = ("EngineNotSupportedException", "LanguageNotSupportedException")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Take:
    part: Part
    data: bytes
    duration_s: float
    marks: list[dict[str, Any]]


class PollySpeech:
    """``ManagedSpeech`` by SynthesizeSpeech: each text is asked for twice, as sound and as marks."""

    def __init__(self, clients: Clients) -> None:
        self._clients = clients

    def speak(self, text: str, voice: Voice, settings: VoiceSettings) -> SpokenFile:
        """See ``ManagedSpeech``."""
        if settings.pitch != 0:
            raise ContentRejected(
                f"The voice {voice.id} cannot be pitched; leave pitch at 0 or take another voice.",
                code="voice_setting_not_supported",
                param="speech.voice.pitch",
            )
        parts = parts_of(text, settings)
        if not parts:
            raise ContentRejected("There is nothing to say in the text.", code="nothing_to_say", param="speech.text")
        is_whole = len(parts) == 1
        with ThreadPoolExecutor(min(_NUM_AT_ONCE, len(parts)), thread_name_prefix="polly") as threads:
            takes = list(threads.map(lambda part: self._take(part, voice, is_whole=is_whole), parts))
        timeline = _timeline(takes, text, gap_s=_gap_s(settings))
        if is_whole:
            return SpokenFile(data=takes[0].data, media_type="audio/ogg", name="speech.ogg", timeline=timeline)
        return SpokenFile(
            data=_joined(takes, gap_s=_gap_s(settings)), media_type="audio/wav", name="speech.wav", timeline=timeline
        )

    def _take(self, part: Part, voice: Voice, *, is_whole: bool) -> _Take:
        if is_whole:
            data = self._ask(part, voice, OutputFormat="ogg_vorbis", SampleRate=_SOUND_RATE)
        else:
            data = self._ask(part, voice, OutputFormat="pcm", SampleRate=str(_PCM_RATE_HZ))
        marks = self._ask(part, voice, OutputFormat="json", SpeechMarkTypes=["word", "sentence", "viseme"])
        try:
            duration_s = ogg_duration_s(data) if is_whole else len(data) // 2 / _PCM_RATE_HZ
        except ValueError as error:
            raise Unavailable("Polly's sound cannot be read.", code="speech_unavailable") from error
        if duration_s <= 0:
            raise Unavailable("Polly gave no sound.", code="speech_unavailable")
        return _Take(part=part, data=data, duration_s=duration_s, marks=read_marks(marks))

    def _ask(self, part: Part, voice: Voice, **output: Any) -> bytes:
        from botocore.exceptions import ClientError

        with translated("Polly", code="speech_unavailable"):
            try:
                answer = self._clients.get("polly").synthesize_speech(
                    Engine=_ENGINE,
                    VoiceId=polly_name(voice),
                    LanguageCode=polly_language(voice),
                    Text=part.ssml,
                    TextType="ssml",
                    **output,
                )
                stream = answer["AudioStream"]
                try:
                    return bytes(stream.read())
                finally:
                    stream.close()
            except ClientError as error:
                known = _known(error_code(error), voice)
                if known is not None:
                    raise known from error
                raise


def polly_name(voice: Voice) -> str:
    """Polly's own name of a catalogue voice: ``polly-joanna`` is ``Joanna``, ``polly-kajal-hi`` is ``Kajal``."""
    return voice.id.removeprefix(ID_PREFIX).partition("-")[0].capitalize()


def polly_language(voice: Voice) -> str:
    """Polly's code of the language, which is the catalogue's but for these three."""
    return {"zh-CN": "cmn-CN", "yue-HK": "yue-CN", "nb": "nb-NO"}.get(voice.language, voice.language)


def _known(code: str, voice: Voice) -> SpokesmodelError | None:
    if code in _NOT_HERE:
        return Unavailable(
            f"Polly's voice {voice.id} is not to be had in this AWS region; take another one.",
            code="voice_not_available",
            retryable=False,
        )
    if code == "TextLengthExceededException":
        return ContentRejected("Polly takes no text as long as this.", code="text_too_long", param="speech.text")
    return None


def _gap_s(settings: VoiceSettings) -> float:
    return _GAP_S + settings.pause_s


def _timeline(takes: list[_Take], text: str, *, gap_s: float) -> SpeechTimeline:
    words: list[Word] = []
    phonemes: list[Phoneme] = []
    at = 0.0
    for number, take in enumerate(takes):
        if number:
            gap = round(gap_s * _PCM_RATE_HZ) / _PCM_RATE_HZ
            phonemes.append(Phoneme(symbol="", start_s=at, end_s=at + gap))
            at += gap
        words += words_of(take.marks, take.part, text, duration_s=take.duration_s, offset_s=at)
        phonemes += phonemes_of(take.marks, duration_s=take.duration_s, offset_s=at)
        at += take.duration_s
    return SpeechTimeline(duration_s=at, source=TimelineSource.SYNTHESIS, words=tuple(words), phonemes=tuple(phonemes))


def _joined(takes: list[_Take], *, gap_s: float) -> bytes:
    silence = bytes(2 * round(gap_s * _PCM_RATE_HZ))
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(_PCM_RATE_HZ)
        sound.writeframes(silence.join(take.data[: len(take.data) // 2 * 2] for take in takes))
    return file.getvalue()
