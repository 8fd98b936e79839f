"""Tidies a wig's matte: what the matting could not know, because it looks at colours alone."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.tryon.wig.cutout import texture_of
from models.tryon.wig.filling import push_pull

Picture = NDArray[np.uint8]
Matte = NDArray[np.float32]
Points = NDArray[np.float32]
Mask = NDArray[np.bool_]

_FAINT: Final = (7.0, 16.0)  # Delta E of hair from ground: below nothing is seen of an edge, above the matting sees it
_CALM: Final = 0.030  # face widths over which an edge that nobody sees is smoothed
_WHOLE: Final = (0.35, 0.7)  # alpha well inside the hair that is taken for none, and for all
_GAP: Final = 0.03  # face widths of an opening between locks
_DEEP: Final = 0.15  # face widths from the outline: no gap reaches there
_FLYING: Final = 0.12  # face widths by which single hairs stand out
_PLAIN: Final = (9.0, 1.5)  # Delta E from the ground, and spread of lightness: less of both is ground
_AROUND: Final = 14.0  # Delta E of what is certainly around the hair
_ROUNDER: Final = 0.03  # face widths
_LEAST_GROUND: Final = 0.02  # squared face widths
_CRUMB: Final = (0.04, 0.03)  # alpha, and squared face widths
_EAR: Final = ((0.30, 0.80), (-0.15, 0.95))  # sideways and down from between the ears, in face widths
_CHEEKS: Final = (50, 280, 205, 425, 101, 330)
_REDDER: Final = 0.1  # log of red over green by which skin must be beyond the hair to be told from it
_DARK: Final = 10.0  # of 255: below there is no colour
_LEAST_EAR: Final = 0.004  # squared face widths
_HANGING: Final = 0.35  # squared face widths of hair beside the face from which on it hangs over the ears


def tidied(alpha: Matte, picture_rgb: Picture, apart: Matte, points: Points) -> Matte:
    """``alpha`` without ears, whole inside, calm where hair and ground look alike.

    Args:
        picture_rgb: The crop of the photo, uint8 (h, w, 3).
        apart: How far each pixel's colour is from the ground's, Delta E.
        points: The mesh of the face in the photo.
    """
    face_width = _width(points)
    alpha = _calmed(alpha, apart, face_width)
    alpha = _whole(alpha, apart, face_width)
    alpha = _without_ground(alpha, picture_rgb, apart, face_width)
    return _without_crumbs(_without_haze(_without_ears(alpha, picture_rgb, points), face_width), face_width)


def without_flecks(rgba: Picture, apart: Matte, face_width: float) -> Picture:
    """The hair's colour where ground glints through the middle of it: nobody else has that ground behind them."""
    import cv2

    alpha = np.divide(rgba[..., 3], 255, dtype=np.float32)
    fleck = _glinting(alpha, apart, face_width)
    if float(fleck.max()) < 0.1:
        return rgba
    contrast = float(np.median(apart[alpha > 0.6]))
    # Near the outline it is a gap between curls.
    depth = cv2.distanceTransform((alpha > 0.3).astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_5)
    deep = np.clip(depth / (_DEEP * face_width) - 0.5, 0, 1)
    hair = push_pull(rgba[..., :3].astype(np.float32), ((alpha > 0.6) & (apart > 0.7 * contrast)).astype(np.float32))
    mixed = rgba[..., :3] + np.clip(1.5 * fleck, 0, 1)[..., None] * (hair - rgba[..., :3])
    out = rgba.copy()
    out[..., 3] = np.rint(out[..., 3] * (1 - 0.8 * fleck * (1 - deep))).astype(np.uint8)
    out[..., :3] = np.clip(np.rint(mixed), 0, 255).astype(np.uint8)
    return out


