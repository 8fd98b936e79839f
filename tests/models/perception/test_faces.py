from __future__ import annotations

import cv2
import numpy as np
import pytest

from models.perception.face import FaceBox
from models.perception.faces import MIN_FACE_WIDTH_PX, choose_face
from services.domain.errors import ContentRejected


def box(left: float = 0, width: float = 100) -> FaceBox:
    return FaceBox(left=left, top=0, width=width, height=width, confidence=0.9, keypoints=np.zeros((6, 2), np.float32))


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("astronaut.png", 1),
        ("anime_man.jpeg", 1),
        ("painting_moustache.png", 1),
        ("painting_woman_34body.jpg", 1),
        ("statue.jpg", 1),
        ("cartoon_man_teeth.png", 1),
        ("man_glasses.png", 1),
        ("old_woman.png", 1),
        ("dark_woman_afro.png", 1),
        ("woman_mouthopen.jpg", 1),
        ("fullbody_smallface.jpg", 1),
        ("asian_woman_ai.png", 1),
        ("two_people_derived.jpg", 2),
        ("three_people.jpg", 3),
        ("noface_landscape.jpg", 0),
    ],
)
def test_as_many_faces_are_found_as_a_person_counts(finder, portrait, name, count):
    assert len(finder.find(portrait(name))) == count


def test_nearly_everyone_in_a_group_of_29_is_found(finder, portrait):
    assert 28 <= len(finder.find(portrait("many_faces_1927.jpg"))) <= 29


def test_faces_come_from_left_to_right(finder, portrait):
    faces = finder.find(portrait("three_people.jpg"))
    assert [face.left for face in faces] == sorted(face.left for face in faces)


@pytest.mark.parametrize("shade", [0, 128, 255])
def test_no_face_is_seen_in_an_even_picture(finder, shade):
    assert finder.find(np.full((300, 400, 3), shade, np.uint8)) == []


def test_no_face_is_seen_in_noise(finder):
    noise = np.random.default_rng(1).integers(0, 255, (480, 640, 3), np.uint8)
    assert finder.find(noise) == []


@pytest.mark.parametrize("size", [(1, 1), (3, 700), (700, 2)])
def test_a_tiny_picture_has_no_face(finder, size):
    assert finder.find(np.zeros((*size, 3), np.uint8)) == []


def test_a_face_of_a_thirtieth_of_the_picture_is_found(finder, presenter):
    small = cv2.resize(presenter, None, fx=0.2, fy=0.2, interpolation=cv2.INTER_AREA)
    wide = np.full((1200, 1800, 3), 180, np.uint8)
    wide[700 : 700 + small.shape[0], 1100 : 1100 + small.shape[1]] = small
    (face,) = finder.find(wide)
    assert 1100 < face.left < 1100 + small.shape[1]
    assert 40 < face.width < 75


def test_landmarks_of_an_enlarged_picture_are_the_enlarged_landmarks(finder, presenter):
    once = finder.landmarks(presenter, finder.find(presenter)[0])
    large = cv2.resize(presenter, None, fx=6, fy=6, interpolation=cv2.INTER_CUBIC)  # 4608 x 6144
    again = finder.landmarks(large, finder.find(large)[0])
    shift = np.linalg.norm(again.points[:, :2] / 6 - once.points[:, :2], axis=1)
    assert np.median(shift) < 0.02 * once.width


@pytest.mark.parametrize("degrees", [-40, -20, 20, 40])
def test_a_tilted_head_is_found_and_its_roll_measured(finder, presenter, degrees):
    height, width = presenter.shape[:2]
    matrix = cv2.getRotationMatrix2D((width / 2, height / 2), -degrees, 1.0)  # cv2 turns counter-clockwise
    tilted = cv2.warpAffine(presenter, matrix, (width, height), borderMode=cv2.BORDER_REPLICATE)
    upright = finder.landmarks(presenter, finder.find(presenter)[0])
    landmarks = finder.landmarks(tilted, finder.find(tilted)[0])
    assert np.degrees(landmarks.roll - upright.roll) == pytest.approx(degrees, abs=5)


def test_a_mirrored_face_is_turned_the_other_way(finder, portrait):
    picture = portrait("man_glasses.png")
    mirrored = np.ascontiguousarray(picture[:, ::-1])
    turned, other = (finder.landmarks(view, finder.find(view)[0]).yaw for view in (picture, mirrored))
    assert np.degrees(turned) < -15  # he looks to the left of the picture
    assert np.degrees(other) > 15


def test_the_largest_face_speaks_unless_another_is_asked_for():
    faces = [box(0, 80), box(200, 120), box(400, 90)]
    assert choose_face(faces, None) == 1
    assert choose_face(faces, 2) == 2


def test_a_picture_without_a_face_is_refused():
    with pytest.raises(ContentRejected) as caught:
        choose_face([], None)
    assert caught.value.code == "face_not_found"


@pytest.mark.parametrize("index", [2, -1])
def test_a_face_that_is_not_there_is_refused_with_the_number_found(index):
    with pytest.raises(ContentRejected) as caught:
        choose_face([box(), box(200)], index)
    assert caught.value.code == "face_index"
    assert "2 found" in caught.value.detail


def test_a_face_too_small_is_refused_with_both_sizes():
    with pytest.raises(ContentRejected) as caught:
        choose_face([box(width=23)], None)
    assert caught.value.code == "face_too_small"
    assert "23 pixels" in caught.value.detail
    assert str(MIN_FACE_WIDTH_PX) in caught.value.detail
