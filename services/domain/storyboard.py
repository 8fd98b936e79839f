"""What an engine is told to make: a request whose every reference is an object under the job."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from services.domain.brief import Script
from services.domain.video import BackgroundKind, Disclosure, FrameSettings, SubtitleMode, VoiceSettings

STORYBOARD_VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PresenterShot:
    """The presenter's picture or video by key; ``face`` as in the request."""

    key: str
    face: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeechShot:
    """What is said: a script with the voice to speak it; recorded sound; or both, where a managed voice spoke already.

    With ``audio_key`` nothing is synthesised. ``timeline_key`` comes with sound that a managed voice made; without it
    the engine finds the times itself, helped by ``transcript``.
    """

    script: Script | None = None
    voice: VoiceSettings | None = None
    audio_key: str | None = None
    timeline_key: str | None = None
    transcript: str | None = None
    language: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundShot:
    kind: BackgroundKind
    color: str | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Storyboard:
    """One video, complete; stored at ``work/{tenant}/{job}/0/storyboard.json``."""

    job_id: str
    presenter: PresenterShot
    speech: SpeechShot
    frame: FrameSettings
    background: BackgroundShot
    subtitles: SubtitleMode
    disclosure: Disclosure = field(default_factory=Disclosure)
    seed: int = 0
    version: int = STORYBOARD_VERSION
