"""Whole previews on the shared pictures: what changes, what stays, what is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from models.perception.analysis_cache import AnalysisCache
from models.tryon.garment.asset import GarmentAsset
from models.tryon.garment.dress import dress as put_on
from models.tryon.garment.figure import Side
from models.tryon.garment.preview import GarmentInputs, make_garment_preview
from models.tryon.garment.wearer import Wearer, capsule
from models.tryon.previews import Previews
from services.domain.errors import ContentRejected
from services.domain.picture_storyboards import GarmentStoryboard, ModelShot, ProductShot
from services.domain.product import GarmentCategory, QualityReason
from services.domain.storyboard import BackgroundShot
from services.domain.video import BackgroundKind, Disclosure
from tests.models.tryon.garment.worn import dress, plain, top, trousers

DENIM = "persons/woman_denim_full.png"
ROOM = "persons/man_room_full.jpg"
BARE_ARMS = "persons/cgi_dress_full.jpg"
LONG_HAIR = "portraits/woman_smile_tilt.jpg"
PORTRAIT = "portraits/man_shirt_ai.png"


def storyboard(**changes: Any) -> GarmentStoryboard:
    values: dict[str, Any] = {
        "job_id": "job_test",
        "model": ModelShot(key="model"),
        "garment": (ProductShot(photo_key="garment"),),
        "background": BackgroundShot(kind=BackgroundKind.ORIGINAL),
        "disclosure": Disclosure(visible_label=False),
    }
    return GarmentStoryboard(**(values | changes))


def preview(photo: Path, asset: GarmentAsset, out: Path, **changes: Any) -> Previews:
    inputs = GarmentInputs(storyboard=storyboard(**changes), model=photo, assets=[asset])
    return make_garment_preview(inputs, out_dir=out)


def pixels(path: Path) -> NDArray[np.uint8]:
    return np.array(Image.open(path).convert("RGB"))


@pytest.mark.parametrize("person", [DENIM, LONG_HAIR])
def test_pixels_beside_the_garment_are_the_photos_own_and_the_face_is(
    person: str, shared_data: Path, tmp_path: Path, wearer: Callable[[str], Wearer]
) -> None:
    photo = pixels(shared_data / person)
    made = preview(shared_data / person, top(), tmp_path)
    picture = pixels(made.files["picture"])
    mask = np.array(Image.open(made.files["mask"]))
    assert picture.shape == photo.shape
    np.testing.assert_array_equal(picture[mask == 0], photo[mask == 0])
    assert 0.02 < (mask > 0).mean() < 0.7
    face = wearer(person).face
    assert face is not None
    scale = photo.shape[0] / wearer(person).rgb.shape[0]
    left, upper = face.points[:, :2].min(0) * scale
    right, lower = face.points[:, :2].max(0) * scale
    box = np.s_[int(upper) : int(lower - 0.12 * (lower - upper)), int(left) + 4 : int(right) - 4]
    np.testing.assert_array_equal(picture[box], photo[box])


def test_the_mask_covers_everything_that_changed(shared_data: Path, tmp_path: Path) -> None:
    made = preview(shared_data / ROOM, top(), tmp_path)
    changed = (pixels(made.files["picture"]) != pixels(shared_data / ROOM)).any(2)
    assert (np.array(Image.open(made.files["mask"]))[changed] > 0).all()


def garment_pixels(picture: NDArray[np.uint8], color: tuple[int, int, int]) -> NDArray[np.bool_]:
    """Pixels of a garment's hue, however shaded."""
    light = np.maximum(picture.astype(np.float32).sum(2), 1)
    wanted = np.array(color, np.float32) / sum(color)
    return np.asarray(np.abs(picture / light[..., None] - wanted).max(2) < 0.06)


