"""The visible label: short words in a corner of every frame that say that AI made it.

Set once, laid on each frame in the frame's own planes. It stands where it covers no face and meets no subtitle.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from models.video.label_texts import label_text
from models.video.subtitles.drawing import Layer, lay_on, rasterize, styled_layers, to_patch
from models.video.subtitles.fonts import FontBook
from models.video.subtitles.style import SubtitleStyle
from models.video.subtitles.typesetting import Line, is_right_to_left, typeset
from models.video.yuv import rounded
from services.domain.video import LabelCorner

# GB 45438-2025, 5.3 and 5.5: text at least 5 % of the shortest side. Measured here on the ink of the letters, which is
# the strictest reading.
HEIGHT_SHARE: Final = 0.05
_TYPE_SHARE: Final = 0.056  # the type itself is no smaller, where marks above and below make the ink high
_MIN_SIZE_PX: Final = 10.0  # of the type: smaller letters do not survive a video's encoder
_SIDE_INSET, _TIGHT_INSET = 0.03, 0.012  # of the shorter side
_INSET: Final = 0.03  # of the height, above and below
# Apps lay their own controls over an upright film, and most of them below: subtitles keep clear of the same fifth.
_TOP_INSET_UPRIGHT, _BOTTOM_INSET_UPRIGHT = 0.06, 0.205
_UPRIGHT: Final = 0.7
_PADDING, _TIGHT_PADDING = 0.42, 0.26  # of the type, round the letters
_RISES: Final = 4  # heights that are tried between a place and the edge, to leave hair free
_GROWN_SHARE: Final = 0.05  # of a face's height, by which it moves
# Where the EU's code of practice puts it, then where it is least in the way of subtitles.
_ORDER: Final = (LabelCorner.TOP_RIGHT, LabelCorner.TOP_LEFT, LabelCorner.BOTTOM_RIGHT, LabelCorner.BOTTOM_LEFT)
# White letters with a dark edge on dark glass: readable on any picture.
_STYLE: Final = SubtitleStyle(outline=0.05, shadow=0.0, box_color=(0, 0, 0), box_opacity=0.62)


@dataclass(frozen=True, slots=True)
class KeepClear:
    """What the label must not cover.

    Attributes:
        faces: Where a face is in any frame; bool, of the film's shape and any smaller size. None: nowhere.
        heads: Where heads with their hair are, as ``faces``. The label avoids these only by going a little up or aside,
            or to the other top corner: never for a place over the body.
        caption_rows: First and last row of the film that subtitles may take, and None without.
    """

    faces: NDArray[np.bool_] | None = None
    heads: NDArray[np.bool_] | None = None
    caption_rows: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class _Place:
    left: int
    top: int
    corner: LabelCorner


def face_mask(size: tuple[int, int], outlines: Sequence[NDArray[np.float32]]) -> NDArray[np.bool_]:
    """Where the faces with these outlines (n, 2, film pixels) are, each grown by what it moves, at a small size."""
    step = max(1, min(size) // 128)
    mask = np.zeros((math.ceil(size[1] / step), math.ceil(size[0] / step)), np.uint8)
    grow = 0
    for outline in outlines:
        points = outline[:, :2] / step
        grow = max(grow, math.ceil(_GROWN_SHARE * float(np.ptp(points[:, 1]))))
        cv2.fillConvexPoly(mask, cv2.convexHull(points.round().astype(np.int32)), 1)
    if grow:
        around = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * grow + 1, 2 * grow + 1))
        return cv2.dilate(mask, around).astype(bool)
    return mask.astype(bool)


class VisibleLabel:
    """The label of one film or picture.

    Args:
        size: Width and height of the frames.
        language: BCP 47, of the film.
        corner: Where it is wanted; another one is taken when it would cover a face there.
        keep_clear: What it must not cover.

    Attributes:
        text: What it says.
        corner: Where it stands.
        box: Left, top, right, bottom of its glass, in pixels.
        covers_face: No corner is free of faces: it stands where it covers the least.
    """

    def __init__(
        self,
        size: tuple[int, int],
        language: str | None,
        *,
        corner: LabelCorner | None = None,
        keep_clear: KeepClear | None = None,
    ) -> None:
        self._size = size
        keep_clear = keep_clear or KeepClear()
        self.text, text_language = label_text(language)
        line, ink, size_px = _set(self.text, text_language, size)
        label, tight = (
            (_even_up(ink.width + 2 * share * size_px), _even_up(ink.height + 2 * share * size_px))
            for share in (_PADDING, _TIGHT_PADDING)
        )
        place = _placed(label, size, corner, keep_clear)
        self.corner, self.box = place.corner, _box(place, label)
        if not _is_low(place.corner) and _face_share(self.box, size, keep_clear.heads):
            for other, its_size in _beside_hair(place, (label, tight), size, may_cross=corner is None):
                if _is_clear(_box(other, its_size), size, keep_clear):
                    self.corner, self.box = other.corner, _box(other, its_size)
                    break
        self.covers_face = _face_share(self.box, size, keep_clear.faces) > 0
        layers, pictures = _layers(line, ink, size_px, self.box)
        self._layers = layers
        self._patch = to_patch(layers, pictures, self.box[0], self.box[1], size)

    def draw_on_picture(self, pixels: NDArray[np.uint8]) -> None:
        """Lays the label on ``pixels`` (h, w, 3 or 4; RGB, or RGBA with straight alpha), in place.

        On transparent ground it keeps its glass and its letters.
        """
        left, top, right, bottom = self.box
        box = pixels[top:bottom, left:right].astype(np.float32)
        ground = box[..., 3:] / 255 if box.shape[2] == 4 else np.ones_like(box[..., :1])
        covered = np.zeros_like(ground)
        color = np.zeros_like(box[..., :3])
        for layer in self._layers:
            covered += layer.coverage[..., None]
            color += np.array(layer.color, np.float32) * layer.coverage[..., None]
        alpha = covered + ground * (1 - covered)
        mixed = (color + box[..., :3] * ground * (1 - covered)) / np.maximum(alpha, 1 / 255)
        pixels[top:bottom, left:right, :3] = rounded(mixed)
        if box.shape[2] == 4:
            pixels[top:bottom, left:right, 3:] = rounded(255 * alpha)

    def draw(self, frame: NDArray[np.uint8]) -> None:
        """Lays the label on ``frame`` (I420), in place."""
        lay_on(frame, self._patch)


@dataclass(frozen=True, slots=True)
class _Ink:
    """What a line's letters really cover, from the line's left end and base line (rows downwards)."""

    left: int
    top: int
    width: int
    height: int
    coverage: NDArray[np.uint8] = field(repr=False)


def _set(text: str, language: str, size: tuple[int, int]) -> tuple[Line, _Ink, float]:
    """The text set so that its ink is as high as is asked, and wider than the frame only if it must be."""
    wanted = HEIGHT_SHARE * min(size)
    first = _typeset(text, language, 100.0)
    per_px = _ink(first, 100.0).height / 100.0
    least = max(math.ceil(wanted) / per_px, _TYPE_SHARE * min(size))
    size_px = max(least, _MIN_SIZE_PX)
    room = size[0] * (1 - 2 * _TIGHT_INSET) / (first.width / 100.0 + 2 * _PADDING)
    size_px = max(least, min(size_px, room))
    line = _typeset(text, language, size_px)
    ink = _ink(line, size_px)
    while ink.height < wanted:  # letters are rounded to pixels
        size_px *= 1.02
        line = _typeset(text, language, size_px)
        ink = _ink(line, size_px)
    return line, ink, size_px


def _typeset(text: str, language: str, size_px: float) -> Line:
    return typeset(text, FontBook(size_px, language), right_to_left=is_right_to_left(text, language), language=language)


def _ink(line: Line, size_px: float) -> _Ink:
    margin = math.ceil(0.5 * size_px)
    base = margin + math.ceil(line.ascent)
    fill = np.zeros((base + math.ceil(line.descent) + margin, math.ceil(line.width) + 2 * margin), np.uint8)
    rasterize(line, margin, base, fill, np.zeros((*fill.shape, 4), np.uint8))
    rows = np.flatnonzero((fill > 64).any(axis=1))
    columns = np.flatnonzero((fill > 64).any(axis=0))
    top, bottom, left, right = int(rows[0]), int(rows[-1]) + 1, int(columns[0]), int(columns[-1]) + 1
    return _Ink(left - margin, top - base, right - left, bottom - top, fill[top:bottom, left:right])


def _layers(
    line: Line, ink: _Ink, size_px: float, box: tuple[int, int, int, int]
) -> tuple[list[Layer], NDArray[np.uint8]]:
    """The glass at ``box`` with the letters in its middle, and an empty place for coloured glyphs."""
    width, height = box[2] - box[0], box[3] - box[1]
    fill = np.zeros((height, width), np.uint8)
    pictures = np.zeros((height, width, 4), np.uint8)
    left, top = (width - ink.width) / 2 - ink.left, (height - ink.height) / 2 - ink.top
    rasterize(line, left, round(top), fill, pictures)
    return styled_layers(fill, pictures, style=_STYLE, size_px=size_px, margin=round(0.3 * size_px)), pictures


def _placed(label: tuple[int, int], size: tuple[int, int], corner: LabelCorner | None, keep_clear: KeepClear) -> _Place:
    """The first place that is free, in the order of ``_candidates``; else the one that covers the least of a face."""
    places = list(_candidates(label, size, corner, keep_clear.caption_rows))
    clear = [place for place in places if not _meets_captions(_box(place, label), keep_clear.caption_rows)]
    return min(clear or places, key=lambda place: _face_share(_box(place, label), size, keep_clear.faces))


def _beside_hair(
    place: _Place, labels: Sequence[tuple[int, int]], size: tuple[int, int], *, may_cross: bool
) -> Iterator[tuple[_Place, tuple[int, int]]]:
    """Places near a top ``place``, and the size of label for each: aside, then higher, then both in a smaller glass.

    Args:
        may_cross: The other top corner is tried before a smaller glass.
    """
    tight, across = round(_TIGHT_INSET * min(size)), round(_SIDE_INSET * min(size))
    corners = [place.corner]
    if may_cross:
        corners += [corner for corner in (LabelCorner.TOP_RIGHT, LabelCorner.TOP_LEFT) if corner is not place.corner]
    for label in labels:
        for corner in corners:
            for rise in range(_RISES + 1):
                top = round(place.top + (min(tight, place.top) - place.top) * rise / _RISES)
                for aside in (across, tight):
                    yield _at(corner, aside, top, label, size), label


def _candidates(
    label: tuple[int, int],
    size: tuple[int, int],
    wanted: LabelCorner | None,
    caption_rows: tuple[int, int] | None,
) -> Iterator[_Place]:
    """The wanted corner, then the others; in each with a margin, closer to the side, beside subtitles, at the edge."""
    order = _ORDER if wanted is None else (wanted, *(corner for corner in _ORDER if corner is not wanted))
    is_upright = size[0] / size[1] < _UPRIGHT
    tight = round(_TIGHT_INSET * min(size))
    across = round(_SIDE_INSET * min(size))
    for corner in order:
        inset = _BOTTOM_INSET_UPRIGHT if _is_low(corner) else _TOP_INSET_UPRIGHT
        down = round((inset if is_upright else _INSET) * size[1])
        yield _at(corner, across, down, label, size)
        yield _at(corner, tight, down, label, size)
        if caption_rows is not None and _is_low(corner) == (sum(caption_rows) > size[1]):
            above = size[1] - (caption_rows[0] - tight)
            yield _at(corner, across, above if _is_low(corner) else caption_rows[1] + tight, label, size)
        if corner is wanted and not (is_upright and _is_low(corner)):  # there stand the apps' own controls
            yield _at(corner, tight, tight, label, size)
    for corner in order:
        yield _at(corner, tight, tight, label, size)


def _at(corner: LabelCorner, inset_x: int, inset_y: int, label: tuple[int, int], size: tuple[int, int]) -> _Place:
    """The place of the label in ``corner``, inside the frame; even, so that its chroma falls on the frame's."""
    is_right = corner in (LabelCorner.TOP_RIGHT, LabelCorner.BOTTOM_RIGHT)
    left = size[0] - inset_x - label[0] if is_right else inset_x
    top = size[1] - inset_y - label[1] if _is_low(corner) else inset_y
    left, top = max(0, min(left, size[0] - label[0])), max(0, min(top, size[1] - label[1]))
    return _Place(left // 2 * 2, top // 2 * 2, corner)


def _box(place: _Place, label: tuple[int, int]) -> tuple[int, int, int, int]:
    return place.left, place.top, place.left + label[0], place.top + label[1]


def _is_clear(box: tuple[int, int, int, int], size: tuple[int, int], keep_clear: KeepClear) -> bool:
    covered = _face_share(box, size, keep_clear.faces) + _face_share(box, size, keep_clear.heads)
    return not covered and not _meets_captions(box, keep_clear.caption_rows)


def _is_low(corner: LabelCorner) -> bool:
    return corner in (LabelCorner.BOTTOM_RIGHT, LabelCorner.BOTTOM_LEFT)


def _meets_captions(box: tuple[int, int, int, int], rows: tuple[int, int] | None) -> bool:
    return rows is not None and box[1] < rows[1] and box[3] > rows[0]


def _face_share(box: tuple[int, int, int, int], size: tuple[int, int], faces: NDArray[np.bool_] | None) -> float:
    """How much of ``box`` lies on a face, 0 to 1."""
    if faces is None:
        return 0.0
    scale_x, scale_y = faces.shape[1] / size[0], faces.shape[0] / size[1]
    part = faces[
        math.floor(box[1] * scale_y) : math.ceil(box[3] * scale_y),
        math.floor(box[0] * scale_x) : math.ceil(box[2] * scale_x),
    ]
    return float(part.mean()) if part.size else 0.0


def _even_up(value: float) -> int:
    return 2 * math.ceil(value / 2)
