"""Which cloth a pixel is of: jeans in the shade of a jacket, and a dress that is one cloth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from models.tryon.garment.colours import told_apart
from models.tryon.garment.figure import Figure, measure
from models.tryon.garment.warp import Mask
from tests.models.tryon.garment.worn import standing

SHAPE = (900, 600)


def _figure() -> Figure:
    person = np.zeros(SHAPE, np.float32)
    person[120:880, 200:400] = 1
    return measure(standing(), person)


def _picture(
    upper: tuple[int, int, int], lower: tuple[int, int, int], hem: int
) -> tuple[NDArray[np.uint8], Mask, Mask]:
    rgb = np.full((*SHAPE, 3), 230, np.float32)
    rgb[150:hem, 200:400] = upper
    rgb[hem:850, 200:400] = lower
    rgb += np.random.default_rng(1).normal(0, 2, rgb.shape)
    above, below = np.zeros(SHAPE, np.float32), np.zeros(SHAPE, np.float32)
    above[150:hem, 200:400] = 1
    below[hem:850, 200:400] = 1
    return np.clip(rgb, 0, 255).astype(np.uint8), above, below


def test_jeans_in_the_shade_of_a_black_jacket_are_jeans() -> None:
    rgb, upper, lower = _picture((45, 44, 48), (100, 130, 160), hem=450)
    rgb[450:470, 200:240] = (36, 48, 60)  # nearly as dark as the jacket, as blue as the jeans
    upper[450:470, 200:240], lower[450:470, 200:240] = 1, 0
    new_upper, new_lower = told_apart(rgb, upper, lower, _figure())
    assert new_lower[454:466, 204:236].mean() > 0.9
    assert new_upper[454:466, 204:236].mean() < 0.1
    assert new_upper[300:440, 210:390].min() > 0.9


def test_one_white_cloth_is_parted_by_a_level_line() -> None:
    rgb, upper, lower = _picture((225, 224, 222), (225, 224, 222), hem=450)
    for column in range(200, 400):  # a guess that goes up and down
        hem = round(450 + 50 * np.sin(column / 25))
        upper[:, column], lower[:, column] = 0, 0
        upper[150:hem, column], lower[hem:850, column] = 1, 1
    _, new_lower = told_apart(rgb, upper, lower, _figure())
    first = (new_lower[:, 200:400] > 0.5).argmax(0)
    assert np.ptp(first) <= 2
    assert 420 < first.mean() < 480
