"""Names of the points that a client may set by hand on a product's photo; sides are the wearer's."""

from __future__ import annotations

from typing import Final

from services.domain.product import GarmentCategory, ProductKind

WIG_PINS: Final = (  # as the wig engine knows them (a test compares)
    "forehead",
    "right_temple",
    "left_temple",
    "right_ear",
    "left_ear",
    "right_eye",
    "left_eye",
    "nose",
    "mouth",
    "chin",
)
_TOP: Final = ("collar", "shoulder", "armpit", "waist", "hem")
_LEG: Final = ("waist", "hip", "knee_{}_outer", "knee_{}_inner", "leg_{}_outer", "leg_{}_inner")


def garment_pins(category: GarmentCategory) -> tuple[str, ...]:
    """Of a garment of this kind."""
    stems: list[str] = []
    single: list[str] = []
    if category is GarmentCategory.OVERALL:
        stems += ["collar", "shoulder", "armpit"]
        single += ["neck_front"]
    elif category not in (GarmentCategory.SKIRT, GarmentCategory.TROUSERS):
        stems += [*_TOP, "cuff_{}_outer", "cuff_{}_inner"]
        single += ["neck_front", "neck_back", "hem_middle"]
    elif category is GarmentCategory.SKIRT:
        stems += ["waist", "hip", "hem"]
        single += ["hem_middle"]
    if category in (GarmentCategory.TROUSERS, GarmentCategory.OVERALL):
        stems += _LEG
        single += ["crotch"]
    sided = [stem.format(side) if "{}" in stem else f"{stem}_{side}" for stem in stems for side in ("left", "right")]
    return (*sided, *single)


def pins_of(kind: ProductKind, category: GarmentCategory | None = None) -> tuple[str, ...]:
    """Of a product; of a garment whose category is not known yet those of all."""
    if kind is ProductKind.WIG:
        return WIG_PINS
    if category is not None:
        return garment_pins(category)
    return tuple(dict.fromkeys(name for one in GarmentCategory for name in garment_pins(one)))
