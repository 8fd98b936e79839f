"""Fills holes in pictures from what surrounds them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.uint8]
Matte = NDArray[np.float32]


def push_pull(values: Matte, weight: Matte) -> Matte:
    """``values`` (h, w, c) where ``weight`` is 1, and a smooth continuation of them where it is 0.

    Averages are pushed up a pyramid as far as anything is known and pulled down into the holes (Grossman and Dally
    1998; Gortler et al. 1996, section 3.4).
    """
    import cv2

    height, width = weight.shape
    if min(height, width) <= 2:
        total = float(weight.sum())
        mean = (values * weight[..., None]).sum((0, 1)) / total if total > 1e-6 else values.mean((0, 1))
        return np.asarray(values * weight[..., None] + mean * (1 - weight[..., None]), np.float32)
    small_size = ((width + 1) // 2, (height + 1) // 2)
    small_weight = cv2.resize(weight, small_size, interpolation=cv2.INTER_AREA)
    small_values = cv2.resize(values * weight[..., None], small_size, interpolation=cv2.INTER_AREA)
    small_values = small_values / np.maximum(small_weight, 1e-6)[..., None]
    filled = push_pull(np.asarray(small_values, np.float32), np.asarray(np.minimum(1, 4 * small_weight), np.float32))
    pulled = cv2.resize(filled, (width, height), interpolation=cv2.INTER_LINEAR)
    return np.asarray(values * weight[..., None] + pulled * (1 - weight[..., None]), np.float32)


def grain_of(picture_rgb: Picture, known: NDArray[np.bool_]) -> float:
    """Standard deviation of the fine noise of the picture where it is known; edges and texture do not count."""
    import cv2

    if known.sum() < 200:
        return 0.0
    grey = cv2.cvtColor(picture_rgb, cv2.COLOR_RGB2GRAY).astype(np.float32)
    fine = grey - cv2.GaussianBlur(grey, (0, 0), 1.5)
    return float(1.4826 * np.median(np.abs(fine[known])))


def with_grain(values: Matte, sigma: float, where: NDArray[np.bool_], generator: np.random.Generator) -> Matte:
    """``values`` (h, w, 3) with noise of the picture's own strength, so that what was filled does not look painted."""
    import cv2

    if sigma < 0.2:
        return values
    noise = generator.standard_normal(values.shape[:2]).astype(np.float32)
    noise -= cv2.GaussianBlur(noise, (0, 0), 1.5)
    noise *= np.float32(sigma / max(float(noise.std()), 1e-6))
    return np.asarray(values + (noise * where)[..., None], np.float32)
