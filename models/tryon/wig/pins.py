"""The head in a wig's photo: hand-set pins, a found face, or what the wig's own outline says."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.tryon.wig.fit import Similarity, similarity
from services.domain.errors import InvalidRequest

Points = NDArray[np.float32]

PINS: Final[Mapping[str, tuple[int, ...]]] = {
    "forehead": (10,),
    "right_temple": (127,),
    "left_temple": (356,),
    "right_ear": (234,),
    "left_ear": (454,),
    "right_eye": (33, 133),
    "left_eye": (362, 263),
    "nose": (1,),
    "mouth": (13, 14),
    "chin": (152,),
}
"""Names of pins and the mesh points whose mean they stand for; right and left are the wearer's own."""

_SOLID: Final = 128
_DOWN: Final = (("forehead",), ("right_eye", "left_eye"), ("nose",), ("mouth",), ("chin",))  # from above to below
_ACROSS: Final = (("right_temple", "left_temple"), ("right_ear", "left_ear"), ("right_eye", "left_eye"))
_MOST_ROLL_DEG: Final = 60.0  # a head in a product photo is tilted by less
_MOST_OFF: Final = 0.45  # face widths that a pin may lie from where the others put it: faces differ by .2
_LEAST_APART: Final = 0.02  # of the photo's long side


@cache
def front_face() -> Points:
    """A head that looks into the camera, (468, 3), in face widths about the middle between its ears.

    The mean of the built-in presenters' meshes, turned to the front and made symmetric.
    """
    with np.load(Path(__file__).with_name("front_face.npz"), allow_pickle=False) as file:
        return np.asarray(file["points"], np.float32)


def pinned(
    points: Points | None,
    pins: Mapping[str, tuple[float, float]],
    width: int,
    height: int,
    *,
    is_front: bool = True,
) -> Points | None:
    """The mesh moved onto the pins.

    Args:
        points: As found in the photo, pixels; None takes a front face.
        pins: Fractions of the photo's width and height.
        is_front: Whether the face looks at us: only then pins must fit a front face.

    Returns:
        None when there are neither points nor two pins to place a face with.

    Raises:
        InvalidRequest: ``pins_unknown``: a name that is not in ``PINS``, or a place outside the photo;
            ``pins_contradictory``: no head has its points so.
    """
    for name, (x, y) in pins.items():
        if name not in PINS:
            raise InvalidRequest(
                f"{name!r} is no pin of a wig; there are {', '.join(PINS)}.", code="pins_unknown", param="pins"
            )
        if not (-0.5 <= x <= 1.5 and -0.5 <= y <= 1.5):
            raise InvalidRequest(
                f"The pin {name!r} lies far outside the photo; x and y are fractions of its width and height.",
                code="pins_unknown",
                param="pins",
            )
    _require_order(pins, is_front=is_front)
    if points is None and len(pins) < 2:
        return None
    mesh = front_face() if points is None else points
    if not pins:
        return mesh
    names = list(pins)
    source = np.array([mesh[list(PINS[name]), :2].mean(0) for name in names], np.float32)
    target = np.array([pins[name] for name in names], np.float32) * np.array([width, height], np.float32)
    moved = mesh.copy()
    if len(names) == 1:
        moved[:, :2] += target[0] - source[0]
        return moved
    onto = similarity(source, target)
    if is_front:
        _require_fit(mesh, onto, source, target, names, max(width, height))
    moved[:, :2] = onto(mesh[:, :2])
    moved[:, 2] *= onto.scale
    if len(names) >= 3:
        # What no turn and scale explains is a shift that fades with the distance from each pin.
        left = target - moved_places(moved, names)
        unit = float(np.linalg.norm(moved[454, :2] - moved[234, :2]))
        away = np.linalg.norm(moved[:, None, :2] - target[None], axis=2) / max(unit, 1e-6)
        weight = np.exp(-((away / 0.5) ** 2))
        moved[:, :2] += (weight[..., None] * left[None]).sum(1) / np.maximum(weight.sum(1), 1)[:, None]
    return np.asarray(moved, np.float32)


def _require_order(pins: Mapping[str, tuple[float, float]], *, is_front: bool) -> None:
    """Nothing, when what is above in a face is above in the photo, and the sides are where a front view has them."""
    rows = [(name, pins[name][1]) for group in _DOWN for name in group if name in pins]
    for index, (upper, y) in enumerate(rows):
        for lower, below in rows[index + 1 :]:
            if below <= y and {upper, lower} != {"right_eye", "left_eye"}:
                raise _contradictory(f"{upper!r} is above {lower!r} in a head that is upright")
    for right, left in _ACROSS if is_front else ():
        if right in pins and left in pins and pins[right][0] >= pins[left][0]:
            raise _contradictory(f"the wearer's {right!r} is to the left of {left!r} in a photo from the front")


