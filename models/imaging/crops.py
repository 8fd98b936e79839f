"""Crops for shops: fixed shapes round the person or product, never through a head, never stretched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.imaging.layers import Layers
from models.imaging.subject import Box, Subject
from models.video.surroundings import ramp, surroundings
from models.video.yuv import rounded
from services.domain.image_steps import CropShape

_RATIOS: Final = {
    CropShape.SQUARE: 1.0,
    CropShape.TALL: 4 / 5,
    CropShape.PORTRAIT: 3 / 4,
    CropShape.STORY: 9 / 16,
    CropShape.BANNER: 16 / 9,
    CropShape.HEAD: 1.0,
}
_MARGINS: Final = (0.06, 0.02)  # of the subject's longer side, round a whole person or product
_HEADROOM: Final = 0.22  # of the head's height, above hair; the picture may hold less
_BESIDE_HEAD: Final = 0.15
_BUST: Final = 0.75  # head heights below the chin that a picture of a person needs to look like one
_HEAD_SIDE: Final = 1.75  # of the head's longer side
_TIGHT_HEAD_SIDE: Final = 1.15  # where the picture holds no more
_HEAD_MIDDLE: Final = 0.47  # where the head's middle lies in a crop of it, from above
_SEAM_SHARE: Final = 0.03  # of the crop's longer side, over which picture and padding fade into each other


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A part of the picture; parts of it may lie outside. Whole pixels."""

    left: int
    top: int
    width: int
    height: int

    def padding(self, size: tuple[int, int]) -> tuple[int, int, int, int]:
        """How many pixels lie outside a picture of ``size`` (width, height): left, top, right, bottom."""
        return (
            max(0, -self.left),
            max(0, -self.top),
            max(0, self.left + self.width - size[0]),
            max(0, self.top + self.height - size[1]),
        )


def crop_window(subject: Subject, shape: CropShape) -> Window:
    """Where the crop of ``shape`` lies: as large as the picture allows round what must be seen.

    A whole person or product is kept whole; of a person whom the frame cuts, the head and shoulders are. The window
    leaves the picture, to be padded, only where that does not fit.
    """
    height, width = subject.matte.shape
    ratio = _RATIOS[shape]
    if shape is CropShape.HEAD and subject.head is not None:
        longer = max(subject.head.width, subject.head.height)
        side = max(min(_HEAD_SIDE * longer, width, height), _TIGHT_HEAD_SIDE * longer)
        middle_x = (subject.head.left + subject.head.right) / 2
        middle_y = (subject.head.top + subject.head.bottom) / 2
        return _placed(
            side, side, (middle_x - side / 2, middle_y - _HEAD_MIDDLE * side), subject.head, subject, fits=False
        )
    wide, tall = min(width, height * ratio), min(height, width / ratio)
    needed = next((box for box in _needs(subject) if box.width <= wide and box.height <= tall), None)
    if needed is None:
        needed = _needs(subject)[-1]
        wide = max(needed.width, needed.height * ratio)
        tall = wide / ratio
    left = (needed.left + needed.right) / 2 - wide / 2
    top = needed.top - 0.5 * (tall - needed.height) if _is_whole(subject) else needed.top
    return _placed(wide, tall, (left, top), needed, subject, fits=True)


def cropped(layers: Layers, subject: Subject, shape: CropShape) -> Layers:
    """The crop; what lies outside the picture continues its background, or is transparent as the picture is."""
    window = crop_window(subject, shape)
    left, top, right, bottom = window.padding(layers.size)
    x, y = window.left + left, window.top + top
    inner = np.s_[y : y + window.height - top - bottom, x : x + window.width - left - right]
    rgb = np.ascontiguousarray(layers.rgb[inner])
    if not any((left, top, right, bottom)):
        return Layers(rgb=rgb, alpha=None if layers.alpha is None else np.ascontiguousarray(layers.alpha[inner]))
    pads = ((top, bottom), (left, right))
    if layers.alpha is not None:
        return Layers(rgb=np.pad(rgb, (*pads, (0, 0))), alpha=np.pad(layers.alpha[inner], pads))
    runs_out = any(pad and is_cut for pad, is_cut in zip((left, top, right, bottom), subject.cut_sides(), strict=True))
    matte = None if runs_out else subject.matte[inner]
    return Layers(rgb=_padded(rgb, matte, (left, top), (window.width, window.height)))


