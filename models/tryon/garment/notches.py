"""Finds where sleeves and body part: the corners of an outline that are armpits, judged on both sides together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.tryon.garment.silhouette import Silhouette, turning

Point = tuple[float, float]

_SLEEVE_REACH: Final = 0.14  # of the chest's width a sleeve goes past the armpit (recipe, measured)
_FOLDED_REACH: Final = 0.04
_CAP_REACH: Final = 0.3  # what reaches less far may be the edge of a bodice, not a sleeve
_TURN_DEG: Final = -32.0
_ROWS: Final = (0.08, 0.93)  # of the height; a sleeve that lies against the body parts from it far below
_UNLIKE: Final = 1.0  # by how much a pair of notches may be less sure for being more alike
_ALONE: Final = 0.15
_ARMHOLE_LEAST: Final = 0.6  # of the chest's width from the shoulder to where a short sleeve ends, at least and at most
_ARMHOLE_MOST: Final = 0.95
_ARMHOLE_TURN_DEG: Final = -14.0
_CUFF_BELOW: Final = 0.03  # of the height
_CANDIDATES: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Notch:
    """A corner that may part sleeve and body.

    Attributes:
        index: Its place in the half outline.
        point: Where it is.
        score: How surely it is one; only to be compared.
    """

    index: int
    point: Point
    score: float


def sleeve_notches(shape: Silhouette) -> tuple[Notch | None, Notch | None]:
    """The corner of the picture's right half, and of its left half as seen in a mirror; None where there is no sleeve.

    A garment has two sleeves or none, at one height and equally far from its middle. A sleeve that is folded or curled
    away shows less and is looked for where the other one is seen.
    """
    mirror = shape.mirrored()
    first = _paired(shape, mirror, _notches(shape, _SLEEVE_REACH), _notches(mirror, _SLEEVE_REACH))
    if first[0] and not first[1]:
        return _paired(shape, mirror, [first[0]], _notches(mirror, _FOLDED_REACH))
    if first[1] and not first[0]:
        return _paired(shape, mirror, _notches(shape, _FOLDED_REACH), [first[1]])
    return first


def _paired(
    shape: Silhouette, mirror: Silhouette, rights: list[Notch], lefts: list[Notch]
) -> tuple[Notch | None, Notch | None]:
    """The best notch of each side, alike in place."""
    best: tuple[float, Notch | None, Notch | None] = (0.0, None, None)
    for right in rights:
        for left in lefts:
            aside = abs((right.point[0] - shape.axis_x) - (left.point[0] - mirror.axis_x))
            apart = aside + 0.5 * abs(right.point[1] - left.point[1])
            best = max(best, (right.score + left.score - _UNLIKE * apart / shape.height, right, left), key=_value)
    for right in rights:
        best = max(best, (right.score - _ALONE, right, None), key=_value)
    for left in lefts:
        best = max(best, (left.score - _ALONE, None, left), key=_value)
    return best[1], best[2]


def _value(choice: tuple[float, Notch | None, Notch | None]) -> float:
    return choice[0]


def _notches(shape: Silhouette, least_reach: float) -> list[Notch]:
    """Corners of the right half that bend inwards below something that reaches out like a sleeve, the surest first."""
    half = shape.right_half()
    turns = shape.turns()[: len(half)]
    height = half[:, 1] - shape.top
    low, high = (share * shape.height for share in _ROWS)
    inside = (height > low) & (height < high) & (half[:, 0] > shape.axis_x + 0.1 * shape.height)
    found: list[Notch] = []
    for index in np.flatnonzero(inside & (turns < _TURN_DEG)).tolist():
        if turns[index] > turns[max(0, index - 8) : index + 9].min():
            continue
        chest = 2 * float(half[index, 0] - shape.axis_x)
        reach = float(half[: index + 1, 0].max() - half[index, 0])
        if reach < least_reach * chest:
            continue
        if reach < _CAP_REACH * chest and _is_bodice(shape, half[: index + 1], chest):
            continue
        score = _depth(half, index) / shape.height - 0.002 * float(turns[index])
        found.append(Notch(index=index, point=(float(half[index, 0]), float(half[index, 1])), score=score))
    return sorted(found, key=lambda notch: -notch.score)[:_CANDIDATES]


def _is_bodice(shape: Silhouette, arc: NDArray[np.float32], chest: float) -> bool:
    """Whether what sticks out above a notch is a bodice over a cut-out waist: too tall, or hollowed by an armhole.

    What hangs lower than its own notch is a sleeve with its cuff.
    """
    gap = arc[-1]
    if arc[:, 1].max() > gap[1] + _CUFF_BELOW * shape.height:
        return False
    upper = arc[np.abs(arc[:, 0] - gap[0]) < 0.05 * chest]
    tall = float(gap[1] - upper[:, 1].min()) / chest
    if tall < _ARMHOLE_LEAST:
        return False
    tip = int(np.argmax(arc[:, 0]))
    turns = turning(shape.outline, 0.06 * shape.height)[:tip]
    outside = arc[:tip, 0] > shape.axis_x + 0.6 * (arc[tip, 0] - shape.axis_x)
    step = float(np.median(np.hypot(*np.diff(arc, axis=0).T)))
    hollow = float((outside & (turns < _ARMHOLE_TURN_DEG)).sum()) * step
    return tall > _ARMHOLE_MOST or hollow > 0.03 * shape.height


def _depth(half: NDArray[np.float32], index: int) -> float:
    """How deep a point lies behind the straight line over its notch: from the farthest before it to the hem after."""
    point = half[index]
    before = half[: index + 1]
    start = before[int(np.argmax(before[:, 0] + 0.7 * before[:, 1]))]
    after = half[index:]
    end = after[int(np.argmax(after[:, 0] + 0.7 * after[:, 1]))]
    line = end - start
    length = max(float(np.hypot(*line)), 1.0)
    return abs(float(line[0] * (point[1] - start[1]) - line[1] * (point[0] - start[0]))) / length