def test_a_dress_goes_down_to_its_own_hem_and_the_trousers_below_it_are_gone(wearer: Callable[[str], Wearer]) -> None:
    person = wearer(DENIM)
    dressed = put_on(person, dress(plain((200, 30, 40), (900, 1200))))
    picture = dressed.canvas.picture()
    red = garment_pixels(picture, (200, 30, 40)) & (dressed.garment > 0.9)
    rows = np.flatnonzero(red.sum(1) > 0.3 * person.figure.span)
    # By hand: 1020 of the product's pixels from shoulder to hem, 400 across the chest, so 2.55 chests long; a chest
    # is about 1.2 shoulder joints wide.
    length = (rows[-1] - rows[0]) / person.figure.span
    assert 2.4 < length < 3.6
    knee = person.figure.legs[Side.LEFT].joints[1]
    ankle = person.figure.legs[Side.LEFT].joints[2]
    below = capsule(picture.shape, np.stack([knee + 0.3 * (ankle - knee), knee + 0.8 * (ankle - knee)]), 6) > 0
    was, now = person.rgb[below].astype(int).mean(0), picture[below].astype(int).mean(0)
    assert was[2] > was[0]  # blue jeans
    assert now[0] > now[1] > now[2]  # skin


def test_shoes_stay(wearer: Callable[[str], Wearer]) -> None:
    person = wearer(DENIM)
    picture = put_on(person, dress()).canvas.picture()
    shoes = person.shoes > 0.95
    assert shoes.sum() > 500
    assert (np.abs(picture.astype(int) - person.rgb)[shoes].max(1) > 12).mean() < 0.1


def test_arms_of_an_old_jacket_are_bare_under_a_sleeveless_dress(wearer: Callable[[str], Wearer]) -> None:
    person = wearer(DENIM)
    picture = put_on(person, dress()).canvas.picture()
    for arm in person.figure.arms.values():
        middle = (arm.joints[1] + arm.joints[2]) / 2
        zone = capsule(picture.shape, np.stack([arm.joints[1], middle]), 4) > 0
        assert person.rgb[zone].mean() < 60  # the black sleeve
        red, green, blue = picture[zone].astype(float).mean(0)
        assert red > green > blue
        assert red > 120


def test_a_long_sleeve_covers_a_bare_arm_to_the_wrist_and_no_further(wearer: Callable[[str], Wearer]) -> None:
    person = wearer(BARE_ARMS)
    dressed = put_on(person, top(sleeve=560.0))
    for side, arm in person.figure.arms.items():
        along = [arm.joints[0] + share * (arm.joints[1] - arm.joints[0]) for share in (0.4, 0.7)]
        along += [arm.joints[1] + share * (arm.joints[2] - arm.joints[1]) for share in (0.2, 0.5, 0.8)]
        for x, y in along:
            assert dressed.garment[round(float(y)), round(float(x))] > 0.9, side
        x, y = arm.tip
        assert dressed.garment[round(float(y)), round(float(x))] < 0.1


def test_sleeves_have_no_wings(wearer: Callable[[str], Wearer]) -> None:
    person = wearer(BARE_ARMS)
    dressed = put_on(person, top(sleeve=560.0))
    arms = np.maximum.reduce(
        [capsule(dressed.garment.shape, arm.joints, 0.32 * person.figure.span) for arm in person.figure.arms.values()]
    )
    sleeves = np.zeros(dressed.garment.shape, bool)
    for layer in dressed.layers:
        if layer.name.startswith("sleeve"):
            sleeves[layer.box.slices] |= layer.alpha > 0.5
    assert (sleeves & (arms == 0)).sum() < 0.02 * sleeves.sum()


def test_long_hair_and_hands_stay_in_front(wearer: Callable[[str], Wearer]) -> None:
    person = wearer(LONG_HAIR)
    picture = put_on(person, top()).canvas.picture()
    strands = person.hair >= 1
    below_chin = np.arange(len(picture))[:, None] > person.chin[1]
    assert (strands & below_chin).sum() > 2000
    np.testing.assert_array_equal(picture[strands], person.rgb[strands])
    other = wearer(ROOM)
    hands = np.maximum(*other.hands.values()) >= 1
    assert hands.sum() > 200
    dressed = put_on(other, dress())
    for side, wrist in dressed.removal.wrists.items():  # there the skin of the arm that was made runs into the hand
        box, _ = dressed.removal.arm_colours[side]
        reach = 0.15 * other.figure.arms[side].length
        assert np.ptp(np.nonzero((wrist > 0) & (hands[box.slices]))[0]) < reach
        hands[box.slices] &= wrist <= 0
    assert hands.sum() > 200
    np.testing.assert_array_equal(dressed.canvas.picture()[hands], other.rgb[hands])


