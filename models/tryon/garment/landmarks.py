"""Named points of a garment from its outline: collar, shoulders, armpits, cuffs, waist, hem, crotch, legs.

Points are found on the half of the outline at the picture's right; the other half is found in a mirror. Sides are the
wearer's: on a front view the wearer's left is at the picture's right, on a back view it is at the left.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.tryon.garment.category import CHEST, LEGS
from models.tryon.garment.notches import Notch, Point, sleeve_notches
from models.tryon.garment.silhouette import Silhouette, turning
from services.domain.product import GarmentCategory


class SleeveKind(StrEnum):
    """What is at the shoulders; ``NONE`` for what does not reach them."""

    SLEEVED = "sleeved"
    SLEEVELESS = "sleeveless"
    STRAP = "strap"
    NONE = "none"


_DEEP_GAP: Final = 0.85  # of the chest's width below the shoulder: no armhole is as deep
_LONG_SLEEVE: Final = 1.1  # of the chest's width, from shoulder to cuff
_ARMHOLE: Final = 0.40  # of the chest's width from shoulder to armpit, where the sleeve hides it (measured on shirts)
_STRAP: Final = 0.13  # of the chest's width: narrower shoulders are straps
_COLLAR_STEEP: Final = 0.7  # slope of a collar's side at least; shoulders fall less
_COLLAR_TURN_DEG: Final = -14.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HalfTop:
    """Points of the picture's right half of something worn on the chest, in the silhouette's pixels."""

    collar: Point
    shoulder: Point
    armpit: Point
    gap: Point  # where sleeve and body part; the armpit itself, or below it where the sleeve lies against the body
    cuff_outer: Point | None
    cuff_inner: Point | None
    waist: Point
    hem: Point


def halves_of_top(shape: Silhouette) -> tuple[HalfTop, HalfTop]:
    """The picture's right half, and its left half as seen in a mirror, of an upright top, dress, shirt or jacket."""
    views = (shape, shape.mirrored())
    gaps = sleeve_notches(shape)
    chest = min((gap.point[0] - view.axis_x for gap, view in zip(gaps, views, strict=True) if gap), default=0.0)
    right, left = (
        _half_sleeved(view, gap, chest) if gap else _half_sleeveless(view)
        for gap, view in zip(gaps, views, strict=True)
    )
    return right, left


def _half_sleeved(shape: Silhouette, notch: Notch, chest: float) -> HalfTop:
    half = shape.right_half()
    turns = shape.turns()[: len(half)]
    arc = half[: notch.index + 1]
    gap = half[notch.index]
    tip = arc[int(np.argmax(arc[:, 0] + 0.4 * arc[:, 1]))]
    root_x = shape.axis_x + chest
    root_y = _upper_edge(arc, root_x - 0.1 * chest)
    middle = np.asarray([root_x, (root_y + min(float(gap[1]), root_y + chest)) / 2], np.float32)
    along = (tip - middle) / max(float(np.hypot(*(tip - middle))), 1e-6)
    outer_at = int(np.argmax(arc @ _turned(along, -35)))
    inner_at = outer_at + int(np.argmax(arc[outer_at:] @ _turned(along, 35)))
    collar_at = _collar(shape, half[: outer_at + 1], turns)
    shoulder_at = _shoulder(half, collar_at, outer_at, root_x, chest)
    hem_at = _hem(half, notch.index)
    cuff = (arc[outer_at] + arc[inner_at]) / 2
    length = float(np.hypot(*(cuff - half[shoulder_at])))
    armpit = _hidden_armpit(gap, root_x, half[shoulder_at], chest, length)
    return HalfTop(
        collar=_point(half[collar_at]),
        shoulder=_point(half[shoulder_at]),
        armpit=armpit,
        gap=_point(gap),
        cuff_outer=_point(arc[outer_at]),
        cuff_inner=_point(arc[inner_at]),
        waist=_waist(np.vstack([np.asarray([armpit], np.float32), half[notch.index : hem_at + 1]])),
        hem=_point(half[hem_at]),
    )


