"""Hand-set points of a garment: their place in the cutout."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.tryon.garment.notches import Point
from services.domain.errors import InvalidRequest
from services.domain.pins import garment_pins
from services.domain.product import GarmentCategory

_BELOW: Final = (
    ("collar", "armpit"), ("collar", "waist"), ("collar", "hem"), ("collar", "crotch"), ("collar", "leg"),
    ("shoulder", "hem"), ("armpit", "hem"), ("armpit", "crotch"), ("neck_front", "hem"), ("neck_front", "hem_middle"),
    ("neck_front", "crotch"), ("waist", "hip"), ("waist", "hem"), ("waist", "crotch"), ("waist", "leg"),
    ("hip", "hem"), ("hip", "leg"), ("crotch", "leg"), ("knee", "leg"),
)  # fmt: skip
"""Stems of the points of a garment that stands upright: the second is always below the first."""


def pinned(
    pins: Mapping[str, Point], category: GarmentCategory, photo_size: tuple[int, int], to_cutout: NDArray[np.float64]
) -> dict[str, Point]:
    """Pins, given as fractions of the upright photo, in pixels of the cutout.

    Raises:
        InvalidRequest: ``pins_unknown``: the garment has no such point, or the place is not in the photo.
    """
    names = garment_pins(category)
    placed: dict[str, Point] = {}
    for name, (x, y) in pins.items():
        if name not in names:
            raise InvalidRequest(
                f'"{name}" is no point of a garment of category {category}; there are {", ".join(names)}.',
                code="pins_unknown",
                param="pins",
            )
        if not (0 <= x <= 1 and 0 <= y <= 1):
            raise InvalidRequest(
                f'The pin "{name}" lies at {x:g}, {y:g}, outside the photo; x and y are fractions of its width and '
                "height, from 0 to 1.",
                code="pins_unknown",
                param="pins",
            )
        spot = to_cutout @ np.asarray([x * photo_size[0] - 0.5, y * photo_size[1] - 0.5, 1.0])
        placed[name] = (float(spot[0]), float(spot[1]))
    return placed


def require_order(landmarks: Mapping[str, Point], pins: Mapping[str, Point], *, back: bool) -> None:
    """Nothing, when the hand-set points can be those of one garment that stands upright.

    Args:
        landmarks: All points in the cutout, hand-set and found.
        pins: Those that were set by hand, by name.
        back: Whether the back is seen, where the wearer's left is at the picture's left.

    Raises:
        InvalidRequest: ``pins_contradictory``.
    """
    order = [(upper, lower) for upper in landmarks for lower in landmarks if (_stem(upper), _stem(lower)) in _BELOW]
    for upper, lower in order:
        if (upper in pins or lower in pins) and landmarks[upper][1] >= landmarks[lower][1]:
            raise _contradictory(upper, "above", lower)
    for left in landmarks:
        right = left.replace("left", "right")
        if right == left or right not in landmarks or not {left, right} & set(pins):
            continue
        first, second = (left, right) if back else (right, left)
        if landmarks[first][0] >= landmarks[second][0]:
            raise _contradictory(first, "to the left of", second)


def _stem(name: str) -> str:
    return name if name.startswith(("neck", "hem_middle")) else name.partition("_")[0]


def _contradictory(first: str, place: str, second: str) -> InvalidRequest:
    return InvalidRequest(
        f'The pins contradict each other: in the photo "{first}" is always {place} "{second}". Left and right are the '
        "wearer's own.",
        code="pins_contradictory",
        param="pins",
    )
