from __future__ import annotations

import numpy as np

from models.tryon.garment.infill import mirrored_fill, smooth_fill
from models.tryon.garment.warp import Box, resampled, spline_map, strip_map

RNG = np.random.default_rng(3)


def test_a_spline_through_moved_and_scaled_points_is_that_similarity() -> None:
    picture = RNG.uniform(20, 180, (9, 2)).astype(np.float32)
    product = picture * 1.5 + np.array([12, -7], np.float32)
    mapped = spline_map(picture, product, Box(left=0, top=0, right=200, bottom=200))
    y, x = np.mgrid[0:200, 0:200]
    np.testing.assert_allclose(mapped.x, x * 1.5 + 12, atol=0.05)
    np.testing.assert_allclose(mapped.y, y * 1.5 - 7, atol=0.05)


def test_a_strip_maps_each_pixel_inside_and_none_outside() -> None:
    x, y = np.meshgrid(np.linspace(30, 90, 4), np.linspace(20, 160, 6))
    picture = np.stack([x, y], -1).astype(np.float32)
    mapped = strip_map(picture, picture * 2 + 5, (200, 200))
    rows, columns = np.mgrid[25:155, 35:85]
    inside_x = mapped.x[25 - mapped.box.top : 155 - mapped.box.top, 35 - mapped.box.left : 85 - mapped.box.left]
    inside_y = mapped.y[25 - mapped.box.top : 155 - mapped.box.top, 35 - mapped.box.left : 85 - mapped.box.left]
    np.testing.assert_allclose(inside_x, columns * 2 + 5, atol=0.01)
    np.testing.assert_allclose(inside_y, rows * 2 + 5, atol=0.01)
    assert mapped.x[0, 0] < -1000


def test_resampling_keeps_the_ends_and_evens_the_steps() -> None:
    path = np.array([[0, 0], [10, 0], [10, 90]], np.float32)
    even = resampled(path, 11)
    np.testing.assert_allclose(even[[0, -1]], path[[0, -1]])
    np.testing.assert_allclose(np.linalg.norm(np.diff(even, axis=0), axis=1), 10, atol=1e-4)


def test_stripes_go_on_where_the_background_is_filled() -> None:
    y, x = np.mgrid[0:120, 0:120]
    picture = np.repeat((100 + 80 * ((y // 6) % 2))[..., None], 3, 2).astype(np.float32)
    known = np.ones((120, 120), bool)
    known[40:80, 50:70] = False
    hidden = picture.copy()
    hidden[~known] = 255
    filled = mirrored_fill(hidden, known, ~known)
    del x
    error = np.abs(filled - picture)[42:78, 50:70].mean()
    smooth = np.abs(smooth_fill(hidden, known.astype(np.float32)) - picture)[42:78, 50:70].mean()
    assert error < 0.5 * smooth


def test_filling_leaves_known_pixels_alone() -> None:
    picture = RNG.uniform(0, 255, (60, 60, 3)).astype(np.float32)
    known = np.ones((60, 60), bool)
    known[20:30, 20:30] = False
    filled = mirrored_fill(picture, known, ~known)
    np.testing.assert_array_equal(filled[known], picture[known])