def _hidden_armpit(
    gap: NDArray[np.float32], root_x: float, shoulder: NDArray[np.float32], chest: float, length: float
) -> Point:
    """The armpit, taken to be at its usual depth where a long sleeve lies against the body below it."""
    usual = float(shoulder[1]) + _ARMHOLE * 2 * chest
    long = length > _LONG_SLEEVE * 2 * chest or gap[1] - shoulder[1] > _DEEP_GAP * 2 * chest
    if not long or gap[1] <= usual + 0.5 * chest:
        return _point(gap)
    return root_x - 0.04 * chest, usual


def _half_sleeveless(shape: Silhouette) -> HalfTop:
    half = shape.right_half()
    turns = shape.turns()[: len(half)]
    upper = half[: int(np.argmax(half[:, 1] > shape.top + 0.45 * shape.height))]
    reach = float((upper[:, 0] - shape.axis_x).max())
    high = upper[:, 1] < shape.top + 0.3 * shape.height
    shoulder_at = int(np.argmax(np.where(high, upper @ np.asarray([1.0, -0.6], np.float32), -np.inf)))
    armpit_at = _armhole_end(shape, half, shoulder_at, reach)
    collar_at = _collar(shape, half[: shoulder_at + 1], turns)
    hem_at = _hem(half, armpit_at)
    return HalfTop(
        collar=_point(half[collar_at]),
        shoulder=_point(half[shoulder_at]),
        armpit=_point(half[armpit_at]),
        gap=_point(half[armpit_at]),
        cuff_outer=None,
        cuff_inner=None,
        waist=_waist(half[armpit_at : hem_at + 1]),
        hem=_point(half[hem_at]),
    )


def _armhole_end(shape: Silhouette, half: NDArray[np.float32], shoulder_at: int, reach: float) -> int:
    """Where the armhole meets the side seam: the corner after the inward arc, else a usual depth below the shoulder."""
    end = int(np.argmax(half[:, 1] > shape.top + 0.5 * shape.height))
    arc = half[shoulder_at:end]
    usual = shoulder_at + int(np.argmax(arc[:, 1] > arc[0, 1] + 0.24 * shape.height))
    if len(arc) < 8:
        return usual
    corners = turning(half, 0.06 * shape.height)[shoulder_at:end]
    below = arc[:, 1] - arc[0, 1]
    inward = int(np.argmin(np.where(below < 0.2 * shape.height, arc[:, 0], np.inf)))
    deep = (np.arange(len(arc)) > inward) & (below > 0.1 * shape.height)
    if not deep.any() or arc[inward:, 0].max() - arc[inward, 0] < 0.03 * reach:
        return usual
    # The first strong corner: a cut-out or a waist below it has corners of its own.
    strong = np.flatnonzero(deep & (corners > 0.7 * corners[deep].max()))
    return shoulder_at + int(strong[0])


def _collar(shape: Silhouette, top: NDArray[np.float32], turns: NDArray[np.float32]) -> int:
    """Index of the point where the neck opening meets the shoulder."""
    span = top[-1, 0] - shape.axis_x
    near = top[:, 0] < shape.axis_x + 0.62 * span
    peak = int(np.argmin(np.where(near, top[:, 1], np.inf)))
    after = np.arange(len(top)) > 3
    concave = np.where(near & after, turns[: len(top)], 0)
    notch = int(np.argmin(concave))
    if concave[notch] < _COLLAR_TURN_DEG and notch > peak:
        corner = int(np.flatnonzero(top[:notch, 1] < top[peak, 1] + 0.015 * shape.height)[-1])
        rise, run = top[notch, 1] - top[corner, 1], top[notch, 0] - top[corner, 0]
        if rise > _COLLAR_STEEP * run:
            return notch
    return max(peak, 1)


def _shoulder(half: NDArray[np.float32], collar_at: int, outer_at: int, root_x: float, chest: float) -> int:
    """The upper edge's outermost bend near above the armpit."""
    arc = half[collar_at : outer_at + 1]
    if len(arc) < 3:
        return collar_at
    line = arc[-1] - arc[0]
    away = (line[0] * (arc[:, 1] - arc[0, 1]) - line[1] * (arc[:, 0] - arc[0, 0])) / max(float(np.hypot(*line)), 1.0)
    off = np.abs(arc[:, 0] - (root_x - 0.06 * chest)) / max(chest, 1.0)
    return collar_at + int(np.argmin(away / max(chest, 1.0) + 0.8 * off))


