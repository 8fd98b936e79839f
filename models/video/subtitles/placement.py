"""Where burnt-in cues stand: never over the mouth."""

from __future__ import annotations

from dataclasses import dataclass, replace

from models.video.subtitles.style import SubtitleStyle, safe_area

# Height of a block of lines in font sizes: the first line's ascent and descent, and the pitch of each further one.
_FIRST_LINE, _FURTHER_LINE = 1.42, 1.32
# Below the safe area, where an app may lay its own controls: only when the chin takes the room above.
_LOWEST_UPRIGHT, _LOWEST = 0.88, 0.965
_HIGHEST = 0.03
# Lines and size of the type, from what reads best to what still reads.
_BELOW_CHIN = ((2, 1.0), (2, 0.85), (1, 1.0), (1, 0.8))


@dataclass(frozen=True, slots=True, kw_only=True)
class FaceRows:
    """The rows of the film that a face takes, in pixels from the top, whenever it is seen."""

    head_top: float
    lip_bottom: float
    chin: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptionPlace:
    """Cues stand on ``bottom``, do not reach above ``top`` (pixels) and take ``max_lines`` of ``style``."""

    top: int
    bottom: int
    max_lines: int
    style: SubtitleStyle


def caption_top_share(width: int, height: int, style: SubtitleStyle | None = None) -> float:
    """Where two lines in the safe area of a frame of this shape begin, as a share of its height."""
    bottom = safe_area(width, height).bottom
    return (bottom - _block(2, style or SubtitleStyle(), width, height)) / height


def place_captions(width: int, height: int, face: FaceRows | None, style: SubtitleStyle | None = None) -> CaptionPlace:
    """The place for the cues of a film of this size.

    Two lines in the safe area if they stay below the chin; else lower, fewer or smaller ones; else above the head; else
    between the lips and the lower edge.
    """
    style = style or SubtitleStyle()
    safe = safe_area(width, height)
    usual = CaptionPlace(top=0, bottom=safe.bottom, max_lines=2, style=style)
    if face is None:
        return usual
    lowest = max(safe.bottom, round(height * (_LOWEST_UPRIGHT if width / height < 0.7 else _LOWEST)))
    below = [(safe.bottom, *_BELOW_CHIN[0]), *((lowest, *option) for option in _BELOW_CHIN)]
    bottom_above = round(face.head_top - 0.01 * height)
    tries = [
        *((face.chin, *option) for option in below),
        *((_HIGHEST * height, bottom_above, *option) for option in _BELOW_CHIN),
        *((face.lip_bottom, lowest, *option) for option in (_BELOW_CHIN[2], _BELOW_CHIN[3])),
    ]
    for top, bottom, max_lines, scale in tries:
        smaller = replace(style, size_share=style.size_share * scale)
        if bottom - _block(max_lines, smaller, width, height) >= top:
            return CaptionPlace(top=round(top), bottom=bottom, max_lines=max_lines, style=smaller)
    return replace(usual, top=round(face.lip_bottom), bottom=lowest, max_lines=1)


def caption_rows(place: CaptionPlace, width: int, height: int) -> tuple[int, int]:
    """The first and last row that cues at ``place`` may reach, outline and tall scripts included."""
    block = _block(place.max_lines, place.style, width, height)
    spare = 0.25 * place.style.size_share * min(width, height)
    return max(0, round(max(place.bottom - 1.1 * block, place.top) - spare)), min(height, round(place.bottom + spare))


def _block(num_lines: int, style: SubtitleStyle, width: int, height: int) -> float:
    return (_FIRST_LINE + _FURTHER_LINE * (num_lines - 1)) * style.size_share * min(width, height)
