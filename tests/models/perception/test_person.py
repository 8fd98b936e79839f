from __future__ import annotations

import numpy as np

from models.perception.person import isolated, person_matte


def test_the_matte_has_the_size_of_the_picture_and_its_edges(presenter):
    matte = person_matte(presenter)
    assert matte.shape == presenter.shape[:2]
    assert matte.dtype == np.float32
    assert 0 <= matte.min() <= matte.max() <= 1
    undecided = np.mean((matte > 0.1) & (matte < 0.9))
    assert undecided < 0.05


def test_the_face_is_person_and_the_wall_is_not(finder, presenter):
    face = finder.find(presenter)[0]
    matte = person_matte(presenter)
    x, y, width, height = (int(value) for value in (face.left, face.top, face.width, face.height))
    assert matte[y : y + height, x + width // 4 : x + 3 * width // 4].mean() > 0.98
    assert matte[:100, :100].mean() < 0.02


def test_a_picture_of_one_row_has_a_matte():
    assert person_matte(np.zeros((1, 5, 3), np.uint8)).shape == (1, 5)


def test_wide_doubt_beside_a_person_and_what_hangs_by_a_thread_are_cleared():
    coarse = np.zeros((256, 256), np.float32)
    coarse[60:, 80:160] = 1.0  # a person down to the lower border
    coarse[60:, 160:163] = 0.5  # hair
    coarse[120:, 163:250] = 0.6  # a wall of the person's colour
    coarse[70:90, 10:40] = 1.0  # a lamp, seen as a person, and the wire that leads to it
    coarse[80:83, 40:80] = 1.0
    kept = isolated(coarse)
    assert kept[60:, 83:157].min() == 1.0
    assert kept[70:100, 160:162].min() > 0.4
    assert kept[:, 170:].max() == 0.0
    assert kept[:, :60].max() == 0.0


def test_a_second_person_stays():
    coarse = np.zeros((144, 256), np.float32)
    coarse[20:, 20:110] = 1.0
    coarse[50:, 160:210] = 1.0
    assert isolated(coarse)[60:, 165:205].min() == 1.0
