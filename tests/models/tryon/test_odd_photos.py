"""Photos of people as they really come, worn wigs and garments alike, on the built-in pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from models import weights
from models.tryon.garment.asset import GarmentAsset
from models.tryon.garment.preview import GarmentInputs, make_garment_preview
from models.tryon.previews import Previews
from models.tryon.wig.preview import WigInputs, make_wig_previews
from services.domain.errors import ContentRejected
from services.domain.picture_storyboards import GarmentStoryboard, ModelShot, ProductShot, WigStoryboard
from services.domain.storyboard import BackgroundShot
from services.domain.video import BackgroundKind, Disclosure
from tests.models.tryon.garment.worn import top, trousers
from tests.models.tryon.wig.conftest import ring_wig

COMMON: dict[str, Any] = {
    "job_id": "job_1",
    "model": ModelShot(key="uploads/model"),
    "background": BackgroundShot(kind=BackgroundKind.ORIGINAL),
    "disclosure": Disclosure(visible_label=False),
}


def wig_on(photo: Path, out_dir: Path) -> Previews:
    out_dir.mkdir(exist_ok=True)
    storyboard = WigStoryboard(wig=(ProductShot(photo_key="uploads/wig"),), **COMMON)
    return make_wig_previews(WigInputs(storyboard=storyboard, model=photo, assets=[ring_wig()]), out_dir=out_dir)


def garment_on(photo: Path, out_dir: Path, garment: GarmentAsset | None = None) -> Previews:
    out_dir.mkdir(exist_ok=True)
    storyboard = GarmentStoryboard(garment=(ProductShot(photo_key="uploads/garment"),), **COMMON)
    inputs = GarmentInputs(storyboard=storyboard, model=photo, assets=[garment or top()])
    return make_garment_preview(inputs, out_dir=out_dir)


def opened(name: str) -> Image.Image:
    with Image.open(weights.path(name)) as picture:
        return picture.convert("RGB")


@pytest.fixture
def portrait(tmp_path: Path) -> Path:
    opened("avatar-max").save(tmp_path / "portrait.png")
    return tmp_path / "portrait.png"


@pytest.fixture
def person(tmp_path: Path) -> Path:
    opened("model-vera-studio").save(tmp_path / "person.png")
    return tmp_path / "person.png"


def test_transparent_photo_is_worn_on_white_and_that_is_told(portrait: Path, person: Path, tmp_path: Path) -> None:
    for photo, role, make in ((portrait, "front", wig_on), (person, "picture", garment_on)):
        assert make(photo, tmp_path / "opaque").facts["warnings"] == []
        picture = Image.open(photo).convert("RGBA")
        corner = Image.new("L", picture.size, 255)
        corner.paste(0, (0, 0, 30, 30))
        picture.putalpha(corner)
        picture.save(tmp_path / "transparent.png")
        made = make(tmp_path / "transparent.png", tmp_path / "out")
        assert made.facts["warnings"] == ["Its transparent parts were laid on white (#ffffff)."]
        shown = np.asarray(Image.open(made.files[role]).convert("RGB"))
        assert (shown[:30, :30] == 255).all()


def test_large_photo_of_a_person_is_told_its_working_size_once(person: Path, tmp_path: Path) -> None:
    with Image.open(person) as picture:
        scale = (18_000_000 / (picture.width * picture.height)) ** 0.5
        large = picture.resize((round(picture.width * scale), round(picture.height * scale)))
    large.save(tmp_path / "large.jpg")
    made = garment_on(tmp_path / "large.jpg", tmp_path / "out")
    with Image.open(made.files["picture"]) as shown:
        size = shown.size
    assert made.facts["warnings"] == [f"Worked at {size[0]}x{size[1]} of {large.width}x{large.height} pixels."]


def extent(mask: Path) -> NDArray[np.float64]:
    """Left, right, upper and lower end of what changed, but for a few specks."""
    rows, columns = np.nonzero(np.asarray(Image.open(mask).convert("L")) > 0)
    return np.concatenate([np.percentile(columns, (1, 99)), np.percentile(rows, (1, 99))])


@pytest.mark.parametrize(("across", "down"), [(500, 0), (0, 600)])
def test_wig_keeps_its_shape_on_a_picture_of_any_aspect(person: Path, tmp_path: Path, across: int, down: int) -> None:
    photo: NDArray[np.uint8] = np.asarray(Image.open(person))  # whole, before seamless paper that goes on
    larger = np.pad(photo, ((0, down), (across, across), (0, 0)), mode="edge")
    Image.fromarray(larger).save(tmp_path / "larger.png")
    plain, moved = wig_on(person, tmp_path / "plain"), wig_on(tmp_path / "larger.png", tmp_path / "moved")
    with Image.open(moved.files["front"]) as shown:
        assert shown.size == (larger.shape[1], larger.shape[0])
    left, right, *rows = extent(plain.files["front_mask"])
    expected = np.array([left + across, right + across, *rows])
    assert np.abs(extent(moved.files["front_mask"]) - expected).max() < 0.05 * (right - left)


def test_stretch_of_a_print_is_told_where_it_is_measured(person: Path, tmp_path: Path) -> None:
    assert garment_on(person, tmp_path / "top").facts["anisotropy"] > 1.05
    assert garment_on(person, tmp_path / "trousers", trousers()).facts["anisotropy"] is None


def test_refusal_says_the_way_out_of_what_is_in_the_way(person: Path, tmp_path: Path) -> None:
    with Image.open(person) as picture:
        half = picture.crop((0, 0, picture.width, round(0.4 * picture.height)))
    half.save(tmp_path / "half.png")
    with pytest.raises(ContentRejected) as caught:
        garment_on(tmp_path / "half.png", tmp_path / "out", trousers())
    assert (caught.value.code, caught.value.param) == ("pose_not_usable", "model")
    assert "down to below the knees" in caught.value.detail
    assert "facing the camera" not in caught.value.detail
