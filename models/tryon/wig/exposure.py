"""Develops product photos that are mostly dark, so that hair can be told from a ground that is nearly as black."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.uint8]
Matte = NDArray[np.float32]

_DARK: Final = 12.0  # L of the photo's median: below it shadows hold what is to be seen
_LIFT: Final = 0.5  # exponent by which such a photo is looked at
_SHOWN: Final = 0.72  # and by which its hair is shown: still dark, but hair
_DEEP: Final = (
    4.0,
    14.0,
)  # L of the photo as lifted: below there is nothing but the compression's blocks, above detail
_GRAIN: Final = 0.02  # face widths over which that is smoothed
_FLOOR: Final = 9.0  # L of the darkest hair that is shown


def is_dark(picture_rgb: Picture) -> bool:
    """Whether most of a photo lies in deep shadow."""
    import cv2

    small = cv2.resize(picture_rgb, (128, 128), interpolation=cv2.INTER_AREA)
    lab = cv2.cvtColor(np.divide(small, 255, dtype=np.float32), cv2.COLOR_RGB2LAB)
    return float(np.median(lab[..., 0])) < _DARK


def lifted(picture_rgb: Picture) -> Picture:
    """The photo with its shadows opened, to look at."""
    return _curve(picture_rgb, _LIFT)


def developed(picture_rgb: Picture) -> Picture:
    """The photo as it is shown: between itself and ``lifted``."""
    return _curve(picture_rgb, _SHOWN)


def developed_hair(rgba: Picture, face_width: float) -> Picture:
    """Hair of such a photo (h, w, 4) as it is shown: without the compression's blocks, no blacker than hair is."""
    import cv2

    opacity = np.divide(rgba[..., 3], 255, dtype=np.float32)
    shadows = _lab(np.divide(lifted(rgba[..., :3]), 255, dtype=np.float32))
    near = _mean(shadows, opacity, max(1.0, _GRAIN * face_width))
    around = _mean(shadows, opacity, max(3.0, 3 * _GRAIN * face_width))
    deep = np.clip((_DEEP[1] - near[..., :1]) / (_DEEP[1] - _DEEP[0]), 0, 1)
    # Down there differences are those of blocks, and colour is noise of a few counts: the hair's around it is kept.
    smooth = np.dstack([near[..., :1], np.clip(around[..., 1:], -4, 12)])
    lab = np.asarray(shadows + deep * (smooth - shadows), np.float32)
    rgb = np.clip(cv2.cvtColor(lab, cv2.COLOR_LAB2RGB), 0, 1) ** np.float32(_SHOWN / _LIFT)
    lab = _lab(np.asarray(rgb, np.float32))
    lab[..., 0] += _FLOOR * np.exp(-lab[..., 0] / _FLOOR)
    out = rgba.copy()
    out[..., :3] = np.clip(np.rint(cv2.cvtColor(lab, cv2.COLOR_LAB2RGB) * 255), 0, 255).astype(np.uint8)
    return out


def _lab(rgb: NDArray[np.float32]) -> NDArray[np.float32]:
    import cv2

    return np.asarray(cv2.cvtColor(rgb, cv2.COLOR_RGB2LAB), np.float32)


def _mean(values: NDArray[np.float32], weight: Matte, sigma: float) -> NDArray[np.float32]:
    """The weighted mean of ``values`` (h, w, 3) around each pixel."""
    import cv2

    weight = weight + np.float32(1e-3)
    total = cv2.GaussianBlur(values * weight[..., None], (0, 0), sigma)
    return np.asarray(total / cv2.GaussianBlur(weight, (0, 0), sigma)[..., None], np.float32)


def _curve(picture_rgb: Picture, exponent: float) -> Picture:
    table = np.rint(255 * (np.arange(256) / 255) ** exponent).astype(np.uint8)
    return np.asarray(table[picture_rgb], np.uint8)
