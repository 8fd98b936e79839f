from __future__ import annotations

import cv2
import numpy as np
import pytest
from PIL import Image

from models.perception.analyst import WORKING_SIDE_PX, Analyst
from models.perception.pose import BodyPoint
from services.domain.errors import ContentRejected


@pytest.fixture(scope="module")
def analyst() -> Analyst:
    return Analyst()


@pytest.fixture(scope="module")
def body(shared_data, analyst):
    """The body analysis of one of the shared full-length pictures, at its own size."""
    known = {}

    def analyse(name: str):
        if name not in known:
            known[name] = analyst.body(np.array(Image.open(shared_data / "persons" / name).convert("RGB")))
        return known[name]

    return analyse


def at(mask, *places):
    """The least that the mask has in discs round places (x, y)."""
    found = []
    for x, y in places:
        disc = np.zeros(mask.shape, np.uint8)
        cv2.circle(disc, (x, y), 6, 1, -1)
        found.append(float(mask[disc > 0].mean()))
    return min(found)


# Places read off man_hoodie_full.png (768 x 1376) by eye.
CHEST, SLEEVE, TROUSERS, HAND, FACE, SHOE, WALL = (
    (370, 550),
    (245, 560),
    (330, 1000),
    (228, 780),
    (385, 265),
    (300, 1250),
    (100, 400),
)


def test_clothes_skin_and_shoes_of_a_standing_man_are_told_apart(body):
    man = body("man_hoodie_full.png")
    clothing, skin = man.clothing, man.skin
    assert at(clothing.upper, CHEST, SLEEVE) > 0.9
    assert at(clothing.lower, TROUSERS) > 0.9
    assert at(clothing.shoes, SHOE) > 0.8
    assert at(skin.mask, HAND, FACE) > 0.8
    assert at(skin.right_hand, HAND) > 0.7
    assert at(skin.left_hand, HAND) == 0
    assert at(clothing.sleeves, SLEEVE) > 0.7
    assert at(clothing.mask, FACE) < 0.1
    for mask in (clothing.mask, skin.mask, clothing.shoes, man.person):
        assert at(mask, WALL) == 0


def test_the_waist_is_where_the_hoodie_ends(body):
    assert body("man_hoodie_full.png").clothing.waist_y == pytest.approx(738, abs=12)  # read off the picture


def test_no_pixel_is_two_things_at_once(body):
    for name in ("man_hoodie_full.png", "woman_denim_full.png", "cgi_dress_full.jpg"):
        analysis = body(name)
        clothing, skin = analysis.clothing, analysis.skin
        total = skin.mask + clothing.upper + clothing.lower + clothing.shoes + analysis.hair.mask
        assert total.max() < 1.02, name
        assert (total - analysis.person).max() < 0.55, name  # hair alone reaches beyond the matte


def test_a_dress_is_one_piece_and_shows_legs_and_a_jacket_with_jeans_is_not(body):
    dress = body("cgi_dress_full.jpg")
    assert dress.clothing.is_one_piece
    knee = tuple(int(value) for value in dress.pose.at(BodyPoint.LEFT_KNEE))
    assert at(dress.skin.legs, (knee[0], knee[1] + 30)) > 0.7
    assert not body("woman_denim_full.png").clothing.is_one_piece
    assert not body("man_room_full.jpg").clothing.is_one_piece


def test_arms_that_hang_are_not_in_front_and_a_hand_on_the_chest_is(analyst, body, shared_data):
    assert body("man_hoodie_full.png").clothing.in_front.sum() < 0.01 * body("man_hoodie_full.png").person.sum()
    picture = np.array(Image.open(shared_data / "hair" / "ref_blonde_fringe.jpg").convert("RGB"))
    woman = analyst.body(picture)
    assert at(woman.clothing.in_front, (790, 930)) > 0.6  # the back of her hand, read off the picture
    assert at(woman.clothing.in_front, (350, 950)) < 0.1  # her chest


