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
_AROUND: Final = (1.1, 2.4)  # face widths from between the ears: what is around a head
_DARK: Final = (32.0, 8.0)  # L of it: ordinary, and dark
_CONTRAST: Final = (20.0, 50.0)  # L of the face above it: ordinary, and a face in a spot of light
_FALLS: Final = (0.45, 1.25)  # face widths from between the ears over which that falls off
_DIMMER: Final = 0.10  # what hair is darker by beside a face in a spot of light
_DIMMEST: Final = 0.38  # and what comes on top of it where it ends
_SHADOW_BLUR: Final = 0.035  # of the face's height, as the study measured
_SHADOW_OFFSET: Final = 0.03
_SHADOW_STRENGTH: Final = 0.45


@dataclass(frozen=True, slots=True, kw_only=True)
class FaceLight:
    """How light falls on a face.

    Attributes:
        lightness: Median L of the skin, CIELAB, 0 to 100.
        slope: Growth of L from the face's picture-left outline to its right one, in L.
        surround: Median L of what is around the head; None when that is not known.
    """

    lightness: float
    slope: float
    surround: float | None = None

    @property
    def is_spot(self) -> float:
        """How much the light is on the face alone, 0 to 1: a bright face before darkness."""
        if self.surround is None:
            return 0.0
        darkness = (_DARK[0] - self.surround) / (_DARK[0] - _DARK[1])
        contrast = (self.lightness - self.surround - _CONTRAST[0]) / (_CONTRAST[1] - _CONTRAST[0])
        return float(np.clip(darkness, 0, 1) * np.clip(contrast, 0, 1))


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
    return FaceLight(
        lightness=float(np.median(values)),
        slope=float(np.polyfit(places, values, 1)[0]),
        surround=_surround(picture_rgb, centre.astype(np.float32), width),
    )


def _surround(picture_rgb: Picture, centre: Points, width: float) -> float | None:
    """Median L within some face widths around a head."""
    import cv2

    step = max(1, round(width / 24))
    small = np.ascontiguousarray(picture_rgb[::step, ::step])
    rows, columns = np.mgrid[: small.shape[0], : small.shape[1]]
    far = np.hypot(columns * step - centre[0], rows * step - centre[1]) / width
    around = small[(far > _AROUND[0]) & (far < _AROUND[1])]
    if len(around) < 20:
        return None
    lab = cv2.cvtColor(np.divide(around[None], 255, dtype=np.float32), cv2.COLOR_RGB2LAB)
    return float(np.median(lab[..., 0]))


def lit(wig_rgba: Picture, points: Points, here: FaceLight, there: FaceLight | None) -> Picture:
    """The fitted wig (h, w, 4) under the light on the sitter's face.

    Args:
        points: The sitter's mesh, pixels of ``wig_rgba``.
        here: The light on the sitter.
        there: The light on the face that wore the wig in its photo; None takes the wig as evenly lit.
    """
    import cv2

    gain: float | NDArray[np.float32] = 1.0
    slope = here.slope
    if there is not None:
        gain = float(np.clip((here.lightness / max(there.lightness, 1.0)) ** _GAIN_POWER, *_GAIN_RANGE))
        slope = here.slope - there.slope
    slope = float(np.clip(_SLOPE_SHARE * slope, -_SLOPE_LIMIT, _SLOPE_LIMIT))
    across = points[454, :2] - points[234, :2]
    width = max(float(np.linalg.norm(across)), 1.0)
    centre = (points[454, :2] + points[234, :2]) / 2
    height, columns = wig_rgba.shape[:2]
    aside = (np.arange(columns, dtype=np.float32) - np.float32(centre[0])) / np.float32(width)
    down = (np.arange(height, dtype=np.float32) - np.float32(centre[1])) / np.float32(width)
    place = np.clip(aside[None] * (across[0] / width) + down[:, None] * (across[1] / width), -0.8, 0.8)
    spot = max(here.is_spot - (0.0 if there is None else there.is_spot), 0.0)
    if spot > 0:  # such light falls off from the face on
        far = np.hypot(aside[None], down[:, None])
        far = np.clip((far - _FALLS[0]) / (_FALLS[1] - _FALLS[0]), 0, 1)
        gain = np.asarray(gain * (1 - spot * (_DIMMER + _DIMMEST * far * far * (3 - 2 * far))), np.float32)[..., None]
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
