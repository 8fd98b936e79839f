"""Garments drawn with known points, and what shops really send, taken in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from models.tryon.garment.asset import GarmentAsset
from models.tryon.garment.ingest import ingest_garment
from models.tryon.garment.landmarks import SleeveKind
from services.domain.errors import ContentRejected, InvalidRequest
from services.domain.product import GarmentCategory, ProductView
from tests.models.tryon.garment.drawn_garments import DrawnGarment, drawn_garment, seen_corners

Pixels = NDArray[np.uint8]
HEIGHT = 500
CATEGORIES = {
    "tee": GarmentCategory.TOP,
    "long_sleeve": GarmentCategory.TOP,
    "tank": GarmentCategory.TOP,
    "dress": GarmentCategory.DRESS,
    "skirt": GarmentCategory.SKIRT,
    "trousers": GarmentCategory.TROUSERS,
}
SLEEVES = {
    "tee": SleeveKind.SLEEVED,
    "long_sleeve": SleeveKind.SLEEVED,
    "tank": SleeveKind.SLEEVELESS,
    "dress": SleeveKind.SLEEVED,
    "skirt": SleeveKind.NONE,
    "trousers": SleeveKind.NONE,
}
COMPARED = ("collar", "shoulder", "armpit", "cuff", "hem", "leg", "crotch")


def save(garment: DrawnGarment | Pixels, folder: Path) -> Path:
    path = folder / "garment.png"
    Image.fromarray(garment.rgb if isinstance(garment, DrawnGarment) else garment).save(path)
    return path


def moved(asset: GarmentAsset, garment: DrawnGarment) -> NDArray[np.intp]:
    """From pixels of the asset to pixels of the photo, by the box that both show."""
    ours, theirs = np.argwhere(asset.picture_rgba[:, :, 3] > 127).min(0), np.argwhere(garment.mask).min(0)
    return np.asarray((theirs - ours)[::-1])


@pytest.mark.parametrize("kind", CATEGORIES)
def test_drawn_garment_is_recognised_and_its_points_are_found(kind: str, tmp_path: Path) -> None:
    garment = drawn_garment(kind, height=HEIGHT)
    asset = ingest_garment(save(garment, tmp_path))
    assert asset.category is CATEGORIES[kind]
    assert asset.sleeves is SLEEVES[kind]
    shift = moved(asset, garment)
    for name, point in garment.landmarks.items():
        if name.startswith(COMPARED):
            error = np.hypot(*(np.asarray(asset.landmarks[name]) + shift - point)) / HEIGHT
            assert error < 0.05, (name, error)


@pytest.mark.parametrize("kind", ["tee", "trousers"])
def test_mask_is_the_drawn_one(kind: str, tmp_path: Path) -> None:
    garment = drawn_garment(kind, height=HEIGHT)
    asset = ingest_garment(save(garment, tmp_path))
    rows, columns = np.nonzero(asset.picture_rgba[:, :, 3] > 127)
    right, down = moved(asset, garment)
    found = np.zeros_like(garment.mask)
    found[rows + down, columns + right] = True
    assert (found & garment.mask).sum() / (found | garment.mask).sum() > 0.98


def test_white_on_near_white_is_told_apart(tmp_path: Path) -> None:
    garment = drawn_garment("tee", height=HEIGHT, color=(238, 240, 248), ground=(231, 231, 224), noise=0.7)
    asset = ingest_garment(save(garment, tmp_path))
    found = (asset.picture_rgba[:, :, 3] > 127).sum()
    assert abs(found / garment.mask.sum() - 1) < 0.04
    assert asset.sleeves is SleeveKind.SLEEVED


def test_textured_ground_and_stripes_do_not_mix(tmp_path: Path) -> None:
    garment = drawn_garment("tee", height=HEIGHT)
    rows, columns = np.mgrid[: garment.mask.shape[0], : garment.mask.shape[1]]
    boards = 90 + 20 * np.sin(columns / 9) + 12 * np.sin(columns / 2.3 + rows / 50)
    photo = np.where(
        garment.mask[:, :, None],
        np.where((rows // 25 % 2)[:, :, None], (60, 190, 200), (235, 225, 220)),
        boards[:, :, None] * np.asarray((1.0, 0.95, 0.9)),
    ).astype(np.uint8)
    asset = ingest_garment(save(photo, tmp_path))
    assert abs((asset.picture_rgba[:, :, 3] > 127).sum() / garment.mask.sum() - 1) < 0.05


def test_sides_are_the_wearers(tmp_path: Path) -> None:
    path = save(drawn_garment("tee", height=HEIGHT), tmp_path)
    front = ingest_garment(path)
    back = ingest_garment(path, view=ProductView.BACK)
    assert front.landmarks["cuff_left_outer"][0] > front.landmarks["cuff_right_outer"][0]
    assert back.landmarks["cuff_left_outer"][0] < back.landmarks["cuff_right_outer"][0]


@pytest.mark.parametrize("degrees", [-12, 9])
def test_tilted_product_is_straightened(degrees: int, tmp_path: Path) -> None:
    garment = drawn_garment("tee", height=HEIGHT)
    tilted = Image.fromarray(garment.rgb).rotate(degrees, expand=True, fillcolor=(236, 236, 232))
    asset = ingest_garment(save(np.asarray(tilted), tmp_path))
    left, right = (np.asarray(asset.landmarks[f"hem_{side}"]) for side in ("left", "right"))
    assert abs(np.degrees(np.arctan2(*(left - right)[::-1]))) < 1.6


def test_print_keeps_its_shape_in_the_cutout(tmp_path: Path) -> None:
    garment = drawn_garment("tee", height=700, with_board=True)
    asset = ingest_garment(save(garment, tmp_path))
    before, after = seen_corners(garment.rgb, garment.board), seen_corners(asset.picture_rgba[:, :, :3], garment.board)
    assert len(after) == len(before) == 48
    shift = moved(asset, garment)
    assert max(np.hypot(*(np.asarray(after[number]) + shift - before[number])) for number in before) < 1.5


def test_alpha_of_a_cut_out_picture_is_kept(tmp_path: Path) -> None:
    garment = drawn_garment("tee", height=HEIGHT, ground=(180, 40, 50))
    asset = ingest_garment(save(garment.rgba, tmp_path))
    assert (asset.picture_rgba[:, :, 3] > 127).sum() == pytest.approx(garment.mask.sum(), rel=0.01)
    solid = asset.picture_rgba[asset.picture_rgba[:, :, 3] == 255][:, :3].astype(int)
    assert np.abs(solid - (180, 40, 50)).mean() < 2


def test_pin_wins_over_what_is_found(tmp_path: Path) -> None:
    garment = drawn_garment("tee", height=HEIGHT)
    x, y = garment.landmarks["armpit_left"][0] - 20, garment.landmarks["armpit_left"][1] + 30
    height, width = garment.mask.shape
    asset = ingest_garment(save(garment, tmp_path), pins={"armpit_left": (x / width, y / height)})
    assert np.asarray(asset.landmarks["armpit_left"]) + moved(asset, garment) == pytest.approx((x, y), abs=2)


@pytest.mark.parametrize("pins", [{"crotch": (0.5, 0.5)}, {"elbow": (0.5, 0.5)}, {"hem_left": (1.2, 0.5)}])
def test_unknown_pin_or_place_outside_is_told(pins: dict[str, tuple[float, float]], tmp_path: Path) -> None:
    path = save(drawn_garment("tee", height=HEIGHT), tmp_path)
    with pytest.raises(InvalidRequest, match=next(iter(pins))) as caught:
        ingest_garment(path, pins=pins)
    assert caught.value.code == "pins_unknown"


def _cropped() -> Pixels:
    return drawn_garment("tee", height=HEIGHT).rgb[: int(0.75 * HEIGHT)]


def _two() -> Pixels:
    rgb = drawn_garment("tee", height=HEIGHT).rgb
    return np.concatenate([rgb, rgb], axis=1)


def _inverted() -> Pixels:
    rgba = drawn_garment("tee", height=HEIGHT).rgba
    rgba[:, :, 3] = 255 - rgba[:, :, 3]
    return rgba


def _blurred() -> Pixels:
    import cv2

    return np.asarray(cv2.GaussianBlur(drawn_garment("tee", height=HEIGHT, noise=0).rgb, (0, 0), 14), np.uint8)


REFUSED = {
    "product_empty": lambda: np.full((400, 300, 3), 230, np.uint8),
    "product_touches_frame": _cropped,
    "product_several": _two,
    "product_polarity": _inverted,
    "product_low_resolution": lambda: drawn_garment("tee", height=100).rgb,
    "product_blurred": _blurred,
}


@pytest.mark.parametrize("code", REFUSED)
def test_photo_that_cannot_be_used_is_refused_by_name(code: str, tmp_path: Path) -> None:
    with pytest.raises(ContentRejected) as caught:
        ingest_garment(save(REFUSED[code](), tmp_path))
    assert caught.value.code == code


def test_cutout_without_anything_in_it_is_empty(tmp_path: Path) -> None:
    with pytest.raises(ContentRejected) as caught:
        ingest_garment(save(np.zeros((300, 300, 4), np.uint8), tmp_path))
    assert caught.value.code == "product_empty"


def test_file_that_is_no_picture_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "garment.txt"
    path.write_text("a shirt")
    with pytest.raises(ContentRejected) as caught:
        ingest_garment(path)
    assert caught.value.code == "unsupported_media"


def test_lining_between_open_halves_is_inside(tmp_path: Path) -> None:
    garment = drawn_garment("tank", height=HEIGHT, color=(70, 60, 55))
    photo = garment.rgb.copy()
    middle, half = photo.shape[1] // 2, round(0.035 * HEIGHT)
    strip = np.s_[round(0.26 * HEIGHT) : round(1.1 * HEIGHT), middle - half : middle + half]
    photo[strip] = np.where(garment.mask[strip][:, :, None], (150, 160, 175), photo[strip])
    asset = ingest_garment(save(photo, tmp_path), category=GarmentCategory.JACKET)
    closed = ingest_garment(save(garment, tmp_path), category=GarmentCategory.JACKET)
    assert asset.open_front
    assert not closed.open_front
    x, y = (asset.landmarks["hem_middle"][0], asset.landmarks["waist_left"][1])
    assert asset.inner[int(y), int(x)] > 240
    assert asset.inner[int(y), int(x + 0.1 * HEIGHT)] == 0
    assert asset.front_alpha[int(y), int(x)] < 15


def test_asset_survives_being_stored(tmp_path: Path) -> None:
    asset = ingest_garment(save(drawn_garment("tee", height=HEIGHT), tmp_path))
    asset.save(tmp_path / "stored")
    loaded = GarmentAsset.load(tmp_path / "stored")
    assert np.array_equal(loaded.picture_rgba, asset.picture_rgba)
    assert np.array_equal(loaded.inner, asset.inner)
    assert (loaded.category, loaded.view, loaded.sleeves) == (asset.category, asset.view, asset.sleeves)
    assert loaded.landmarks.keys() == asset.landmarks.keys()
    for name, point in asset.landmarks.items():
        assert loaded.landmarks[name] == pytest.approx(point, abs=0.01)
    assert np.abs(loaded.outline - asset.outline).max() < 0.01


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "garment.png").write_bytes(b"\x89PNG"),
        lambda folder: (folder / "garment.json").unlink(),
        lambda folder: (folder / "garment.json").write_text('{"version": 1, "landmarks": []}'),
        lambda folder: (folder / "garment.json").write_text('{"version": 99}'),
    ],
)
def test_damaged_or_foreign_stored_asset_is_told(damage: object, tmp_path: Path) -> None:
    folder = tmp_path / "stored"
    ingest_garment(save(drawn_garment("skirt", height=300), tmp_path)).save(folder)
    damage(folder)  # type: ignore[operator]
    with pytest.raises(ContentRejected) as caught:
        GarmentAsset.load(folder)
    assert caught.value.code == "product_asset_unreadable"


def test_outline_between_two_points_follows_the_sleeve(tmp_path: Path) -> None:
    asset = ingest_garment(save(drawn_garment("tee", height=HEIGHT), tmp_path))
    sleeve = asset.outline_between("shoulder_left", "armpit_left")
    assert np.hypot(*(sleeve[0] - asset.landmarks["shoulder_left"])) < 4
    assert np.hypot(*(sleeve[-1] - asset.landmarks["armpit_left"])) < 4
    cuff = np.asarray(asset.landmarks["cuff_left_outer"])
    assert np.hypot(*(sleeve - cuff).T).min() < 4


SAMPLES = Path(__file__).parents[5] / "shared" / "data" / "garments"


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="needs the sample photos")
def test_back_view_that_was_not_told_is_refused_unless_a_pin_says_front() -> None:
    photo = SAMPLES / "bandana_shirt_back.jpg"
    with pytest.raises(ContentRejected) as caught:
        ingest_garment(photo)
    assert caught.value.code == "product_back_view"
    pinned = ingest_garment(photo, pins={"neck_front": (0.5, 0.2)})
    assert "product_back_view" in {reason.code for reason in pinned.quality}


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="needs the sample photos")
def test_front_view_is_not_taken_for_a_back() -> None:
    asset = ingest_garment(SAMPLES / "oxford_shirt.jpg")
    assert "product_back_view" not in {reason.code for reason in asset.quality}
    assert asset.inner.any()


def test_a_canceled_ingest_stops_between_its_steps(tmp_path: Path) -> None:
    class CanceledError(Exception):
        pass

    calls: list[int] = []

    def canceled_at_the_second_look() -> None:
        calls.append(1)
        if len(calls) == 2:
            raise CanceledError

    photo = save(drawn_garment("skirt", height=300), tmp_path)
    with pytest.raises(CanceledError):
        ingest_garment(photo, check_canceled=canceled_at_the_second_look)
    assert len(calls) == 2


def test_a_photo_that_is_no_picture_is_called_as_the_client_knows_it(tmp_path: Path) -> None:
    (tmp_path / "photo_0.jpg").write_text("hello")
    with pytest.raises(ContentRejected) as caught:
        ingest_garment(tmp_path / "photo_0.jpg", name="the front photo")
    assert caught.value.detail == '"the front photo" is no picture.'