def test_hands_belong_to_the_person(body):
    man = body("man_room_full.jpg")
    for wrist, finger in ((BodyPoint.LEFT_WRIST, BodyPoint.LEFT_INDEX), (BodyPoint.RIGHT_WRIST, BodyPoint.RIGHT_INDEX)):
        x, y = (man.pose.at(wrist) * 0.4 + man.pose.at(finger) * 0.6).astype(int)
        assert man.person[y, x] > 0.8


def test_without_hair_asked_for_none_is_looked_for(analyst, body, shared_data):
    picture = np.array(Image.open(shared_data / "persons" / "woman_denim_full.png").convert("RGB"))
    assert analyst.body(picture, with_hair=False).hair is None
    assert body("woman_denim_full.png").hair.mask.sum() > 1000


def test_masks_are_float_from_0_to_1_in_steps_that_a_byte_holds(body):
    analysis = body("man_hoodie_full.png")
    for mask in (analysis.person, analysis.matte, analysis.skin.neck, analysis.clothing.upper):
        assert mask.dtype == np.float32
        assert mask.shape == analysis.rgb.shape[:2]
        assert 0 <= mask.min() <= mask.max() <= 1
        assert np.array_equal(np.rint(mask * 255).astype(np.uint8) / np.float32(255), mask)


def test_a_large_picture_is_analysed_at_a_bounded_size(analyst, presenter):
    large = cv2.resize(presenter, None, fx=4, fy=4, interpolation=cv2.INTER_LINEAR)
    analysis = analyst.portrait(large)
    assert max(analysis.rgb.shape) == WORKING_SIDE_PX
    assert analysis.hair.mask.shape == analysis.rgb.shape[:2]
    assert analysis.scale == pytest.approx(WORKING_SIDE_PX / max(large.shape))
    small = analyst.portrait(presenter)
    factor = analysis.rgb.shape[1] / presenter.shape[1]
    assert np.linalg.norm(analysis.face.points[1, :2] / factor - small.face.points[1, :2]) < 0.03 * small.face.width


def test_the_chosen_of_two_people_is_analysed_alone(analyst, portrait):
    picture = portrait("two_people_derived.jpg")
    for index in (0, 1):
        analysis = analyst.portrait(picture, face=index)
        assert analysis.face_index == index
        own, other = analysis.faces[index], analysis.faces[1 - index]
        assert inside(analysis.person, own) > 0.9
        assert inside(analysis.person, other) < 0.1
        assert inside(analysis.matte, other) > 0.9
        assert inside(analysis.skin.mask, other) < 0.1


def test_refusals_name_the_field(analyst, portrait):
    with pytest.raises(ContentRejected) as caught:
        analyst.portrait(portrait("noface_landscape.jpg"), param="model")
    assert (caught.value.code, caught.value.param) == ("face_not_found", "model")
    with pytest.raises(ContentRejected) as caught:
        analyst.portrait(portrait("two_people_derived.jpg"), face=2, param="model")
    assert (caught.value.code, caught.value.param) == ("face_index", "model.face")
    with pytest.raises(ContentRejected) as caught:
        analyst.body(portrait("noface_landscape.jpg"))
    assert caught.value.code == "pose_not_usable"


def test_a_body_is_analysed_without_its_face(analyst, body, shared_data):
    picture = np.array(Image.open(shared_data / "persons" / "man_hoodie_full.png").convert("RGB"))
    hidden = picture.copy()
    hidden[195:300, 345:440] = (190, 160, 140)
    analysis = analyst.body(hidden)
    assert analysis.face is None
    assert analysis.face_index is None
    assert at(analysis.clothing.upper, CHEST) > 0.8
    assert at(analysis.clothing.lower, TROUSERS) > 0.8


def inside(mask, face):
    x, y, width, height = (int(value) for value in (face.left, face.top, face.width, face.height))
    return float(mask[y : y + height, x + width // 4 : x + 3 * width // 4].mean())
