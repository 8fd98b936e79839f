from __future__ import annotations

import numpy as np

from models.tryon.region import Overlay, composite


def _picture() -> np.ndarray:
    return np.random.default_rng(1).integers(0, 256, (40, 60, 3), np.uint8)


def _patch() -> np.ndarray:
    alpha = np.zeros((20, 30), np.float32)
    alpha[5:15, 10:20] = 0.5
    return alpha


def test_pixels_beside_the_overlay_are_bit_identical() -> None:
    picture = _picture()
    overlay = Overlay.nothing(20, 30).over(np.full(3, 200, np.float32), _patch())

    result = composite(picture, overlay, left=7, top=9)

    touched = np.zeros((40, 60), bool)
    touched[9 + 5 : 9 + 15, 7 + 10 : 7 + 20] = True
    assert np.array_equal(result[~touched], picture[~touched])
    assert (result[touched] != picture[touched]).mean() > 0.9


def test_layers_lie_in_the_order_in_which_they_were_put() -> None:
    picture = np.full((20, 30, 3), 100, np.uint8)
    half = np.full((20, 30), 0.5, np.float32)
    overlay = Overlay.nothing(20, 30).over(np.float32([200, 0, 0]), half).over(np.float32([0, 0, 80]), half)

    # By hand: (100 + 200) / 2 = 150, then (150 + 0) / 2 = 75; green 100, 50, 25; blue 100, 50, (50 + 80) / 2 = 65.
    assert composite(picture, overlay)[3, 3].tolist() == [75, 25, 65]


def test_an_overlay_made_small_changes_nothing_further_out_when_it_is_enlarged() -> None:
    overlay = Overlay.nothing(20, 30).over(np.full(3, 255, np.float32), _patch()).resized(90, 60)

    changed = np.argwhere(overlay.changed())

    assert overlay.alpha.shape == (60, 90)
    # Three times as large: rows 15 to 44, columns 30 to 59, and at most half an old pixel of blur around.
    assert changed.min(0).tolist() >= [13, 28]
    assert (changed.max(0) <= [46, 61]).all()
    assert abs(float(overlay.alpha[30, 45]) - 0.5) < 0.01


def test_a_picture_under_nothing_comes_back_whole() -> None:
    picture = _picture()
    assert np.array_equal(composite(picture, Overlay.nothing(40, 60)), picture)
