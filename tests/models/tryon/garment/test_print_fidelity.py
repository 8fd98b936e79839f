"""A garment that carries a ChArUco board: an independent detector reads its markers in the final picture."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from models.tryon.garment.asset import GarmentAsset
from models.tryon.garment.dress import dress as put_on
from models.tryon.garment.wearer import Wearer
from tests.models.tryon.garment.worn import dress, plain, top

DICTIONARY = cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_4X4_50)
PEOPLE = (
    "persons/cgi_dress_full.jpg",
    "persons/man_hoodie_full.png",
    "persons/man_room_full.jpg",
    "persons/woman_denim_full.png",
    "persons/woman_street_full.jpg",
    "portraits/man_shirt_ai.png",
    "portraits/man_beard_bald.jpg",
)


def board_print(size: tuple[int, int], left: int, top_row: int, width: int, height: int) -> NDArray[np.uint8]:
    """Cloth of light grey with a board of 4 by 5 squares in its middle."""
    board = cv2.aruco.CharucoBoard((4, 5), 1.0, 0.78, DICTIONARY)
    picture = plain((225, 225, 225), size)
    drawn = board.generateImage((width, height), marginSize=12)
    picture[top_row : top_row + height, left : left + width] = drawn[..., None]
    return picture


def markers(picture_rgb: NDArray[np.uint8]) -> dict[int, NDArray[np.float32]]:
    """Corners (4, 2) of the markers that OpenCV's detector reads, by id."""
    parameters = cv2.aruco.DetectorParameters()
    parameters.cornerRefinementMethod = cv2.aruco.CORNER_REFINE_SUBPIX
    large = cv2.resize(picture_rgb, None, fx=3, fy=3, interpolation=cv2.INTER_CUBIC)
    found, ids, _ = cv2.aruco.ArucoDetector(DICTIONARY, parameters).detectMarkers(
        cv2.cvtColor(large, cv2.COLOR_RGB2GRAY)
    )
    if ids is None:
        return {}
    return {int(name): corners[0] / 3 for name, corners in zip(ids.ravel(), found, strict=True)}


def anisotropy(before: NDArray[np.float32], after: NDArray[np.float32]) -> float:
    """How much more a marker is stretched one way than the other: the affine that takes its corners there."""
    start, end = before - before.mean(0), after - after.mean(0)
    affine = np.linalg.lstsq(start, end, rcond=None)[0]
    large, small = np.linalg.svd(affine)[1]
    return float(large / small)


def seen(garment: GarmentAsset, wearer: Wearer) -> tuple[set[int], dict[int, float], set[int]]:
    """Ids on the garment, anisotropy by id read in the picture, ids that stand free: no hand, hair or edge near."""
    printed = markers(np.ascontiguousarray(garment.picture_rgba[..., :3]))
    dressed = put_on(wearer, garment)
    read = markers(dressed.canvas.picture())
    trunk = next(layer for layer in dressed.layers if layer.name == "trunk")
    margin = max(3, round(0.03 * wearer.figure.span))
    clear = cv2.erode((dressed.garment > 0.99).astype(np.uint8), np.ones((2 * margin + 1,) * 2, np.uint8))
    free = set()
    for name, corners in printed.items():
        x0, y0 = corners.min(0)
        x1, y1 = corners.max(0)
        inside = (trunk.map.x > x0) & (trunk.map.x < x1) & (trunk.map.y > y0) & (trunk.map.y < y1)
        whole = not (inside[[0, -1]].any() or inside[:, [0, -1]].any())  # the picture does not cut it
        if inside.sum() > 150 and whole and clear[trunk.box.slices][inside].all():
            free.add(name)
    return set(printed), {name: anisotropy(printed[name], read[name]) for name in read if name in printed}, free


@pytest.mark.parametrize("person", PEOPLE)
def test_every_free_marker_on_a_tee_is_read_and_hardly_stretched(person: str, wearer: Callable[[str], Wearer]) -> None:
    garment = top(board_print((900, 900), 300, 230, 300, 375))
    printed, stretched, free = seen(garment, wearer(person))
    assert len(printed) == 10
    assert len(free) >= 2
    assert free <= set(stretched), f"not read: {sorted(free - set(stretched))}"
    assert max(stretched[name] for name in free) <= 1.25


@pytest.mark.parametrize("person", PEOPLE[:5])
def test_every_free_marker_on_a_dress_is_read_and_hardly_stretched(
    person: str, wearer: Callable[[str], Wearer]
) -> None:
    garment = dress(board_print((900, 1200), 290, 240, 320, 400))
    _, stretched, free = seen(garment, wearer(person))
    assert len(free) >= 4
    assert free <= set(stretched), f"not read: {sorted(free - set(stretched))}"
    assert max(stretched[name] for name in free) <= 1.25


def test_the_detector_would_notice_a_garment_stretched_by_a_half() -> None:
    picture = board_print((900, 900), 300, 230, 300, 375)
    before = markers(picture)
    after = markers(np.asarray(cv2.resize(picture, None, fx=1.5, fy=1.0), np.uint8))
    assert min(anisotropy(before[name], after[name]) for name in after) > 1.4