def test_what_is_worn_above_the_waist_stays_over_trousers(wearer: Callable[[str], Wearer]) -> None:
    person = wearer(ROOM)
    picture = put_on(person, trousers()).canvas.picture()
    solid = person.upper >= 1
    np.testing.assert_array_equal(picture[solid], person.rgb[solid])
    leg = person.figure.legs[Side.RIGHT]
    zone = capsule(picture.shape, (leg.joints[0] + leg.joints[1])[None].repeat(2, 0) / 2, 8) > 0
    assert garment_pixels(picture, (30, 120, 60))[zone].all()


def test_white_on_white_is_seen(wearer: Callable[[str], Wearer]) -> None:
    person = wearer(BARE_ARMS)  # before a white wall, in a white dress
    dressed = put_on(person, top(plain((250, 250, 250))))
    light = dressed.canvas.picture().astype(np.float32).mean(2)
    inside = light[dressed.garment > 0.99]
    wall = float(np.median(person.rgb[:40, :40].mean(2)))
    assert np.percentile(inside, 50) > 170
    assert np.percentile(inside, 97) - np.percentile(inside, 3) > 25
    import cv2

    solid = (dressed.garment > 0.5).astype(np.uint8)
    rim = (solid - cv2.erode(solid, np.ones((7, 7), np.uint8))) > 0
    assert (np.abs(light[rim] - wall) > 6).mean() > 0.7


def test_a_garment_keeps_its_shape_on_a_picture_of_any_aspect(
    shared_data: Path, tmp_path: Path, wearer: Callable[[str], Wearer]
) -> None:
    """A wide picture with the same person gives the same garment, moved."""
    photo = pixels(shared_data / ROOM)
    wide = np.pad(photo, ((0, 0), (300, 300), (0, 0)), mode="edge")
    Image.fromarray(wide).save(tmp_path / "wide.png")
    made = [preview(path, top(), tmp_path) for path in (shared_data / ROOM, tmp_path / "wide.png")]
    assert pixels(made[1].files["picture"]).shape == wide.shape
    assert made[0].facts["anisotropy"] == pytest.approx(made[1].facts["anisotropy"], abs=0.12)


def test_without_hips_a_top_hangs_from_the_shoulders_and_trousers_are_refused(
    shared_data: Path, tmp_path: Path
) -> None:
    made = preview(shared_data / PORTRAIT, top(), tmp_path)
    assert made.facts["hips_in_picture"] is False
    with pytest.raises(ContentRejected) as caught:
        preview(shared_data / PORTRAIT, trousers(), tmp_path)
    assert caught.value.code == "pose_not_usable"


def test_the_same_request_gives_the_same_bytes_with_and_without_the_cache(shared_data: Path, tmp_path: Path) -> None:
    cache = AnalysisCache(tmp_path / "cache")
    results = []
    for name, used in (("a", None), ("b", cache), ("c", cache)):
        (tmp_path / name).mkdir()
        inputs = GarmentInputs(storyboard=storyboard(), model=shared_data / ROOM, assets=[top()], cache=used)
        made = make_garment_preview(inputs, out_dir=tmp_path / name)
        results.append(made.files["picture"].read_bytes())
    assert results[0] == results[1] == results[2]


def test_a_new_background_is_all_round_the_dressed_person(shared_data: Path, tmp_path: Path) -> None:
    made = preview(
        shared_data / ROOM, top(), tmp_path, background=BackgroundShot(kind=BackgroundKind.COLOR, color="#ff00ff")
    )
    picture = pixels(made.files["picture"])
    assert (picture[:30, :30] == [255, 0, 255]).all()


