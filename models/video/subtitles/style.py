"""How subtitles look and where they may stand."""

from __future__ import annotations

from dataclasses import dataclass

# Mean advance of a Latin letter of the semi-bold face, in em (measured over English and German text).
_LETTER_EM = 0.57


@dataclass(frozen=True, slots=True, kw_only=True)
class SubtitleStyle:
    """How subtitles look; lengths are shares of the font size.

    Attributes:
        size_share: Font size as a share of the frame's shorter side.
        color, outline_color, box_color: R, G, B.
        outline: Width of the outline.
        shadow: Blur of the soft shadow below; 0 for none.
        box_opacity: Of a box behind the text; 0 for none.
    """

    size_share: float = 0.055
    color: tuple[int, int, int] = (255, 255, 255)
    outline_color: tuple[int, int, int] = (12, 12, 12)
    outline: float = 0.075
    shadow: float = 0.12
    box_color: tuple[int, int, int] = (0, 0, 0)
    box_opacity: float = 0.0


@dataclass(frozen=True, slots=True)
class SafeArea:
    """Where text is neither cut nor covered, in pixels."""

    left: int
    right: int
    bottom: int


def safe_area(width: int, height: int) -> SafeArea:
    """The part of a frame of this shape that apps leave free: upright films carry buttons right and captions below."""
    ratio = width / height
    if ratio < 0.7:
        beside, below = 0.11, 0.20
    elif ratio < 1.2:
        beside, below = 0.08, 0.09
    else:
        beside, below = 0.10, 0.07
    return SafeArea(round(width * beside), width - round(width * beside), height - round(height * below))


def letters_a_line(width: int, height: int, style: SubtitleStyle | None = None) -> float:
    """How many Latin letters a line of ``style`` holds in a frame of this shape; at most 42, what one reads at ease."""
    safe = safe_area(width, height)
    letter_px = _LETTER_EM * (style or SubtitleStyle()).size_share * min(width, height)
    return min(42.0, (safe.right - safe.left) / letter_px)