def _is_whole(subject: Subject) -> bool:
    """Whether nothing of the person or product is cut off below or aside."""
    left, _, right, bottom = subject.cut_sides()
    return subject.box.height > 0 and not (left or right or bottom)


def _needs(subject: Subject) -> tuple[Box, ...]:
    """What must be in every crop, with room round it, and then what must be if that is too much for the picture."""
    height, width = subject.matte.shape
    if subject.box.height <= 0 and subject.head is None:
        return (Box(left=width / 4, top=height / 4, right=3 * width / 4, bottom=3 * height / 4),)
    if subject.head is None or _is_whole(subject):
        side = max(subject.box.width, subject.box.height)
        box = subject.box if subject.head is None else subject.box.union(subject.head)
        cut = subject.cut_sides()
        return tuple(box.grown(*(0 if is_cut else margin * side for is_cut in cut)) for margin in _MARGINS)
    head = subject.head
    aside, above = _BESIDE_HEAD * head.width, _HEADROOM * head.height
    bust = head.grown(aside, above, aside, _BUST * head.height)
    tight = head.grown(0.2 * aside, 0.4 * above, 0.2 * aside, 0.4 * _BUST * head.height)
    # What the picture does not hold of this room is not padded: the frame itself ends there.
    return tuple(
        Box(
            left=max(0.0, box.left),
            top=max(0.0, box.top),
            right=min(float(width), box.right),
            bottom=min(float(height), box.bottom),
        )
        for box in (bust, tight)
    )


def _placed(
    wide: float, tall: float, corner: tuple[float, float], needed: Box, subject: Subject, *, fits: bool
) -> Window:
    """The window moved into the picture where it fits; else so that padding falls where it shows least."""
    height, width = subject.matte.shape
    cut_left, cut_top, cut_right, cut_bottom = subject.cut_sides()
    left, top = corner
    if wide <= width:
        left = min(max(left, 0.0), width - wide) if fits or wide >= needed.width else left
    elif cut_left != cut_right:  # the side that cuts the subject has nothing to continue
        left = 0.0 if cut_left else width - wide
    if tall <= height:
        top = min(max(top, 0.0), height - tall)
    elif cut_bottom and not cut_top:
        top = height - tall
    elif cut_top and not cut_bottom:
        top = 0.0
    return Window(left=round(left), top=round(top), width=max(1, round(wide)), height=max(1, round(tall)))


def _padded(
    rgb: NDArray[np.uint8], matte: NDArray[np.float32] | None, offset: tuple[int, int], size: tuple[int, int]
) -> NDArray[np.uint8]:
    """``rgb`` in a larger frame whose rest continues it, softer and softer.

    ``matte`` says where the subject is: only its background is continued. None where the frame cuts the subject on a
    side that is padded: then the subject fades out with the rest.
    """
    from models.video.background import blurred_behind

    behind = rgb
    if matte is not None and float(matte.max(initial=0)) >= 0.5 and float(matte.min()) < 0.5:
        behind = blurred_behind(rgb, matte)
    plate = surroundings(behind, offset, *size)
    height, width = rgb.shape[:2]
    left, top = offset
    reach = max(2, round(_SEAM_SHARE * max(size)))
    across = ramp(width, reach, start=left > 0, end=left + width < size[0])
    down = ramp(height, reach, start=top > 0, end=top + height < size[1])
    weight = np.minimum(across[None], down[:, None])
    if matte is not None:
        weight = np.maximum(weight, matte)
    where = np.s_[top : top + height, left : left + width]
    mixed = rounded(plate[where] + weight[..., None] * (rgb.astype(np.float32) - plate[where]))
    plate[where] = np.where(weight[..., None] >= 1, rgb, mixed)
    return plate
