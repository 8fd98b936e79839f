from __future__ import annotations

import numpy as np

from models.perception.person import person_matte


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
