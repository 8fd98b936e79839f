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
_MARGIN: Final = 0.06  # of the subject's longer side, round a whole person or product
_HEADROOM: Final = 0.22  # of the head's height, above hair; the picture may hold less
_BESIDE_HEAD: Final = 0.15
_BUST: Final = 0.75  # head heights below the chin that a picture of a person needs to look like one
_HEAD_SIDE: Final = 1.75  # of the head's longer side
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
        side = _HEAD_SIDE * max(subject.head.width, subject.head.height)
        middle_x = (subject.head.left + subject.head.right) / 2
        middle_y = (subject.head.top + subject.head.bottom) / 2
        return _placed(
            side, side, (middle_x - side / 2, middle_y - _HEAD_MIDDLE * side), subject.head, subject, fits=False
        )
    needed = _needed(subject)
    wide, tall = min(width, height * ratio), min(height, width / ratio)
    least = max(needed.width, needed.height * ratio)
    if least > wide:
        wide, tall = least, least / ratio
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
    return Layers(rgb=_padded(rgb, subject.matte[inner], (left, top), (window.width, window.height)))


def _is_whole(subject: Subject) -> bool:
    """Whether nothing of the person or product is cut off below or aside."""
    left, _, right, bottom = subject.cut_sides()
    return subject.box.height > 0 and not (left or right or bottom)


def _needed(subject: Subject) -> Box:
    """What must be in every crop, with the room it needs round it, in the picture where that has the room."""
    height, width = subject.matte.shape
    if subject.box.height <= 0 and subject.head is None:
        return Box(left=width / 4, top=height / 4, right=3 * width / 4, bottom=3 * height / 4)
    if subject.head is None or _is_whole(subject):
        margin = _MARGIN * max(subject.box.width, subject.box.height)
        box = subject.box if subject.head is None else subject.box.union(subject.head)
        cut_left, cut_top, cut_right, cut_bottom = subject.cut_sides()
        return box.grown(
            0 if cut_left else margin, 0 if cut_top else margin, 0 if cut_right else margin, 0 if cut_bottom else margin
        )
    head = subject.head
    needed = head.grown(
        _BESIDE_HEAD * head.width, _HEADROOM * head.height, _BESIDE_HEAD * head.width, _BUST * head.height
    )
    # What the picture does not hold of this room is not padded: the frame itself ends there.
    return Box(
        left=max(0.0, needed.left),
        top=max(0.0, needed.top),
        right=min(float(width), needed.right),
        bottom=min(float(height), needed.bottom),
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
    rgb: NDArray[np.uint8], matte: NDArray[np.float32], offset: tuple[int, int], size: tuple[int, int]
) -> NDArray[np.uint8]:
    """``rgb`` in a larger frame whose rest continues its background; the person does not run into it."""
    from models.video.background import blurred_behind

    behind = blurred_behind(rgb, matte) if float(matte.max(initial=0)) > 0 and float(matte.min()) < 0.5 else rgb
    plate = surroundings(behind, offset, *size)
    height, width = rgb.shape[:2]
    left, top = offset
    reach = max(2, round(_SEAM_SHARE * max(size)))
    across = ramp(width, reach, start=left > 0, end=left + width < size[0])
    down = ramp(height, reach, start=top > 0, end=top + height < size[1])
    # The subject itself is not faded where it comes near the seam.
    weight = np.maximum(np.minimum(across[None], down[:, None]), matte)[..., None]
    where = np.s_[top : top + height, left : left + width]
    whole = weight[..., 0] >= 1
    mixed = rounded(plate[where] + weight * (rgb.astype(np.float32) - plate[where]))
    plate[where] = np.where(whole[..., None], rgb, mixed)
    return plate
