"""What a frame shows where the source has nothing: the source's blurred edges."""

from __future__ import annotations

import math
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from models.video import yuv


def ramp(length: int, reach: int, *, start: bool, end: bool) -> NDArray[np.float32]:
    """1 throughout, rising from 0 at the ends that have a seam."""
    position = np.arange(length, dtype=np.float32) + 0.5
    weight = np.ones(length, np.float32)
    if start:
        weight = np.minimum(weight, position / reach)
    if end:
        weight = np.minimum(weight, position[::-1] / reach)
    return weight


def resized(pixels: NDArray[Any], width: int, height: int) -> NDArray[Any]:
    if (pixels.shape[1], pixels.shape[0]) == (width, height):
        return np.ascontiguousarray(pixels)
    factor = height / pixels.shape[0]
    # Averaging is exact when shrinking; Lanczos keeps lashes and hair when enlarging, and rings on masks.
    enlarging = cv2.INTER_LANCZOS4 if pixels.ndim == 3 else cv2.INTER_LINEAR
    return cv2.resize(pixels, (width, height), interpolation=cv2.INTER_AREA if factor < 1 else enlarging)


def surroundings(sharp: NDArray[np.uint8], offset: tuple[int, int], width: int, height: int) -> NDArray[np.uint8]:
    """A blurred frame to lay ``sharp`` on at ``offset``: its edges drawn outwards, softer with the distance.

    Made at an eighth of the size, where a wide blur costs nothing.
    """
    small = 8
    size = (max(2, math.ceil(width / small)), max(2, math.ceil(height / small)))
    inner = cv2.resize(
        sharp, (max(1, sharp.shape[1] // small), max(1, sharp.shape[0] // small)), interpolation=cv2.INTER_AREA
    )
    left = min(round(offset[0] / small), size[0] - inner.shape[1])
    top = min(round(offset[1] / small), size[1] - inner.shape[0])
    left, top = max(0, left), max(0, top)
    padded = cv2.copyMakeBorder(
        inner,
        top,
        max(0, size[1] - inner.shape[0] - top),
        left,
        max(0, size[0] - inner.shape[1] - left),
        cv2.BORDER_REPLICATE,
    )
    near = cv2.GaussianBlur(padded, (0, 0), 2.0, borderType=cv2.BORDER_REPLICATE)
    far = cv2.GaussianBlur(padded, (0, 0), max(size) / 10, borderType=cv2.BORDER_REPLICATE)
    outside = np.ones(padded.shape[:2], np.uint8)
    outside[top : top + inner.shape[0], left : left + inner.shape[1]] = 0
    distance = cv2.distanceTransform(outside, cv2.DIST_L2, 3)
    weight = np.clip(distance / (max(size) / 8), 0, 1)[..., None]
    mixed = near * (1 - weight) + far * weight
    return resized(yuv.rounded(mixed), width, height)