def _glinting(alpha: Matte, apart: Matte, face_width: float) -> Matte:
    """How much of what the matte takes for hair has the ground's colour; nothing where both look alike anyway."""
    import cv2

    solid = alpha > 0.6
    contrast = float(np.median(apart[solid])) if solid.sum() > 100 else 0.0
    if contrast < 2 * _FAINT[1]:
        return np.zeros_like(alpha)
    fleck = cv2.GaussianBlur(np.clip(1.6 - 3.2 * apart / contrast, 0, 1), (0, 0), max(0.6, 0.004 * face_width))
    return np.asarray(fleck * np.clip(2 * alpha - 0.6, 0, 1), np.float32)


def _calmed(alpha: Matte, apart: Matte, face_width: float) -> Matte:
    """An edge as round as hair lies, where the photo's compression alone would draw it."""
    import cv2

    sigma = max(1.0, _CALM * face_width)
    # What counts is how the hair itself stands out, not the ground beside it.
    weight = np.clip(alpha, 0.02, 1)
    near = cv2.GaussianBlur(apart * weight, (0, 0), 2 * sigma) / cv2.GaussianBlur(weight, (0, 0), 2 * sigma)
    seen = np.clip((near - _FAINT[0]) / (_FAINT[1] - _FAINT[0]), 0, 1)
    seen = cv2.GaussianBlur(np.asarray(seen, np.float32), (0, 0), sigma)
    round_edge = cv2.GaussianBlur(alpha, (0, 0), sigma)
    round_edge = np.clip((round_edge - 0.3) / 0.45, 0, 1)
    round_edge = round_edge * round_edge * (3 - 2 * round_edge)
    return np.asarray(alpha * seen + round_edge * (1 - seen), np.float32)


def _whole(alpha: Matte, apart: Matte, face_width: float) -> Matte:
    """Locks that do not let the ground through, but for the openings between them."""
    import cv2

    radius = max(1, round(_GAP * face_width))
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * radius + 1,) * 2)
    solid = cv2.morphologyEx((alpha > 0.5).astype(np.uint8), cv2.MORPH_CLOSE, disc)
    depth = cv2.distanceTransform(solid, cv2.DIST_L2, cv2.DIST_MASK_5)
    inner = np.clip((depth - 0.5 * radius) / radius, 0, 1) * (1 - _glinting(alpha, apart, face_width))
    lifted = np.clip((alpha - _WHOLE[0]) / (_WHOLE[1] - _WHOLE[0]), 0, 1)
    return np.asarray(alpha + inner * np.maximum(lifted - alpha, 0), np.float32)


def _without_ground(alpha: Matte, picture_rgb: Picture, apart: Matte, face_width: float) -> Matte:
    """Without what goes on from the ground beside the hair with its colour and without a strand."""
    import cv2

    solid = alpha > 0.6
    if not solid.any() or float(np.median(apart[solid])) < _PLAIN[0]:
        return alpha  # black on black: the ground's colour is the hair's
    radius = max(1, round(0.012 * face_width))
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * radius + 1,) * 2)
    plain = (apart < _PLAIN[0]) & (texture_of(picture_rgb, face_width) < _PLAIN[1])
    plain = cv2.morphologyEx(plain.astype(np.uint8), cv2.MORPH_OPEN, disc) > 0
    ground = (alpha < 0.1) & (apart < _AROUND)
    _, labels = cv2.connectedComponents((plain | ground).astype(np.uint8), connectivity=4)
    rim = np.concatenate([labels[0], labels[-1], labels[:, 0], labels[:, -1]])
    areas = np.bincount(labels[ground], minlength=int(labels.max()) + 1)
    outside = [label for label in np.unique(rim[rim > 0]) if areas[label] > _LEAST_GROUND * face_width**2]
    away = (np.isin(labels, outside) & (alpha >= 0.1)).astype(np.uint8)
    if not away.any():
        return alpha
    # Compression's blocks draw that border: hair is rounder, and has no handles.
    sigma = max(1.0, _ROUNDER * face_width)
    left = cv2.GaussianBlur(alpha * (1 - away), (0, 0), sigma)
    left = np.clip((left - 0.4) / 0.3, 0, 1)
    left = left * left * (3 - 2 * left)
    near = cv2.GaussianBlur(cv2.dilate(away, disc).astype(np.float32), (0, 0), sigma)
    near = np.clip(4 * near, 0, 1)
    return np.asarray(alpha * (1 - near) + np.minimum(alpha, left) * near, np.float32)


