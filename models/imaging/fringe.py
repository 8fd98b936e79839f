"""Edges of mattes told anew from the colours on both sides of them, so that no rim of the old background stays."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.uint8]
Matte = NDArray[np.float32]

_STATISTICS_SIDE_PX: Final = 768  # means over neighbourhoods are as good when they are made small
_SURE: Final = (0.02, 0.98)
_REACH: Final = 0.012  # of the long side: how far the colours of a side count
_APART: Final = (1.6, 3.2)  # difference of the two sides in their own deviations from which colour counts, and rules
_NOISE: Final = 10.0  # deviation that every side has at least, 8-bit RGB
_OFF_LINE: Final = 30.0  # a colour this far beside the line between both is neither's mixture
_WIDENED: Final = 0.004  # of the long side: mattes end a little too early on hair as on cloth


def sharpened(rgb: Picture, matte: Matte) -> Matte:
    """``matte`` with its uncertain pixels told by colour, where the two sides differ in colour.

    Each colour is projected onto the line between the means of the person and of the background nearby (the first step
    of every sampling matting, Wang and Cohen 2007, section 3.2). Sure pixels farther from the edge stay as they are.
    """
    import cv2

    height, width = matte.shape
    side = max(height, width)
    scale = min(1.0, _STATISTICS_SIDE_PX / side)
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    small = cv2.resize(matte, size, interpolation=cv2.INTER_AREA)
    widen = max(1, round(_WIDENED * max(size)))
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * widen + 1,) * 2)
    inside, outside = (
        np.asarray(cv2.erode(sure.astype(np.float32), kernel, borderType=cv2.BORDER_REPLICATE), np.float32)
        for sure in (small >= _SURE[1], small <= _SURE[0])
    )
    unsure = ((inside < 0.5) & (outside < 0.5)).astype(np.uint8)
    if not unsure.any() or not inside.any() or not outside.any():
        return matte
    near = cv2.resize(unsure, (width, height), interpolation=cv2.INTER_NEAREST) > 0
    rows, columns = np.flatnonzero(near.any(axis=1)), np.flatnonzero(near.any(axis=0))
    where = np.s_[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    near = near[where]
    little = np.asarray(cv2.resize(rgb, size, interpolation=cv2.INTER_AREA), np.float32)
    reach = 6 * widen + max(3, round(_REACH * max(size)))

    def side_of(weight: Matte) -> tuple[NDArray[np.float32], Matte, Matte]:
        parts = _nearby(little, weight, reach)
        large = (cv2.resize(part, (width, height), interpolation=cv2.INTER_LINEAR)[where] for part in parts)
        mean, spread, amount = (np.asarray(part, np.float32) for part in large)
        return mean, spread, amount

    picture = rgb[where].astype(np.float32)
    front, front_spread, front_weight = side_of(inside)
    behind, behind_spread, behind_weight = side_of(outside)
    line = front - behind
    length = np.sqrt(np.square(line).sum(-1))
    # Leaves behind a head have all colours: what is as far from their mean as hair is may be another leaf.
    apart = length / np.sqrt(behind_spread + front_spread + _NOISE**2)
    offset = picture - behind
    share = (offset * line).sum(-1) / np.maximum(length * length, 1.0)
    beside = np.sqrt(np.maximum(np.square(offset).sum(-1) - np.square(np.clip(share, 0, 1) * length), 0))
    trust = np.clip((apart - _APART[0]) / (_APART[1] - _APART[0]), 0, 1)
    trust *= np.clip(2 - beside / _OFF_LINE, 0, 1) * ((front_weight > 1e-3) & (behind_weight > 1e-3))
    result = matte.copy()
    part = result[where]
    by_color = np.clip((share - 0.08) / 0.84, 0, 1)
    part[near] = (part + trust * (by_color - part))[near]
    return np.asarray(result, np.float32)


def _nearby(picture: NDArray[np.float32], weight: Matte, reach: int) -> tuple[NDArray[np.float32], Matte, Matte]:
    """Of the weighted pixels round each, the near ones above all: mean colour, summed variance, how many there are."""
    import cv2

    colors = picture * weight[..., None]
    squares = np.square(picture).sum(-1) * weight
    total, energy, norm = np.zeros_like(picture), np.zeros_like(weight), np.zeros_like(weight)
    for share, size in ((1.0, max(3, reach // 4)), (0.02, reach), (0.0004, 3 * reach)):
        box = (2 * size + 1,) * 2
        total += share * cv2.blur(colors, box)
        energy += share * cv2.blur(squares, box)
        norm += share * cv2.blur(weight, box)
    norm_safe = np.maximum(norm, 1e-7)
    mean = np.asarray(total / norm_safe[..., None], np.float32)
    spread = np.asarray(np.maximum(energy / norm_safe - np.square(mean).sum(-1), 0), np.float32)
    return mean, spread, norm
