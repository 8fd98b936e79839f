"""A video as asked for: who speaks, what, in which frame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from services.domain.brief import Brief


class Aspect(StrEnum):
    PORTRAIT = "9:16"
    SQUARE = "1:1"
    TALL = "4:5"
    LANDSCAPE = "16:9"
    SOURCE = "source"  # as the presenter's picture or video is


class BackgroundKind(StrEnum):
    ORIGINAL = "original"
    COLOR = "color"
    IMAGE = "image"
    BLUR = "blur"
    STUDIO = "studio"  # a seamless sweep, lit from above; of pictures only, not of videos


class SubtitleMode(StrEnum):
    BURN = "burn"  # drawn into the picture, and the files too
    FILE = "file"  # SRT and VTT beside the video
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class VoiceSettings:
    """How a text is spoken.

    Attributes:
        voice_id: Id of ``GET /v1/voices``: espeak-ng's own language names (``en-us``, ``cmn``), ``piper-joe``.
        speed: Factor on the voice's normal rate, 0.5 to 2.
        pitch: Semitones, -12 to 12.
        volume: Factor, 0 to 2.
        pause_s: Extra silence after each sentence, 0 to 3.
        pronunciations: Written form to spoken form, applied to whole words before anything else.
    """

    voice_id: str
    speed: float = 1.0
    pitch: float = 0.0
    volume: float = 1.0
    pause_s: float = 0.0
    pronunciations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Presenter:
    """Who is seen: an avatar, an upload (picture or short video), or such a file elsewhere; exactly one is set.

    Attributes:
        face: Index of the face from left to right; None takes the largest.
        consent_id: The consent of the person shown; of an avatar made under one, that one.
        synthetic: The client's word that no real person is shown.
    """

    avatar_id: str | None = None
    upload_id: str | None = None
    source_url: str | None = None
    face: int | None = None
    consent_id: str | None = None
    synthetic: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenText:
    """Speech made from a text, or from a brief whose script is still to be written; exactly one is set."""

    voice: VoiceSettings
    text: str | None = None
    brief: Brief | None = None
    language: str | None = None  # None: the voice's own


@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenAudio:
    """Speech that the client recorded: an upload, or a file elsewhere; exactly one is set."""

    upload_id: str | None = None
    source_url: str | None = None
    transcript: str | None = None
    language: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameSettings:
    """Attributes:
    fps: 25, 30, 50 or 60.
    height_px: None takes the aspect's usual size (1080x1920, 1080x1080, 1080x1350, 1920x1080), bounded by the source.
    """

    aspect: Aspect = Aspect.PORTRAIT
    fps: int = 25
    height_px: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Background:
    """What is behind the person shown; ``color`` is ``#rrggbb``, ``upload_id`` or ``source_url`` a picture.

    A studio may have a ``color``: that of its paper.
    """

    kind: BackgroundKind = BackgroundKind.ORIGINAL
    color: str | None = None
    upload_id: str | None = None
    source_url: str | None = None


class LabelCorner(StrEnum):
    TOP_LEFT = "top_left"
    TOP_RIGHT = "top_right"
    BOTTOM_LEFT = "bottom_left"
    BOTTOM_RIGHT = "bottom_right"


@dataclass(frozen=True, slots=True, kw_only=True)
class Disclosure:
    """How a result shows that AI made it. What stands in the file's metadata cannot be turned off.

    Attributes:
        visible_label: Words in every frame. Without them the client must tell viewers in another way, as law asks.
        corner: Where they are wanted; None chooses. Another corner is taken when a face is there.
    """

    visible_label: bool = True
    corner: LabelCorner | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoRequest:
    """One video of one presenter. ``seed`` fixes head motion and blinks."""

    presenter: Presenter
    speech: SpokenText | SpokenAudio
    frame: FrameSettings = field(default_factory=FrameSettings)
    background: Background = field(default_factory=Background)
    subtitles: SubtitleMode = SubtitleMode.FILE
    disclosure: Disclosure = field(default_factory=Disclosure)
    seed: int = 0