def _hem(half: NDArray[np.float32], armpit_at: int) -> int:
    body = half[armpit_at:]
    return armpit_at + int(np.argmax(body @ np.asarray([0.8, 1.0], np.float32)))


def _waist(side: NDArray[np.float32]) -> Point:
    """The narrowest point of the middle of a side, else the point at .55 of its length."""
    if len(side) < 5:
        return _point(side[-1])
    share = (side[:, 1] - side[0, 1]) / max(float(side[-1, 1] - side[0, 1]), 1.0)
    middle = np.flatnonzero((share > 0.15) & (share < 0.75))
    usual = int(np.argmin(np.abs(share - 0.55)))
    if len(middle) < 5:
        return _point(side[usual])
    narrow = int(middle[np.argmin(side[middle, 0])])
    least = 0.004 * float(side[-1, 1] - side[0, 1])
    waisted = min(side[middle[0], 0], side[middle[-1], 0]) - side[narrow, 0] > least
    return _point(side[narrow] if waisted else side[usual])


def half_skirt(shape: Silhouette) -> dict[str, Point]:
    """Waist, hip and hem of the right half of a skirt."""
    half = shape.right_half()
    waist_at = int(np.argmax(half @ np.asarray([0.8, -1.0], np.float32)))
    hem_at = waist_at + int(np.argmax(half[waist_at:] @ np.asarray([0.8, 1.0], np.float32)))
    side = half[waist_at : hem_at + 1]
    hip = side[int(np.argmin(np.abs(side[:, 1] - (side[0, 1] + 0.35 * (side[-1, 1] - side[0, 1])))))]
    return {"waist": _point(side[0]), "hip": _point(hip), "hem": _point(side[-1])}


def crotch_of(shape: Silhouette) -> tuple[Point, int]:
    """The highest point between the legs, and its index in the outline."""
    outline = shape.outline
    right = outline[:, 0] > shape.axis_x
    first = int(np.argmax(np.where(right, outline[:, 1] - 0.3 * (outline[:, 0] - shape.axis_x), -np.inf)))
    last = int(np.argmax(np.where(~right, outline[:, 1] - 0.3 * (shape.axis_x - outline[:, 0]), -np.inf)))
    between = outline[first : last + 1]
    index = first + int(np.argmin(between[:, 1])) if len(between) else len(outline) // 2
    return _point(outline[index]), index


def _bib_end(shape: Silhouette, half: NDArray[np.float32]) -> int:
    """Where the side of an overall begins, below its bib."""
    depth = (half[:, 1] - shape.top) / shape.height
    side = (depth > 0.2) & (depth < 0.5)
    return int(np.argmax(np.where(side, half @ np.asarray([1.0, -0.2], np.float32), -np.inf)))


def half_bib(shape: Silhouette) -> dict[str, Point]:
    """Shoulder strap, bib and side of the right half of an overall."""
    half = shape.right_half()
    armpit_at = _bib_end(shape, half)
    upper = half[: armpit_at + 1]
    shoulder = upper[int(np.argmax(upper @ np.asarray([0.5, -1.0], np.float32)))]
    inner = upper[int(np.argmax(upper @ np.asarray([-0.5, -1.0], np.float32)))]
    return {
        "collar": _point(inner),
        "shoulder": _point(shoulder),
        "armpit": _point(half[armpit_at]),
    }


