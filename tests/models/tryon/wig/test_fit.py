from __future__ import annotations

from collections.abc import Callable

import numpy as np

from models.tryon.wig.asset import WigAsset
from models.tryon.wig.fit import fit_wig, similarity

Head = Callable[[float, float, float], np.ndarray]


def _turned(points: np.ndarray, degrees: float, axis: str) -> np.ndarray:
    angle = np.deg2rad(degrees)
    cos, sin = np.cos(angle), np.sin(angle)
    matrix = {
        "roll": [[cos, -sin, 0], [sin, cos, 0], [0, 0, 1]],
        "yaw": [[cos, 0, sin], [0, 1, 0], [-sin, 0, cos]],
    }[axis]
    centre = points.mean(0)
    return ((points - centre) @ np.array(matrix).T + centre).astype(np.float32)


def test_a_wig_follows_a_larger_and_tilted_head(head: Head) -> None:
    wig_points = head(200, 200, 180)
    sitter = _turned(head(300, 280, 270), 15, "roll")
    placement = fit_wig(wig_points, sitter, 600, 600)

    # The brow's middle of the sitter shows the brow's middle of the wig's own head, nearly: it is worn 3 % larger.
    for index in (9, 127, 356, 10):
        x, y = np.round(sitter[index, :2]).astype(int)
        assert np.linalg.norm(placement.places[y, x] - wig_points[index, :2]) < 0.05 * 180
    assert abs(placement.onto.scale - 1.5 * 1.03) < 0.03
    assert abs(np.rad2deg(placement.onto.angle) - 15) < 1


def test_the_map_never_folds_on_a_head_that_looks_aside(head: Head) -> None:
    for degrees in (-40, -25, 25, 40):
        places = fit_wig(head(200, 200, 180), _turned(head(300, 300, 200), degrees, "yaw"), 600, 600).places
        across, down = np.diff(places[:-1], axis=1), np.diff(places[:, :-1], axis=0)
        area = across[..., 0] * down[..., 1] - across[..., 1] * down[..., 0]
        assert area.min() > 0


def test_locks_below_the_chin_hang_down_on_a_tilted_head(head: Head) -> None:
    wig_points = head(300, 200, 150)
    upright, tilted = head(300, 250, 150), _turned(head(300, 250, 150), 20, "roll")
    straight, leaned = (fit_wig(wig_points, sitter, 600, 900).places for sitter in (upright, tilted))

    def direction(places: np.ndarray) -> float:
        """Angle from vertical of what is a vertical line in the wig, far below the chin."""
        row = places[640]
        upper = int(np.abs(places[560, :, 0] - 300).argmin())
        lower = int(np.abs(row[:, 0] - 300).argmin())
        return float(np.rad2deg(np.arctan2(lower - upper, 80)))

    assert abs(direction(straight)) < 1.5
    assert abs(direction(leaned)) < 10  # a rigid wig would hang 20 degrees askew


def test_worn_hair_keeps_its_colour_at_soft_edges(wig: WigAsset, head: Head) -> None:
    rgba = wig.picture_rgba.copy()
    rgba[..., :3] = (90, 60, 40)
    worn = fit_wig(wig.landmarks, head(200, 200, 90), 400, 400).worn(rgba)  # half as large: strands are averaged

    soft = (worn[..., 3] > 40) & (worn[..., 3] < 215)
    assert soft.any()
    assert np.abs(worn[soft][:, :3].astype(int) - [90, 60, 40]).max() <= 4


def test_similarity_is_found_exactly() -> None:
    generator = np.random.default_rng(0)
    points = generator.normal(size=(12, 2)).astype(np.float32)
    angle = 0.3
    matrix = 2.5 * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    found = similarity(points, (points @ matrix.T + [4, -7]).astype(np.float32))

    assert np.allclose(found.matrix, matrix, atol=1e-4)
    assert np.allclose(found.shift, [4, -7], atol=1e-4)
