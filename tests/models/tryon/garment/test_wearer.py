"""What of a person counts as skin, hair and cloth, on photos where colours mislead; places read off the photos."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from models.tryon.garment.figure import Side
from models.tryon.garment.ingest import ingest_garment
from models.tryon.garment.wearer import Wearer


def test_sleeves_and_cuffs_of_the_colour_of_skin_are_cloth(wearer: Callable[[str], Wearer]) -> None:
    man = wearer("persons/man_hoodie_full.png")
    for side in Side:
        line = man.figure.arms[side].centre_line(61)
        for x, y in line[20:52].round().astype(int):
            assert man.skin[y, x] < 0.1
        assert man.hands[side].max() > 0.9


def test_a_ponytail_over_the_dress_is_hair(wearer: Callable[[str], Wearer]) -> None:
    woman = wearer("persons/cgi_dress_full.jpg")
    height, width = woman.hair.shape
    assert woman.hair[round(0.219 * height), round(0.518 * width)] > 0.5
    assert woman.upper[round(0.219 * height), round(0.518 * width)] < 0.5


def test_a_zip_seen_through_the_neck_lies_behind_the_front(shared_data: Path) -> None:
    marks = ingest_garment(shared_data / "garments/dress_pink_real.jpg").landmarks
    across = marks["collar_left"][0] - marks["collar_right"][0]
    collar = (marks["collar_left"][1] + marks["collar_right"][1]) / 2
    assert 0.5 < (marks["neck_front"][1] - collar) / across < 0.85
