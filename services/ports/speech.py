"""Text to speech with times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from services.domain.timeline import SpeechTimeline
from services.domain.video import VoiceSettings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Speech:
    """Sound and its times.

    Attributes:
        samples: float32, mono, shape ``(num_samples,)``, -1 to 1.
        timeline: On the time axis of ``samples``; word offsets refer to the text as the client gave it.
        language: BCP 47 tag that was spoken.
    """

    samples: NDArray[np.float32]
    sample_rate_hz: int
    timeline: SpeechTimeline
    language: str

    @property
    def duration_s(self) -> float:
        return len(self.samples) / self.sample_rate_hz


class SpeechSynthesizer(Protocol):
    def synthesize(self, text: str, voice: VoiceSettings, *, language: str | None = None) -> Speech:
        """``text`` spoken by ``voice``.

        Raises:
            ContentRejected: ``nothing_to_say`` (nothing pronounceable), ``language_not_spoken``.
            NotFound: ``voice_not_found``.
            Unavailable: ``voice_not_installed`` (its package or weights are missing; says how to get them).
        """
        ...
