"""``SpeechSynthesizer`` on a Piper voice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models import weights
from models.speech import piper
from models.speech.pitch import factor_of, shifted
from models.speech.sentence import Sentence
from models.speech.synthesis import INSTALL, check_language, check_ranges, not_spoken, sentences_of
from models.speech.utterance import Clip, join
from services.domain.errors import NotFound, Unavailable
from services.domain.video import VoiceSettings
from services.ports.speech import Speech

# id -> language; its files are ``{id}`` and ``{id}-config`` of the weights manifest.
VOICES: Final = {"piper-joe": "en-US"}
_GAIN: Final = 1.2  # level with the espeak-ng voices


# The network rounds every duration up to a whole frame; in ordinary speech that makes this share of its length, which
# does not scale.
_ROUNDED_UP: Final = 0.23


class PiperSynthesizer:
    """``services.ports.speech.SpeechSynthesizer``; safe to share between threads, which then take turns.

    Pitch is shifted by resampling, so the voice gets smaller or larger with it, like a tape run faster or slower, but
    keeps its speed.
    """

    def __init__(self, voice_id: str) -> None:
        """Raises:
        NotFound: ``voice_not_found``.
        Unavailable: ``voice_not_installed``.
        """
        if voice_id not in VOICES:
            raise NotFound(
                f"There is no voice {voice_id}; near are {', '.join(VOICES)}.",
                code="voice_not_found",
                param="voice.voice_id",
            )
        if not piper.is_installed():
            raise Unavailable(
                f"The Piper voices are not installed; run `{INSTALL}`.", code="voice_not_installed", retryable=False
            )
        for name in (voice_id, f"{voice_id}-config"):
            if not weights.is_present(name):
                raise Unavailable(
                    f"The model file {name} is not here; run `python -m models.weights` to fetch it.",
                    code="voice_not_installed",
                    retryable=False,
                )
        self._voice_id = voice_id

    def synthesize(self, text: str, voice: VoiceSettings, *, language: str | None = None) -> Speech:
        check_ranges(voice)
        spoken_language = VOICES[self._voice_id]
        check_language(text, spoken_language, asked=language, voice_id=voice.voice_id)
        sentences = sentences_of(text, spoken_language, voice)
        if any(sentence.foreign for sentence in sentences):
            raise not_spoken(text, voice.voice_id)
        factor = factor_of(voice.pitch)
        clips = piper.speak(
            sentences,
            model=weights.path(self._voice_id),
            config=weights.path(f"{self._voice_id}-config"),
            length_scale=_length_scale(factor / voice.speed),
        )
        sample_rate_hz = 22050

        def spoken() -> Iterator[tuple[Sentence, Clip]]:
            for sentence, clip in zip(sentences, clips, strict=True):
                samples: NDArray[np.float32] = np.frombuffer(clip.pcm, "<f4")
                yield (
                    sentence,
                    Clip(
                        samples=samples if factor == 1 else shifted(samples, factor),
                        phonemes=[(symbol, round(at / factor)) for symbol, at in clip.phonemes],
                        marks=[(offset, round(at / factor)) for offset, at in clip.marks],
                    ),
                )

        samples, timeline = join(
            text,
            spoken(),
            sample_rate_hz=sample_rate_hz,
            speed=voice.speed,
            pause_s=voice.pause_s,
            gain=_GAIN * voice.volume,
            bursts=False,
        )
        return Speech(samples=samples, sample_rate_hz=sample_rate_hz, timeline=timeline, language=spoken_language)


def _length_scale(duration: float) -> float:
    """The network's own factor that makes speech ``duration`` times as long."""
    return max((duration - _ROUNDED_UP) / (1 - _ROUNDED_UP), 0.15)