def test_the_label_is_drawn_off_the_face(wearer: Callable[[str], Wearer], shared_data: Path, tmp_path: Path) -> None:
    for name in ("plain", "labelled"):
        (tmp_path / name).mkdir()
    plain_one = preview(shared_data / ROOM, top(), tmp_path / "plain")
    made = preview(shared_data / ROOM, top(), tmp_path / "labelled", disclosure=Disclosure())
    assert made.facts["visible_label"] is True
    drawn = (pixels(made.files["picture"]) != pixels(plain_one.files["picture"])).any(-1)
    assert drawn.sum() > 500
    face = Image.fromarray((wearer(ROOM).face_skin > 0.5).astype(np.uint8)).resize(drawn.shape[::-1])
    assert not (drawn & (np.asarray(face) > 0)).any()
    assert set(made.files) == set(made.marks) == {"picture", "mask", "sheet"}


def test_the_refiner_gets_what_was_made_up_and_may_not_touch_the_product(shared_data: Path, tmp_path: Path) -> None:
    told: dict[str, Any] = {}

    def refiner(picture_rgb: NDArray[np.uint8], **given: Any) -> tuple[NDArray[np.uint8], Mapping[str, Any]]:
        told.update(given)
        return picture_rgb, {"refined": True}

    inputs = GarmentInputs(
        storyboard=storyboard(refine=True, seed=7), model=shared_data / DENIM, assets=[dress()], refiner=refiner
    )
    made = make_garment_preview(inputs, out_dir=tmp_path)
    assert made.facts["refined"] is True
    assert told["seed"] == 7
    assert (told["seams"][told["protected"]] == 0).all()
    assert told["seams"].max() > 0.9
    assert told["protected"].sum() > 10_000


def test_a_canceled_job_stops(shared_data: Path, tmp_path: Path) -> None:
    class CanceledError(Exception):
        pass

    def stop() -> None:
        raise CanceledError

    inputs = GarmentInputs(storyboard=storyboard(), model=shared_data / ROOM, assets=[top()])
    with pytest.raises(CanceledError):
        make_garment_preview(inputs, out_dir=tmp_path, check_canceled=stop)
    assert not list(tmp_path.glob("picture*"))


def test_a_file_that_is_no_picture_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "x.png").write_text("hello")
    with pytest.raises(ContentRejected) as caught:
        preview(tmp_path / "x.png", top(), tmp_path)
    assert caught.value.code == "unreadable_media"


def test_an_open_jacket_shows_what_is_worn_under_it_and_covers_no_neck(wearer: Callable[[str], Wearer]) -> None:
    person = wearer(ROOM)
    closed = top(plain((160, 60, 20)), sleeve=560.0, category=GarmentCategory.JACKET)
    rgba = closed.picture_rgba.copy()
    inner = closed.inner.copy()
    inner[150:700, 410:490] = 255  # the lining between the two halves of the front
    import dataclasses

    asset = dataclasses.replace(closed, picture_rgba=rgba, inner=inner, open_front=True)
    dressed = put_on(person, asset)
    chest = person.figure.place(np.array([[0.0, 0.5 * person.figure.span]], np.float32))[0]
    x, y = (round(float(value)) for value in chest)
    np.testing.assert_allclose(
        dressed.canvas.picture()[y - 3 : y + 3, x - 3 : x + 3].astype(int),
        person.rgb[y - 3 : y + 3, x - 3 : x + 3],
        atol=25,
    )


def test_what_is_known_against_a_garment_is_told_with_its_preview(shared_data: Path, tmp_path: Path) -> None:
    askew = QualityReason(code="product_crooked", detail="The garment lies askew.", blocking=False)
    made = preview(shared_data / ROOM, replace(top(), quality=(askew,)), tmp_path)
    assert made.facts["warnings"] == ["The garment lies askew."]