def _without_haze(alpha: Matte, face_width: float) -> Matte:
    """Without what is faint and far from any solid hair."""
    import cv2

    near = cv2.distanceTransform((alpha < 0.6).astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_5) / face_width
    return np.asarray(alpha * np.clip((_FLYING - near) / (0.4 * _FLYING), 0, 1), np.float32)


def _without_crumbs(alpha: Matte, face_width: float) -> Matte:
    """Without scraps that touch no lock."""
    import cv2

    _, labels, stats, _ = cv2.connectedComponentsWithStats((alpha > _CRUMB[0]).astype(np.uint8))
    large = np.flatnonzero(stats[:, cv2.CC_STAT_AREA] >= _CRUMB[1] * face_width**2)
    near = np.ones((2 * max(1, round(0.02 * face_width)) + 1,) * 2, np.uint8)
    kept = cv2.dilate(np.isin(labels, large[large != 0]).astype(np.uint8), near)
    return np.asarray(alpha * kept, np.float32)


def _without_ears(alpha: Matte, picture_rgb: Picture, points: Points) -> Matte:
    """The matte without skin beside the face that hair does not look like: ears, and the neck below them."""
    import cv2

    face_width = _width(points)
    middle = points[[234, 454], :2].mean(0)
    right = (points[454, :2] - points[234, :2]) / face_width
    height, width = alpha.shape
    dx, dy = np.meshgrid(np.arange(width) - middle[0], np.arange(height) - middle[1])
    aside = np.abs(dx * right[0] + dy * right[1]) / face_width
    down = (dy * right[0] - dx * right[1]) / face_width
    zone = (aside > _EAR[0][0]) & (aside < _EAR[0][1]) & (down > _EAR[1][0]) & (down < _EAR[1][1])
    away = (alpha > 0.8) & (down < -0.45)
    hangs = int((zone & (alpha > 0.5)).sum()) > _HANGING * face_width**2  # and fair hair is as red as skin in places
    if hangs or away.sum() < 200:
        return alpha
    rgb = cv2.GaussianBlur(picture_rgb, (0, 0), max(0.6, 0.012 * face_width)).astype(np.float32)
    # Shade takes light from skin, not its redness.
    redness = np.log((rgb[..., 0] + 3) / (rgb[..., 1] + 3))
    cheeks = [_patch(redness, points[index, :2], 0.05 * face_width) for index in _CHEEKS]
    skin, hair = float(np.median(cheeks)), float(np.percentile(redness[away], 75))
    if skin < hair + _REDDER:
        return alpha
    like = zone & (alpha > 0.1) & (redness > (skin + hair) / 2) & (rgb[..., 0] > _DARK)
    radius = max(1, round(0.012 * face_width))
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * radius + 1,) * 2)
    like8 = cv2.morphologyEx(like.astype(np.uint8), cv2.MORPH_OPEN, disc)
    like8 = cv2.morphologyEx(like8, cv2.MORPH_CLOSE, cv2.dilate(disc, disc))
    num, labels, stats, _ = cv2.connectedComponentsWithStats(like8)
    large = [i for i in range(1, num) if stats[i, cv2.CC_STAT_AREA] > _LEAST_EAR * face_width**2]
    if not large:
        return alpha
    ear = cv2.dilate(np.isin(labels, large).astype(np.uint8), disc)
    softened = cv2.GaussianBlur(ear.astype(np.float32), (0, 0), max(0.7, 0.5 * radius))
    return np.asarray(alpha * (1 - softened), np.float32)


def _width(points: Points) -> float:
    return max(float(np.linalg.norm(points[454, :2] - points[234, :2])), 1.0)


def _patch(values: Matte, place: Points, radius: float) -> float:
    x, y = np.round(place).astype(int)
    reach = max(1, round(radius))
    part = values[max(0, y - reach) : y + reach + 1, max(0, x - reach) : x + reach + 1]
    return float(np.median(part)) if part.size else 0.0
