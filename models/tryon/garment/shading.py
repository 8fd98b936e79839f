"""Light on a garment: the folds and light of what the person wore, roundness, and the shadows it casts."""

from __future__ import annotations

from typing import Final

import numpy as np

from models.tryon.garment.warp import Colours, Mask

_FOLDS: Final = (0.68, 1.15)  # the recipe's .6 to 1.25 with prints already blurred out
_POWER: Final = 0.65
_COLOURS: Final = 3  # of the old clothes: a jacket, a shirt, a print
_DARK: Final = 14.0  # L added: the folds of dark cloth are mostly noise
_FINE: Final = 0.022  # of the span: what is smaller is weave or print of the old cloth
_WIDE: Final = 0.30
_ROUND: Final = 0.16
_SIDE_PX: Final = 480
_PALE: Final = (196.0, 236.0)  # luma of cloth whose own folds a photo hardly shows, and that shows all of the old ones'
_OWN: Final = (0.022, 0.2)  # of the span: folds of a pale garment are between
_OWN_POWER: Final = 2.0
_OWN_LEAST: Final = (0.86, 1.05)


def folds_of(picture: Colours, clothes: Mask, span: float) -> Mask:
    """How much brighter or darker than its surroundings each pixel of the old clothes is, float32 about 1.

    Elsewhere 1. Every colour of the old clothes is compared with its own surroundings, and lines thinner than a fold
    are left out, so that a jacket over a shirt, prints and seams do not show through.
    """
    import cv2

    height, width = clothes.shape
    scale = min(1.0, _SIDE_PX / max(height, width))
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    small = cv2.resize(picture, size, interpolation=cv2.INTER_AREA)
    inside = cv2.erode(
        (cv2.resize(clothes, size, interpolation=cv2.INTER_AREA) > 0.8).astype(np.uint8), np.ones((3, 3), np.uint8)
    )
    unit = span * scale
    if inside.sum() < 50:
        return np.ones((height, width), np.float32)
    lab = cv2.cvtColor(small / np.float32(255), cv2.COLOR_RGB2LAB)
    lab = np.stack([cv2.medianBlur(np.ascontiguousarray(lab[..., k]), 5) for k in range(3)], -1)
    samples = lab[inside > 0]
    criteria = (cv2.TERM_CRITERIA_EPS + cv2.TERM_CRITERIA_MAX_ITER, 12, 1.0)
    cv2.setRNGSeed(1)
    step = max(1, len(samples) // 4000)
    weights = np.array([0.8, 1.0, 1.0], np.float32)
    _, _, centres = cv2.kmeans(
        samples[::step] * weights, _COLOURS, np.empty(0, np.int32), criteria, 2, cv2.KMEANS_PP_CENTERS
    )
    distance = np.linalg.norm(lab[:, :, None] * weights - centres[None, None], axis=-1)
    label = distance.argmin(-1)
    light = (lab[..., 0] + _DARK).astype(np.float32)
    factor = np.ones(label.shape, np.float32)
    for index in range(_COLOURS):
        own = ((label == index) & (inside > 0)).astype(np.uint8)
        own = cv2.morphologyEx(own, cv2.MORPH_OPEN, np.ones((3, 3), np.uint8)).astype(np.float32)
        if own.sum() < 0.04 * inside.sum():
            continue
        fine = _mean_inside(light, own, max(0.8, _FINE * unit))
        wide = _mean_inside(light, own, _WIDE * unit)
        ratio = np.clip(fine / np.maximum(wide, 1.0), *_FOLDS) ** _POWER
        ratio = 1 + (ratio - 1) * _trust(centres[index, 0] / weights[0])
        solid = cv2.GaussianBlur(own, (0, 0), max(1.0, 0.03 * unit))
        factor += (ratio - 1) * own * np.clip((solid - 0.55) / 0.35, 0, 1)
    factor = cv2.GaussianBlur(factor, (0, 0), max(0.8, 0.012 * unit))
    return np.asarray(cv2.resize(factor, (width, height), interpolation=cv2.INTER_LINEAR), np.float32)


def paleness(colours: Colours, alpha: Mask) -> float:
    """0 to 1: 1 for white cloth."""
    solid = alpha > 200 if alpha.dtype == np.uint8 else alpha > 0.8
    luma = colours[solid][::7] @ np.array([0.299, 0.587, 0.114], np.float32)
    if not len(luma):
        return 0.0
    low, high = _PALE
    return float(np.clip((np.median(luma) - low) / (high - low), 0, 1))


def own_folds(colours: Colours, alpha: Mask, span: float, strength: float) -> Mask:
    """Light that makes more of the folds that a pale garment has in its own, evenly lit photo; about 1."""
    import cv2

    if strength <= 0 or alpha.max(initial=0) < 0.5:
        return np.ones(alpha.shape, np.float32)
    luma = np.asarray(colours @ np.array([0.299, 0.587, 0.114], np.float32), np.float32)
    scale = min(1.0, 24.0 / max(span * _OWN[1], 1.0))
    size = (max(2, round(alpha.shape[1] * scale)), max(2, round(alpha.shape[0] * scale)))
    fine = _mean_inside(luma, alpha, max(0.7, _OWN[0] * span))
    small, solid = (cv2.resize(values, size, interpolation=cv2.INTER_AREA) for values in (luma, alpha))
    wide = _mean_inside(np.asarray(small, np.float32), np.asarray(solid, np.float32), _OWN[1] * span * scale)
    around = cv2.resize(wide, alpha.shape[::-1], interpolation=cv2.INTER_LINEAR)
    ratio = np.clip((fine / np.maximum(around, 1.0)) ** (_OWN_POWER * strength), *_OWN_LEAST)
    return np.asarray(np.where(alpha > 0.02, ratio, 1), np.float32)


def _trust(lightness: float) -> float:
    """How far the folds of cloth of that L are believed: those of black cloth are mostly noise and reflections."""
    return float(np.clip((lightness - 5) / 45, 0.25, 1.0))


def _mean_inside(values: Mask, inside: Mask, sigma: float) -> Mask:
    import cv2

    total = cv2.GaussianBlur(values * inside, (0, 0), sigma)
    weight = cv2.GaussianBlur(inside, (0, 0), sigma)
    return np.asarray(total / np.maximum(weight, 1e-3), np.float32)


def roundness(alpha: Mask, span: float) -> Mask:
    """Darkening towards the edges of a layer, as of cloth that goes round a body."""
    import cv2

    solid = (alpha > 0.5).astype(np.uint8)
    # Outside the picture the cloth goes on: no edge there.
    padded = cv2.copyMakeBorder(solid, 1, 1, 1, 1, cv2.BORDER_REPLICATE)
    distance = cv2.distanceTransform(padded, cv2.DIST_L2, 3)[1:-1, 1:-1]
    near = np.clip(1 - distance / (0.16 * span), 0, 1)
    return np.asarray(1 - _ROUND * near**2, np.float32)


def light_of(picture: Colours, skin: Mask) -> float:
    """Gain that brings a shop's evenly lit photo to the light of this picture, about 1."""
    pixels = picture[skin > 0.8]
    if len(pixels) < 50:
        return 1.0
    light = float(np.percentile(pixels @ np.array([0.299, 0.587, 0.114], np.float32), 70))
    return float(np.clip((light / 175.0) ** 0.35, 0.8, 1.04))


def cast_shadow(alpha: Mask, offset: tuple[float, float], blur: float, strength: float) -> Mask:
    """Factor (1 means none) of the shadow that a layer casts on what lies beneath; the layer itself is left out."""
    import cv2

    moved = cv2.warpAffine(
        alpha,
        np.array([[1, 0, offset[0]], [0, 1, offset[1]]], np.float32),
        (alpha.shape[1], alpha.shape[0]),
        borderMode=cv2.BORDER_REPLICATE,
    )
    soft = cv2.GaussianBlur(moved, (0, 0), max(0.7, blur))
    return np.asarray(1 - strength * soft * (1 - alpha), np.float32)