def _require_fit(
    mesh: Points, onto: Similarity, source: Points, target: Points, names: list[str], long_side: int
) -> None:
    if float(np.ptp(target, axis=0).max()) < _LEAST_APART * long_side:
        raise _contradictory("they lie on one spot; a head has them apart")
    ends = onto(mesh[[234, 454], :2])
    across, before = ends[1] - ends[0], mesh[454, :2] - mesh[234, :2]
    turn = np.degrees(np.arctan2(across[1], across[0]) - np.arctan2(before[1], before[0]))
    if abs((turn + 180) % 360 - 180) > _MOST_ROLL_DEG:
        raise _contradictory(f"they would turn the head by {abs((turn + 180) % 360 - 180):.0f} degrees")
    off = np.linalg.norm(onto(source) - target, axis=1) / max(float(np.linalg.norm(across)), 1e-6)
    if len(names) > 2 and off.max() > _MOST_OFF:
        raise _contradictory(f"{names[int(off.argmax())]!r} lies far from where the others put it")


def _contradictory(detail: str) -> InvalidRequest:
    return InvalidRequest(f"The pins contradict each other: {detail}.", code="pins_contradictory", param="pins")


def moved_places(points: Points, names: list[str]) -> Points:
    """Where the pins of these names lie in a mesh, (n, 2)."""
    return np.array([points[list(PINS[name]), :2].mean(0) for name in names], np.float32)


def head_of_outline(alpha: NDArray[np.uint8]) -> tuple[Points, float]:
    """The head that a wig without a face would sit on, in pixels of ``alpha`` (h, w), and how sure that is, 0 to 1.

    Wigs are shot from the front, hung or on a stand: the opening for the face lies below the crown, in the middle.
    Where there is none to be seen (curls, a wig laid flat), an average head is put below the crown.
    """
    solid = alpha > _SOLID
    rows, columns = np.flatnonzero(solid.any(1)), np.flatnonzero(solid.any(0))
    top, bottom = float(rows[0]), float(rows[-1])
    left, right = float(columns[0]), float(columns[-1])
    middle = (left + right) / 2
    opening = face_opening(alpha)
    if opening is not None:
        row, start, end, sides = opening
        width, sure = 1.06 * (end - start), 0.6
        centre_x, hairline = (start + end) / 2, row
        _ = sides
    else:
        # Hair is about a third wider than the head, and its crown a quarter of a face above the forehead's top.
        width, sure = min((right - left) / 1.45, (bottom - top) * 0.95), 0.25
        centre_x, hairline = middle, top + 0.38 * width
    mesh = front_face() * np.float32(width)
    shift = np.array([centre_x, hairline - (front_face()[10, 1] + 0.03) * width, 0], np.float32)
    return np.asarray(mesh + shift, np.float32), sure


def face_opening(alpha: NDArray[np.uint8]) -> tuple[float, float, float, int] | None:
    """Row of the hairline, left and right edge of the opening for the face, rows that show it; None without one."""
    solid = alpha > _SOLID
    rows, columns = np.flatnonzero(solid.any(1)), np.flatnonzero(solid.any(0))
    return _opening(solid, round(float(columns[0] + columns[-1]) / 2), int(rows[0]))


def _opening(solid: NDArray[np.bool_], middle: int, top: int) -> tuple[float, float, float, int] | None:
    """Row of the hairline, left and right edge of the opening for the face, rows that show it; None without one."""
    height, width = solid.shape
    column = solid[:, max(0, middle - 2) : middle + 3].mean(1) > 0.5
    below_crown = np.flatnonzero(column[top:])
    if not len(below_crown):
        return None
    first = top + int(below_crown[0])
    gaps = np.flatnonzero(~column[first:])
    if not len(gaps):
        return None
    hairline = first + int(gaps[0])
    starts, ends = [], []
    for row in range(hairline, height):
        line = solid[row]
        before, after = np.flatnonzero(line[:middle]), np.flatnonzero(line[middle:])
        if line[middle] or not len(before) or not len(after):
            continue
        starts.append(int(before[-1]))
        ends.append(middle + int(after[0]))
    if len(starts) < 0.06 * height or not starts:
        return None
    widths = np.array(ends) - np.array(starts)
    widest = float(np.percentile(widths, 80))
    if not 0.15 * width < widest < 0.85 * width:
        return None
    chosen = widths > 0.7 * widest
    return (
        float(hairline),
        float(np.median(np.array(starts)[chosen])),
        float(np.median(np.array(ends)[chosen])),
        len(starts),
    )
