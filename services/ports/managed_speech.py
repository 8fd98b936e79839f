"""Speech that a managed service makes while a job is prepared: a file and its times, no samples in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from services.domain.timeline import SpeechTimeline
from services.domain.video import VoiceSettings
from services.ports.catalogue import Voice


@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenFile:
    """Sound as a file, with its times.

    Attributes:
        name: A file name with the right ending.
        timeline: On the time axis of the sound; word offsets refer to the text as it was given.
    """

    data: bytes
    media_type: str
    name: str
    timeline: SpeechTimeline


class ManagedSpeech(Protocol):
    def speak(self, text: str, voice: Voice, settings: VoiceSettings) -> SpokenFile:
        """``text`` spoken by ``voice``, which is one of this service's.

        Raises:
            ContentRejected: ``nothing_to_say``, ``text_too_long``; ``voice_setting_not_supported``.
            Unavailable: ``speech_unavailable``; ``voice_not_available`` where the service is used.
        """
        ...
