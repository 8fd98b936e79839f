from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from models.perception.pose import BodyPoint, PoseFinder


@pytest.fixture(scope="module")
def poses() -> PoseFinder:
    return PoseFinder()


@pytest.fixture(scope="module")
def person(shared_data):
    """RGB pixels of one of the shared full-length pictures."""
    return lambda name: np.array(Image.open(shared_data / "persons" / name).convert("RGB"))


# Read off the picture (768 x 1376) by eye.
_HOODIE = {
    BodyPoint.RIGHT_SHOULDER: (285, 395),
    BodyPoint.LEFT_SHOULDER: (500, 395),
    BodyPoint.RIGHT_WRIST: (228, 740),
    BodyPoint.LEFT_WRIST: (515, 745),
    BodyPoint.RIGHT_ANKLE: (330, 1200),
    BodyPoint.LEFT_ANKLE: (480, 1225),
    BodyPoint.NOSE: (380, 258),
}


def test_the_points_of_a_standing_man_are_where_a_person_sees_them(poses, person):
    pose = poses.find(person("man_hoodie_full.png"))
    for point, place in _HOODIE.items():
        assert np.linalg.norm(pose.at(point) - place) < 40, point.name
    assert pose.sees(BodyPoint.LEFT_ANKLE, BodyPoint.LEFT_SHOULDER)
    assert not pose.faces_away


def test_points_keep_to_the_body_when_the_picture_is_turned_and_enlarged(poses, person):
    picture = person("man_hoodie_full.png")
    upright = poses.find(picture)
    turned = poses.find(np.ascontiguousarray(np.rot90(np.kron(picture, np.ones((2, 2, 1), np.uint8)))))
    width = picture.shape[1]
    back = np.stack([2 * width - turned.points[:, 1], turned.points[:, 0]], 1) / 2
    visible = upright.visibility > 0.9
    assert np.linalg.norm(back - upright.points[:, :2], axis=1)[visible].max() < 45


def test_a_small_person_in_a_wide_picture_is_found(poses, person):
    picture = person("woman_denim_full.png")
    small = np.asarray(Image.fromarray(picture).resize((134, 240), Image.Resampling.LANCZOS))
    wide = np.full((1000, 1600, 3), 235, np.uint8)
    wide[700:940, 1300:1434] = small
    pose = poses.find(wide)
    expected = poses.find(picture).points[:, :2] * (134 / 768) + (1300, 700)
    assert np.linalg.norm(pose.points[:, :2] - expected, axis=1).max() < 20


def test_the_body_of_the_chosen_face_is_found_among_two(poses, finder, portrait):
    picture = portrait("two_people_derived.jpg")
    for face in finder.find(picture):
        pose = poses.find(picture, face)
        assert np.linalg.norm(pose.at(BodyPoint.NOSE) - face.keypoints[2]) < 0.3 * face.width


def test_the_outline_holds_the_person_and_not_the_neighbour(poses, finder, portrait):
    picture = portrait("two_people_derived.jpg")
    left, right = finder.find(picture)
    outline = poses.find(picture, left).person(picture.shape[1], picture.shape[0])
    assert outline.shape == picture.shape[:2]
    assert _inside(outline, left) > 0.9
    assert _inside(outline, right) < 0.1


def test_a_landscape_holds_no_body(poses, portrait):
    assert poses.find(portrait("noface_landscape.jpg")) is None


def _inside(outline, face):
    x, y, width, height = (int(value) for value in (face.left, face.top, face.width, face.height))
    return outline[y : y + height, x + width // 4 : x + 3 * width // 4].mean()
