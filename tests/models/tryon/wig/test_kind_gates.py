"""What is no wig, hangs upwards or is nowhere placed is refused by name; hair is taken."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from models.tryon.wig.asset import WigAsset
from models.tryon.wig.ingest import ingest_wig
from models.tryon.wig.pins import pinned
from services.domain.errors import ContentRejected, InvalidRequest
from tests.drawn_products import bob, tee, trousers
from tests.models.tryon.garment.drawn_garments import drawn_garment

PINS = {"right_ear": (0.3, 0.5), "left_ear": (0.7, 0.5), "chin": (0.5, 0.8)}


def _code(photo: Path, pins: dict[str, tuple[float, float]] | None = None) -> str | None:
    try:
        ingest_wig(photo, pins=pins)
    except ContentRejected as error:
        return error.code
    return None


def _saved(pixels: np.ndarray, folder: Path) -> Path:
    Image.fromarray(np.ascontiguousarray(pixels)).save(folder / "photo.png")
    return folder / "photo.png"


@pytest.mark.parametrize("pins", [None, PINS], ids=["no pins", "pins"])
@pytest.mark.parametrize("make", [tee, trousers])
def test_a_garment_is_no_wig(make: Callable[[], bytes], pins: dict[str, tuple[float, float]], tmp_path: Path) -> None:
    (tmp_path / "photo.png").write_bytes(make())
    assert _code(tmp_path / "photo.png", pins) == "product_wrong_kind"


def test_a_skirt_is_no_wig(tmp_path: Path) -> None:
    assert _code(_saved(drawn_garment("skirt").rgb, tmp_path)) == "product_wrong_kind"


def test_a_drawn_bob_is_taken_and_refused_on_its_head(tmp_path: Path) -> None:
    (tmp_path / "bob.png").write_bytes(bob())
    assert _code(tmp_path / "bob.png") is None
    turned = np.array(Image.open(tmp_path / "bob.png"))[::-1, ::-1]
    assert _code(_saved(turned, tmp_path)) == "product_upside_down"


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_a_head_that_does_not_stand_upright_is_refused(
    presenter: Callable[[str], np.ndarray], turns: int, tmp_path: Path
) -> None:
    assert _code(_saved(np.rot90(presenter("vera"), turns), tmp_path)) == "product_upside_down"


def test_hair_without_an_opening_needs_pins(tmp_path: Path) -> None:
    y, x = np.mgrid[:300, :300]
    ball = np.zeros((300, 300, 4), np.uint8)
    ball[...] = np.where((np.hypot(x - 150, y - 150) < 120)[..., None], (80, 50, 30, 255), 0)
    photo = _saved(ball, tmp_path)

    assert _code(photo) == "pins_needed"
    assert _code(photo, PINS) is None


@pytest.mark.parametrize(
    "pins",
    [
        {"chin": (0.5, 0.0), "forehead": (0.5, 1.0)},
        {"right_ear": (0.7, 0.5), "left_ear": (0.3, 0.5)},
        {"right_eye": (0.4, 0.4), "left_eye": (0.6, 0.4), "mouth": (0.5, 0.3)},
        {"right_ear": (0.25, 0.5), "left_ear": (0.75, 0.5), "nose": (1.4, 0.5)},
        {"right_ear": (0.5, 0.5), "left_ear": (0.501, 0.5)},
    ],
    ids=["upside down", "mirrored", "mouth above the eyes", "nose beside the ear", "one spot"],
)
def test_pins_that_no_head_has_are_refused(pins: dict[str, tuple[float, float]]) -> None:
    with pytest.raises(InvalidRequest) as refused:
        pinned(None, pins, 400, 300)
    assert refused.value.code == "pins_contradictory"


def test_pins_of_a_tilted_head_are_taken(wig: WigAsset) -> None:
    turn = np.radians(25)
    matrix = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    points = (wig.landmarks[:, :2] - 200) @ matrix.T + 200
    pins = {name: tuple(points[index] / 400) for name, index in (("right_ear", 234), ("left_ear", 454), ("chin", 152))}
    assert pinned(None, pins, 400, 400) is not None


def test_a_shared_jacket_is_no_wig(shared_data: Path) -> None:
    assert _code(shared_data / "garments" / "denim_jacket.jpg") == "product_wrong_kind"
