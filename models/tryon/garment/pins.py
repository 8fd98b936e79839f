"""Hand-set points of a garment: their names, and their place in the cutout."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.tryon.garment.category import CHEST, LEGS
from models.tryon.garment.notches import Point
from services.domain.errors import InvalidRequest
from services.domain.product import GarmentCategory

_TOP: Final = ("collar", "shoulder", "armpit", "waist", "hem")
_LEG: Final = ("waist", "hip", "knee_{}_outer", "knee_{}_inner", "leg_{}_outer", "leg_{}_inner")


def pin_names(category: GarmentCategory) -> tuple[str, ...]:
    """Names of the points that a garment of this kind can have; sides are the wearer's."""
    stems: list[str] = []
    single: list[str] = []
    if category is GarmentCategory.OVERALL:
        stems += ["collar", "shoulder", "armpit"]
        single += ["neck_front"]
    elif category in CHEST:
        stems += [*_TOP, "cuff_{}_outer", "cuff_{}_inner"]
        single += ["neck_front", "neck_back", "hem_middle"]
    elif category is GarmentCategory.SKIRT:
        stems += ["waist", "hip", "hem"]
        single += ["hem_middle"]
    if category in LEGS:
        stems += _LEG
        single += ["crotch"]
    sided = [stem.format(side) if "{}" in stem else f"{stem}_{side}" for stem in stems for side in ("left", "right")]
    return (*sided, *single)


def pinned(
    pins: Mapping[str, Point], category: GarmentCategory, photo_size: tuple[int, int], to_cutout: NDArray[np.float64]
) -> dict[str, Point]:
    """Pins, given as fractions of the upright photo, in pixels of the cutout.

    Raises:
        InvalidRequest: ``pins_unknown``: the garment has no such point, or the place is not in the photo.
    """
    names = pin_names(category)
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