def half_legs(shape: Silhouette, *, bib: bool) -> dict[str, Point]:
    """Waist to leg end of the right half of trousers, or of what an overall has below its bib."""
    crotch, index = crotch_of(shape)
    half = shape.outline[: index + 1]
    waist_at = _bib_end(shape, half) if bib else int(np.argmax(half @ np.asarray([0.8, -1.0], np.float32)))
    outer_at = waist_at + int(np.argmax(half[waist_at:] @ np.asarray([0.7, 1.0], np.float32)))
    inner_at = outer_at + int(np.argmax(half[outer_at:] @ np.asarray([-0.7, 1.0], np.float32)))
    outer, inner = half[waist_at : outer_at + 1], half[inner_at:]
    hip_y = half[waist_at, 1] + 0.6 * (crotch[1] - half[waist_at, 1])
    knee_y = crotch[1] + 0.47 * (half[outer_at, 1] - crotch[1])
    return {
        "waist": _point(half[waist_at]),
        "hip": _at_row(outer, hip_y),
        "knee_outer": _at_row(outer, knee_y),
        "knee_inner": _at_row(inner, knee_y),
        "leg_outer": _point(half[outer_at]),
        "leg_inner": _point(half[inner_at]),
    }


def sleeve_kind(right: HalfTop, left: HalfTop, shape: Silhouette) -> SleeveKind:
    """Sleeved when either side is (the other may be folded away), a strap when the shoulders are narrow."""
    if right.cuff_outer or left.cuff_outer:
        return SleeveKind.SLEEVED
    chest = right.armpit[0] - (shape.mask.shape[1] - 1 - left.armpit[0])
    narrow = max(abs(side.shoulder[0] - side.collar[0]) for side in (right, left))
    return SleeveKind.STRAP if narrow < _STRAP * chest else SleeveKind.SLEEVELESS


def landmarks_of(shape: Silhouette, category: GarmentCategory, *, back: bool) -> tuple[dict[str, Point], SleeveKind]:
    """All named points in the silhouette's pixels."""
    mirror = shape.mirrored()
    sides = ("right", "left") if back else ("left", "right")  # of the picture's right and left half
    points: dict[str, Point] = {}
    kind = SleeveKind.NONE
    worn_on_top = category in CHEST and category is not GarmentCategory.OVERALL
    tops = halves_of_top(shape) if worn_on_top else (None, None)
    for side, view, top in zip(sides, (shape, mirror), tops, strict=True):
        found: dict[str, Point | None] = {}
        if category in LEGS:
            legs = half_legs(view, bib=category is GarmentCategory.OVERALL)
            found |= {
                f"{name.split('_')[0]}_{side}" + (f"_{name.split('_')[1]}" if "_" in name else ""): point
                for name, point in legs.items()
            }
        elif category is GarmentCategory.SKIRT:
            found |= {f"{name}_{side}": point for name, point in half_skirt(view).items()}
        if category is GarmentCategory.OVERALL:
            found |= {f"{name}_{side}": point for name, point in half_bib(view).items()}
        elif top:
            found |= {f"{name}_{side}": getattr(top, name) for name in ("collar", "shoulder", "armpit", "waist", "hem")}
            found |= {f"cuff_{side}_outer": top.cuff_outer, f"cuff_{side}_inner": top.cuff_inner}
        width = shape.mask.shape[1]
        for name, point in found.items():
            if point is not None:
                points[name] = point if view is shape else (width - 1 - point[0], point[1])
    if category in LEGS:
        points["crotch"] = crotch_of(shape)[0]
    else:
        points["hem_middle"] = _point(shape.right_half()[-1])
    if tops[0] and tops[1]:
        kind = sleeve_kind(tops[0], tops[1], shape)
        points["neck_back"] = _point(shape.outline[0])
    if category is GarmentCategory.OVERALL:
        kind = SleeveKind.STRAP
        points["neck_front"] = _point(shape.outline[0])
    return points, kind


def _at_row(side: NDArray[np.float32], y: float) -> Point:
    return _point(side[int(np.argmin(np.abs(side[:, 1] - y)))])


def _upper_edge(arc: NDArray[np.float32], x: float) -> float:
    """The highest point of a curve near a column."""
    near = np.abs(arc[:, 0] - x) < 4
    return float(arc[near, 1].min()) if near.any() else float(arc[:, 1].min())


def _turned(direction: NDArray[np.float32], degrees: float) -> NDArray[np.float32]:
    """A direction turned clockwise on the screen."""
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return np.asarray([c * direction[0] - s * direction[1], s * direction[0] + c * direction[1]], np.float32)


def _point(xy: NDArray[np.float32]) -> Point:
    return float(xy[0]), float(xy[1])
