from __future__ import annotations

import cv2
import numpy as np
import pytest

from models.perception.face import FaceLandmarks
from models.perception.tracking import FaceTracker, LandmarkSmoother


def shifted(picture: np.ndarray, x: float) -> np.ndarray:
    matrix = np.array([[1, 0, x], [0, 1, 0]], np.float32)
    return cv2.warpAffine(picture, matrix, picture.shape[1::-1], borderMode=cv2.BORDER_REPLICATE)


def test_a_face_that_moves_is_followed(finder, presenter):
    tracker = FaceTracker(finder)
    places = []
    for index in range(12):
        found = tracker.update(shifted(presenter, 6 * index), index / 25)
        assert isinstance(found, FaceLandmarks)
        places.append(found.points[1, 0])
    assert places[-1] - places[0] == pytest.approx(66, abs=6)


def test_frames_without_a_face_have_none_and_the_face_is_found_again(finder, presenter):
    tracker = FaceTracker(finder)
    empty = np.full_like(presenter, 190)
    frames = [presenter] * 3 + [empty] * 10 + [presenter] * 10
    seen = [tracker.update(frame, index / 25) is not None for index, frame in enumerate(frames)]
    assert all(seen[:3])
    assert not any(seen[3:13])
    assert all(seen[-4:])


def test_the_same_of_two_faces_is_followed(finder, portrait):
    picture = portrait("two_people_derived.jpg")
    boxes = finder.find(picture)
    tracker = FaceTracker(finder, boxes[0])
    for index in range(5):
        found = tracker.update(shifted(picture, 3 * index), index / 25)
        assert found is not None
        assert found.points[:, 0].max() < picture.shape[1] / 2 + 20


def test_trembling_is_smoothed_away_and_motion_is_not():
    generator = np.random.default_rng(3)
    face = generator.uniform(0, 200, (468, 3)).astype(np.float32)
    face[234], face[454] = (0, 100, 0), (200, 100, 0)
    smoother = LandmarkSmoother()
    still = np.array(
        [smoother(face + generator.normal(0, 0.5, face.shape).astype(np.float32), i / 25) for i in range(60)]
    )
    assert still[20:].std(0).mean() < 0.3  # of .5 put in
    moving = np.array([smoother(face + np.float32(4 * i), (60 + i) / 25) for i in range(30)])
    assert (face + np.float32(4 * 29) - moving[-1]).max() < 4  # behind by less than one frame of motion


def test_after_a_cut_the_landmarks_are_at_the_new_place_at_once(finder, presenter):
    tracker = FaceTracker(finder)
    frames = [presenter] * 5 + [shifted(presenter, 150)] * 2
    found = [tracker.update(frame, index / 25) for index, frame in enumerate(frames)]
    assert found[5].points[1, 0] - found[4].points[1, 0] == pytest.approx(150, abs=8)
