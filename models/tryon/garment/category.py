"""Tells from its outline what kind of garment a product photo shows, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from models.tryon.garment.silhouette import Silhouette
from services.domain.product import GarmentCategory

LEGS: Final = frozenset({GarmentCategory.TROUSERS, GarmentCategory.OVERALL})
CHEST: Final = frozenset(GarmentCategory) - {GarmentCategory.SKIRT, GarmentCategory.TROUSERS}
CLEAR: Final = 0.55  # from this confidence on, a category is taken without asking
_COLLARED: Final = 0.7  # a collar with sleeves is a shirt more often than a jacket, a collar without a waistcoat
_LEG_ROWS: Final = (0.72, 0.80, 0.88, 0.95)  # of the height, where legs are apart
_DRESS_RATIO: Final = 2.0  # collar to hem over chest width, between the longest tops and the shortest straight dresses
_DRESS_SLOPE: Final = 5.0
_FLARE: Final = 1.35  # hem over chest width of a skirt that swings


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryGuess:
    """The likeliest category, the next one, and 0 to 1 how sure the first is."""

    category: GarmentCategory
    other: GarmentCategory
    confidence: float


def recognize_category(
    shape: Silhouette, *, chest_width: float, length: float, has_collar: bool, sleeved: bool
) -> CategoryGuess:
    """The category of an upright silhouette.

    Args:
        shape: The garment's outline.
        chest_width: From armpit to armpit in the silhouette's pixels.
        length: From collar to hem in the silhouette's pixels.
        has_collar: Whether a collar stands above its shoulders.
        sleeved: Whether it has sleeves.
    """
    legs = leg_share(shape)
    flat = _flat_top(shape)
    if legs > 0.5:
        trousers = _wide_top(shape) * flat
        if trousers >= 0.5:
            return _guess(GarmentCategory.TROUSERS, GarmentCategory.OVERALL, min(legs, trousers))
        return _guess(GarmentCategory.OVERALL, GarmentCategory.TROUSERS, min(legs, 1 - trousers))
    skirt = flat * _wide_top(shape) * _bulging_sides(shape)
    if skirt > 0.5:
        return _guess(GarmentCategory.SKIRT, GarmentCategory.TOP, skirt)
    ratio = length / max(chest_width, 1.0)
    flare = shape.row_width(shape.bottom - 0.06 * shape.height) / max(chest_width, 1.0)
    swing = 4.0 * max(0.0, flare - _FLARE)
    dress = float(1 / (1 + np.exp(-_DRESS_SLOPE * (ratio - _DRESS_RATIO) - swing)))
    if dress >= 0.5:
        return _guess(GarmentCategory.DRESS, GarmentCategory.TOP, dress)
    if has_collar and sleeved:
        return _guess(GarmentCategory.SHIRT, GarmentCategory.JACKET, min(1 - dress, _COLLARED))
    if has_collar:
        return _guess(GarmentCategory.JACKET, GarmentCategory.SHIRT, min(1 - dress, _COLLARED))
    return _guess(GarmentCategory.TOP, GarmentCategory.DRESS, 1 - dress)


def leg_share(shape: Silhouette) -> float:
    """0 to 1: how much of the lower part stands on two legs."""
    apart = 0
    for row in _LEG_ROWS:
        runs = shape.runs(shape.top + row * shape.height)
        wide = [end - start for start, end in runs]
        middle = [start <= shape.axis_x <= end for start, end in runs]
        if len(runs) == 2 and min(wide) > 0.3 * max(wide) and not any(middle):
            apart += 1
    return apart / len(_LEG_ROWS)


def _flat_top(shape: Silhouette) -> float:
    """0 to 1: how straight the upper edge is, as a waistband's."""
    columns = np.flatnonzero(shape.mask[: round(shape.top + 0.1 * shape.height)].any(0))
    inner = columns[round(0.1 * len(columns)) : max(round(0.9 * len(columns)), 1)]
    edge = shape.mask[:, inner].argmax(0)
    slant = np.polyfit(np.arange(len(edge)), edge, 2)
    rough = float(np.abs(edge - np.polyval(slant, np.arange(len(edge)))).max()) + 0.5 * float(np.ptp(edge))
    return float(np.clip(1.25 - rough / (0.06 * shape.height), 0, 1))


def _wide_top(shape: Silhouette) -> float:
    """0 to 1: how wide the upper edge is against the upper half."""
    widest = max(shape.row_width(shape.top + row * shape.height) for row in np.linspace(0.05, 0.45, 9))
    return float(np.clip(shape.row_width(shape.top + 0.04 * shape.height) / widest * 2.5 - 1.0, 0, 1))


def _bulging_sides(shape: Silhouette) -> float:
    """0 to 1: how little the upper half is hollowed at its sides, as it is round arms and above sleeves."""
    import cv2

    half = shape.mask[: round(shape.top + 0.6 * shape.height)]
    points = np.argwhere(half)[:, ::-1].astype(np.int32)
    hull = float(cv2.contourArea(cv2.convexHull(points)))
    return float(np.clip((float(half.sum()) / max(hull, 1.0) - 0.88) / 0.07, 0, 1))


def _guess(category: GarmentCategory, other: GarmentCategory, confidence: float) -> CategoryGuess:
    return CategoryGuess(category=category, other=other, confidence=float(np.clip(confidence, 0, 1)))
