"""How a face is lit, and a wig lit the same way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.uint8]
Matte = NDArray[np.float32]
Points = NDArray[np.float32]

# Skin that a face shows to the light: forehead, cheeks, nose ridge, chin sides; lids, lips and brows keep out.
_SKIN_POINTS: Final = (151, 108, 337, 9, 195, 5, 50, 280, 205, 425, 101, 330, 187, 411, 207, 427)
_PATCH: Final = 0.045  # face widths
_GAIN_POWER: Final = 0.5  # a darker face is half darker light and half darker skin
_GAIN_RANGE: Final = (0.75, 1.25)
_SLOPE_SHARE: Final = 0.6
_SLOPE_LIMIT: Final = 14.0  # L from one cheek to the other
_SHADOW_BLUR: Final = 0.035  # of the face's height, as the study measured
_SHADOW_OFFSET: Final = 0.03
_SHADOW_STRENGTH: Final = 0.45


@dataclass(frozen=True, slots=True, kw_only=True)
class FaceLight:
    """How light falls on a face.

    Attributes:
        lightness: Median L of the skin, CIELAB, 0 to 100.
        slope: Growth of L from the face's picture-left outline to its right one, in L.
    """

    lightness: float
    slope: float


def face_light(picture_rgb: Picture, points: Points) -> FaceLight:
    """The light on the face with these mesh points (468, 2 or 3), pixels of the picture."""
    import cv2

    across = points[454, :2] - points[234, :2]
    width = max(float(np.linalg.norm(across)), 1.0)
    axis = across / width
    centre = (points[454, :2] + points[234, :2]) / 2
    values, places = [], []
    radius = max(1, round(_PATCH * width))
    for index in _SKIN_POINTS:
        x, y = np.round(points[index, :2]).astype(int)
        patch = picture_rgb[max(0, y - radius) : y + radius + 1, max(0, x - radius) : x + radius + 1]
        if patch.size == 0:
            continue
        mean = np.median(patch.reshape(-1, 3), axis=0).astype(np.float32)[None, None] / 255
        values.append(float(cv2.cvtColor(mean, cv2.COLOR_RGB2LAB)[0, 0, 0]))
        places.append(float((points[index, :2] - centre) @ axis / width))
    if len(values) < 4:
        return FaceLight(lightness=60.0, slope=0.0)
    return FaceLight(lightness=float(np.median(values)), slope=float(np.polyfit(places, values, 1)[0]))


def lit(wig_rgba: Picture, points: Points, here: FaceLight, there: FaceLight | None) -> Picture:
    """The fitted wig (h, w, 4) under the light on the sitter's face.

    Args:
        points: The sitter's mesh, pixels of ``wig_rgba``.
        here: The light on the sitter.
        there: The light on the face that wore the wig in its photo; None takes the wig as evenly lit.
    """
    import cv2

    gain, slope = 1.0, here.slope
    if there is not None:
        gain = float(np.clip((here.lightness / max(there.lightness, 1.0)) ** _GAIN_POWER, *_GAIN_RANGE))
        slope = here.slope - there.slope
    slope = float(np.clip(_SLOPE_SHARE * slope, -_SLOPE_LIMIT, _SLOPE_LIMIT))
    across = points[454, :2] - points[234, :2]
    width = max(float(np.linalg.norm(across)), 1.0)
    centre = (points[454, :2] + points[234, :2]) / 2
    height, columns = wig_rgba.shape[:2]
    x = (np.arange(columns, dtype=np.float32) - centre[0]) * np.float32(across[0] / width**2)
    y = (np.arange(height, dtype=np.float32) - centre[1]) * np.float32(across[1] / width**2)
    place = np.clip(x[None] + y[:, None], -0.8, 0.8)
    lab = cv2.cvtColor(np.divide(wig_rgba[..., :3], 255, dtype=np.float32), cv2.COLOR_RGB2LAB)
    # A lamp adds to what is lit: dark hair gains and loses less than light hair. Chroma goes with L, as in shade.
    before = lab[..., :1].copy()
    after = np.clip(before * gain + (slope * place * np.clip(before[..., 0] / 60, 0.15, 1.2))[..., None], 0, 100)
    lab = np.asarray(np.dstack([after, lab[..., 1:] * (after / np.maximum(before, 1)) ** 0.9]), np.float32)
    out = wig_rgba.copy()
    out[..., :3] = np.clip(np.rint(cv2.cvtColor(lab, cv2.COLOR_LAB2RGB) * 255), 0, 255).astype(np.uint8)
    return out


def contact_shadow(wig_alpha: Matte, points: Points) -> Matte:
    """The shadow that the wig throws on what it lies on, opacity 0 to 1, the wig's own pixels included."""
    import cv2

    down = points[152, :2] - points[10, :2]
    face_height = max(float(np.linalg.norm(down)), 1.0)
    shift = down / face_height * _SHADOW_OFFSET * face_height
    matrix = np.array([[1, 0, shift[0]], [0, 1, shift[1]]], np.float64)
    height, width = wig_alpha.shape
    moved = cv2.warpAffine(wig_alpha, matrix, (width, height))
    blurred = cv2.GaussianBlur(moved, (0, 0), max(0.8, _SHADOW_BLUR * face_height))
    return np.asarray(_SHADOW_STRENGTH * np.clip(blurred, 0, 1), np.float32)
