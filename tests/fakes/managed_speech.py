"""A managed voice that hums: a tone of a third of a second for each word, with right times."""

from __future__ import annotations

import array
import io
import math
import re
import wave

from services.domain.errors import ContentRejected, Unavailable
from services.domain.timeline import Phoneme, SpeechTimeline, TimelineSource, Word
from services.domain.video import VoiceSettings
from services.ports.catalogue import Voice
from services.ports.managed_speech import SpokenFile

_RATE_HZ = 16_000
_WORD_S = 0.3
_WORD = re.compile(r"\w+")
_END = re.compile(r"[.!?。！？]")


class FakeManagedSpeech:
    """Attributes:
    asked: The texts so far.
    is_reachable: Whether the service answers.
    absent: Ids of voices that are not to be had where it is used.
    """

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.is_reachable = True
        self.absent: set[str] = set()

    def speak(self, text: str, voice: Voice, settings: VoiceSettings) -> SpokenFile:
        if settings.pitch != 0:
            raise ContentRejected("No pitch.", code="voice_setting_not_supported", param="speech.voice.pitch")
        found = list(_WORD.finditer(text))
        if not found:
            raise ContentRejected("Nothing to say.", code="nothing_to_say", param="speech.text")
        if voice.id in self.absent:
            raise Unavailable("No such voice here.", code="voice_not_available", retryable=False)
        self.asked.append(text)
        if not self.is_reachable:
            raise Unavailable("No answer.", code="speech_unavailable")
        words: list[Word] = []
        phonemes: list[Phoneme] = []
        at = 0.0
        for match in found:
            if words and settings.pause_s > 0 and _END.search(text, words[-1].char_end, match.start()):
                phonemes.append(Phoneme(symbol="", start_s=at, end_s=at + settings.pause_s))
                at += settings.pause_s
            end = at + _WORD_S / settings.speed
            words.append(Word(text=match[0], start_s=at, end_s=end, char_start=match.start(), char_end=match.end()))
            phonemes.append(Phoneme(symbol="a", start_s=at, end_s=end))
            at = end
        timeline = SpeechTimeline(
            duration_s=at, source=TimelineSource.SYNTHESIS, words=tuple(words), phonemes=tuple(phonemes)
        )
        return SpokenFile(data=_hum(timeline), media_type="audio/wav", name="speech.wav", timeline=timeline)


def _hum(timeline: SpeechTimeline) -> bytes:
    samples = array.array("h", bytes(2 * round(timeline.duration_s * _RATE_HZ)))
    for word in timeline.words:
        for at in range(round(word.start_s * _RATE_HZ), min(len(samples), round(word.end_s * _RATE_HZ))):
            samples[at] = round(8000 * math.sin(2 * math.pi * 200 * at / _RATE_HZ))
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(_RATE_HZ)
        sound.writeframes(samples.tobytes())
    return file.getvalue()
