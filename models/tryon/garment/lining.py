"""The inside of the back where a flat-lying garment shows it below the front's hem: worn, it is behind the legs."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

_ZONE: Final = 0.14  # of the garment's height, from below, where it is looked for
_RIM: Final = 0.05  # of the height: it ends at the outline
_WINDOW: Final = 0.012  # of the long side: within it a lining is of one brightness
_FLAT: Final = 4.0  # deviation of L
_LIKE: Final = (9.0, 13.0)  # LAB distances to the lining's colour: as cloth elsewhere, and of the lining itself
_ELSEWHERE: Final = 0.02  # of even cloth elsewhere that may be of that colour
_ANYWHERE: Final = 0.08  # of all cloth: where threads mix, their mean may look like it
_LEAST: Final = 0.003  # of the garment


def without_lining(rgb: NDArray[np.uint8], mask: NDArray[np.float32]) -> NDArray[np.float32]:
    """``mask`` (h, w) without even cloth at the hem of a colour that is nowhere else on the garment.

    Args:
        rgb: uint8 (h, w, 3), upright.
        mask: float32 (h, w), 0 to 1.
    """
    import cv2

    solid = mask > 0.5
    rows = np.flatnonzero(solid.any(1))
    if not len(rows):
        return mask
    height = int(rows[-1] - rows[0])
    lab = cv2.cvtColor(np.divide(rgb, 255, dtype=np.float32), cv2.COLOR_RGB2LAB)
    size = max(3, round(_WINDOW * max(mask.shape)) | 1)
    light = np.ascontiguousarray(lab[..., 0])
    spread = np.sqrt(np.maximum(cv2.blur(light * light, (size, size)) - cv2.blur(light, (size, size)) ** 2, 0))
    inside = cv2.erode(solid.astype(np.uint8), np.ones((size, size), np.uint8)) > 0
    even = inside & (spread < _FLAT)
    y = np.arange(len(mask))[:, None]
    zone = y > rows[-1] - _ZONE * height
    lowest = np.where(solid.any(0), len(mask) - 1 - solid[::-1].argmax(0), 10 * len(mask))
    seeds = even & zone & (y > lowest[None] - _RIM * height)
    if seeds.sum() < max(30.0, _LEAST * float(solid.sum())):
        return mask
    away = np.linalg.norm(lab - np.median(lab[seeds], axis=0), axis=2)
    for cloth, most in ((inside & ~zone, _ANYWHERE), (even & ~zone, _ELSEWHERE)):
        if cloth.any() and float((away[cloth] < _LIKE[0]).mean()) > most:
            return mask
    like = (cv2.GaussianBlur(away.astype(np.float32), (0, 0), 1.0) < _LIKE[1]) & zone & solid
    closed = cv2.morphologyEx(like.astype(np.uint8), cv2.MORPH_OPEN, np.ones((3, 3), np.uint8))
    _, labels = cv2.connectedComponents(closed, connectivity=8)
    found = np.isin(labels, [index for index in np.unique(labels[seeds & (closed > 0)]) if index])
    grown = cv2.dilate(found.astype(np.uint8), np.ones((size, size), np.uint8)) > 0
    # What is below a lining is its edge.
    below = np.cumsum(found, axis=0) > 0
    return np.where((grown & zone & (away < 25)) | (below & zone), 0, mask).astype(np.float32)
