"""A smiling source at rest: the folds of its smile fade, or they would stay on every rounded vowel."""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from models.talking_head.mesh.grid import Field
from models.talking_head.mesh.lips import EDGE_U, LipFrame
from models.video.yuv import planes

Frame = NDArray[np.uint8]

_STRENGTH: Final = 0.75
_FINE, _COARSE = 0.035, 0.22  # scales kept and filled, in units of half a resting mouth


def relaxed(source: Frame, mouth: LipFrame) -> Frame:
    """``source`` (I420) with lighter folds beside the mouth, as far as it smiles; the same frame if it does not."""
    if mouth.smile < 0.05:
        return source
    luma = planes(source).y
    reach = 3.4 * mouth.unit_px
    height, width = luma.shape
    x0, y0 = (max(0, int(value - reach)) for value in mouth.origin)
    x1, y1 = min(width, int(mouth.origin[0] + reach)), min(height, int(mouth.origin[1] + reach))
    x, y = np.meshgrid(np.arange(x0, x1, dtype=np.float32), np.arange(y0, y1, dtype=np.float32))
    u, v = mouth.to_uv(x, y)
    part = luma[y0:y1, x0:x1].astype(np.float32)
    fine, coarse = (cv2.GaussianBlur(part, (0, 0), max(scale * mouth.unit_px, 0.6)) for scale in (_FINE, _COARSE))
    weight = _beside_mouth(u, v, mouth) * np.float32(_STRENGTH * mouth.smile)
    filled = part + weight * np.maximum(np.asarray(coarse) - np.asarray(fine), 0)
    result = source.copy()
    planes(result).y[y0:y1, x0:x1] = np.clip(filled + 0.5, 0, 255).astype(np.uint8)
    return result


def _beside_mouth(u: Field, v: Field, mouth: LipFrame) -> Field:
    """1 on the folds from the nose wings to beside the chin, 0 on lips, nose, eyes and jaw line."""
    line = np.interp(u, EDGE_U, mouth.meeting)
    inner = 1.0 - 0.45 * np.clip(-(v - line) / abs(mouth.nose), 0, 1)  # folds run toward the nose
    across = np.clip((np.abs(u) - inner) / 0.1, 0, 1) * np.clip((2.1 - np.abs(u)) / 0.5, 0, 1)
    down = np.clip((v - 1.15 * mouth.nose) / 0.4, 0, 1) * np.clip((0.75 * mouth.chin - v) / 0.4, 0, 1)
    return np.asarray(across * down, np.float32)
