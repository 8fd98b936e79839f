"""Tells from its outline what kind of garment a product photo shows, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from models.tryon.garment.notches import sleeve_notches
from models.tryon.garment.silhouette import Silhouette, silhouette_of
from services.domain.product import GarmentCategory

LEGS: Final = frozenset({GarmentCategory.TROUSERS, GarmentCategory.OVERALL})
CHEST: Final = frozenset(GarmentCategory) - {GarmentCategory.SKIRT, GarmentCategory.TROUSERS}
CLEAR: Final = 0.55  # from this confidence on, a category is taken without asking
_COLLARED: Final = 0.7  # a collar with sleeves is a shirt more often than a jacket, a collar without a waistcoat
_LEG_ROWS: Final = (0.72, 0.80, 0.88, 0.95)  # of the height, where legs are apart
_DRESS_RATIO: Final = 2.0  # collar to hem over chest width, between the longest tops and the shortest straight dresses
_DRESS_SLOPE: Final = 5.0
_NARROW_LEG: Final = 0.2  # of the widest row: thinner than that are straps
_NO_TOP: Final = 0.42  # of the height down to which the middle of a garment that stands upright is never empty
_NECK: Final = 0.55  # wideness of an upper edge with a neck
_LOW_NOTCH: Final = (0.6, 0.2)  # share of the height below which a notch is a sleeve's only under a neck so narrow
_ALIKE: Final = 0.12  # of the height: how far apart in height a garment's two armpits can lie
_OPENING: Final = 0.6  # of the height, in which hair opens for the face
_ROUGH: Final = (1.3, 0.8)  # of cloth with sleeves, with a waistband; hair has more
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


def contradiction(
    category: GarmentCategory, shape: Silhouette, *, has_collar: bool, sleeved: bool, leg_pins: bool
) -> str | None:
    """What the outline shows that no garment of ``category`` has, for a message; None when it may be one.

    Only what is certain counts: the client knows better what a narrow case is.

    Args:
        category: As told.
        shape: The garment's outline.
        has_collar: Whether a collar stands above its shoulders.
        sleeved: Whether both sides have sleeves.
        leg_pins: Whether points of its legs were set by hand.
    """
    legs, waistband = leg_share(shape), _flat_top(shape) * _wide_top(shape)
    if category in LEGS:
        if sleeved and legs < 0.5:
            return "sleeves and no two legs"
        return "no two legs" if legs == 0 and not leg_pins else None
    if legs > 0.5:
        return "two legs"
    if category is GarmentCategory.SKIRT:
        if sleeved and waistband < 0.5:
            return "sleeves"
        if has_collar and waistband < 0.5:
            return "a collar"
    if category in (GarmentCategory.SHIRT, GarmentCategory.JACKET) and not sleeved:
        return "a waistband and no shoulders" if waistband * _bulging_sides(shape) > 0.6 else None
    return None


def is_upside_down(shape: Silhouette) -> bool:
    """Whether legs stand at the top, or sleeves at the bottom of an outline that has none at the top."""
    flipped = silhouette_of(np.ascontiguousarray(shape.mask[::-1] > 0))
    widest = shape.row_width(shape.top + 0.5 * shape.height)
    legs = [end - start for row in _LEG_ROWS for start, end in flipped.runs(flipped.top + row * flipped.height)]
    if leg_share(flipped) >= 0.75 and leg_share(shape) == 0 and min(legs) > _NARROW_LEG * widest:
        return _flat_top(flipped) * _wide_top(flipped) >= 0.5
    if any(sleeve_notches(shape)):
        return False
    notches = [notch for notch in sleeve_notches(flipped) if notch]
    if len(notches) < 2:
        return False
    first, second = ((notch.point[1] - flipped.top) / flipped.height for notch in notches)
    low, narrow = _LOW_NOTCH
    wide = _wide_top(flipped)
    return abs(first - second) < _ALIKE and wide < (narrow if max(first, second) > low else _NECK)


def has_no_top(shape: Silhouette) -> bool:
    """Whether the outline's middle is empty far down: no garment that stands upright is so."""
    return float(shape.outline[0, 1]) > shape.top + _NO_TOP * shape.height


def looks_cut_and_sewn(shape: Silhouette) -> str | None:
    """What the outline of something that should be hair has that only garments have; None when it may be hair.

    Hair opens for the face from above its middle; its outline is rough, its crown round, its two sides never quite
    alike.
    """
    legs, waistband = leg_share(shape), _flat_top(shape) * _wide_top(shape)
    if legs >= 0.75 and (waistband >= 0.5 or len(shape.runs(shape.top + 0.1 * shape.height)) == 2):
        return "two legs"
    rough = _roughness(shape)
    column = shape.mask[:, round(shape.axis_x)] > 0
    upper = column[round(shape.top + 0.1 * shape.height) : round(shape.top + _OPENING * shape.height)]
    if not upper.all():
        return None
    notches = [notch for notch in sleeve_notches(shape) if notch]
    if len(notches) == 2 and shape.symmetry > 0.94 and rough < _ROUGH[0]:
        first, second = (notch.point[1] for notch in notches)
        return "two sleeves" if abs(first - second) < _ALIKE * shape.height else None
    if waistband * _bulging_sides(shape) >= 0.5 and shape.symmetry > 0.93 and rough < _ROUGH[1]:
        return "a waistband"
    return None


def _roughness(shape: Silhouette) -> float:
    """Mean distance in pixels of the outline from itself smoothed over 16 of its 1024 steps: .3 to .9 for cloth."""
    from scipy.ndimage import gaussian_filter1d

    smooth = gaussian_filter1d(shape.outline, 8, axis=0, mode="wrap")
    return float(np.hypot(*(shape.outline - smooth).T).mean())


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
