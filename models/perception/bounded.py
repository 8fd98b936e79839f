"""A picture at the size that networks need, however large it is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def bounded(picture_rgb: NDArray[np.uint8], side_px: int) -> tuple[NDArray[np.uint8], float]:
    """The picture (height, width, 3), its long side at most ``side_px``, and the scale applied, 1 or less.

    A smaller picture is returned itself. Why bound it: a person matte of 16 megapixels takes 600 MB.
    """
    import cv2

    height, width = picture_rgb.shape[:2]
    scale = min(1.0, side_px / max(height, width))
    if scale == 1.0:
        return picture_rgb, scale
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    return np.asarray(cv2.resize(picture_rgb, size, interpolation=cv2.INTER_AREA), np.uint8), scale
