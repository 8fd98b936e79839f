"""Products of another kind, on their heads or told to be something else are refused by name; good ones never are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from models import weights
from models.tryon.garment.ingest import ingest_garment
from models.tryon.garment.preview import front_of
from services.domain.errors import ContentRejected, InvalidRequest
from services.domain.product import GarmentCategory, ProductView
from tests.models.tryon.garment.drawn_garments import KINDS, drawn_garment

OWN = {
    "tee": GarmentCategory.TOP,
    "long_sleeve": GarmentCategory.TOP,
    "tank": GarmentCategory.TOP,
    "dress": GarmentCategory.DRESS,
    "skirt": GarmentCategory.SKIRT,
    "trousers": GarmentCategory.TROUSERS,
}


def _photo(kind: str, folder: Path, *, turns: int = 0) -> Path:
    path = folder / "garment.png"
    Image.fromarray(np.ascontiguousarray(np.rot90(drawn_garment(kind, height=400).rgb, turns))).save(path)
    return path


def _code(photo: Path, category: GarmentCategory | None = None) -> str | None:
    try:
        ingest_garment(photo, category=category)
    except ContentRejected as error:
        return error.code
    return None


@pytest.mark.parametrize("kind", KINDS)
def test_told_category_that_is_right_is_taken(kind: str, tmp_path: Path) -> None:
    assert ingest_garment(_photo(kind, tmp_path), category=OWN[kind]).category is OWN[kind]


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("trousers", GarmentCategory.DRESS),
        ("trousers", GarmentCategory.SKIRT),
        ("long_sleeve", GarmentCategory.TROUSERS),
        ("skirt", GarmentCategory.TROUSERS),
        ("skirt", GarmentCategory.JACKET),
        ("tee", GarmentCategory.SKIRT),
    ],
)
def test_category_that_the_outline_rules_out_is_refused(kind: str, told: GarmentCategory, tmp_path: Path) -> None:
    assert _code(_photo(kind, tmp_path), told) == "category_contradicted"


@pytest.mark.parametrize("kind", ["tee", "long_sleeve", "trousers"])
def test_garment_on_its_head_is_refused(kind: str, tmp_path: Path) -> None:
    assert _code(_photo(kind, tmp_path, turns=2)) == "product_upside_down"


def test_face_in_place_of_a_garment_is_refused() -> None:
    assert _code(weights.path("avatar-vera"), GarmentCategory.TOP) in {"product_wrong_kind", "product_touches_frame"}


def test_person_cut_out_is_no_garment(tmp_path: Path) -> None:
    from models.perception.analyst import shared_analyst

    picture = np.array(Image.open(weights.path("model-ellen-office")).convert("RGB"))
    seen = shared_analyst().body(picture)
    alpha = np.array(Image.fromarray(np.uint8(seen.person * 255)).resize(picture.shape[1::-1]))
    alpha[:8], alpha[-8:], alpha[:, :8], alpha[:, -8:] = 0, 0, 0, 0
    Image.fromarray(np.dstack([picture, alpha])).save(tmp_path / "person.png")

    assert _code(tmp_path / "person.png", GarmentCategory.DRESS) == "product_wrong_kind"


@pytest.mark.parametrize(
    "pins",
    [
        {"collar_left": (0.5, 0.9)},
        {"hem_left": (0.6, 0.1)},
        {"shoulder_left": (0.3, 0.15), "shoulder_right": (0.7, 0.15)},
    ],
)
def test_pins_that_no_garment_has_are_refused(pins: dict[str, tuple[float, float]], tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest) as refused:
        ingest_garment(_photo("tee", tmp_path), pins=pins)
    assert refused.value.code == "pins_contradictory"


def test_preview_needs_a_photo_of_the_front(tmp_path: Path) -> None:
    photo = _photo("tee", tmp_path)
    back, front = ingest_garment(photo, view=ProductView.BACK), ingest_garment(photo)

    assert front_of([back, front]) is front
    with pytest.raises(ContentRejected) as refused:
        front_of([back])
    assert refused.value.code == "product_not_ready"


@pytest.mark.parametrize(
    ("name", "told", "code"),
    [
        ("jeans", GarmentCategory.DRESS, "category_contradicted"),
        ("denim_jacket", GarmentCategory.TROUSERS, "category_contradicted"),
        ("skirt_red_real", GarmentCategory.TROUSERS, "category_contradicted"),
        ("jeans", GarmentCategory.TROUSERS, None),
        ("dress_pink_real", GarmentCategory.DRESS, None),
        ("overalls", GarmentCategory.OVERALL, None),
    ],
)
def test_shared_garments_under_a_told_category(
    shared_data: Path, name: str, told: GarmentCategory, code: str | None
) -> None:
    assert _code(shared_data / "garments" / f"{name}.jpg", told) == code


def test_shared_portrait_is_no_top(shared_data: Path) -> None:
    assert _code(shared_data / "hair" / "ref_pink_bob.jpg", GarmentCategory.TOP) == "product_wrong_kind"
