from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from models.tryon.wig.asset import WigAsset
from models.tryon.wig.pins import front_face, head_of_outline, pinned
from services.domain.errors import InvalidRequest

Head = Callable[[float, float, float], np.ndarray]


def test_pins_put_a_head_where_there_is_no_face() -> None:
    points = pinned(None, {"right_ear": (0.25, 0.5), "left_ear": (0.75, 0.5), "chin": (0.5, 0.9)}, 400, 300)

    assert points is not None
    assert np.allclose(points[234, :2], [100, 150], atol=8)
    assert np.allclose(points[454, :2], [300, 150], atol=8)
    assert np.allclose(points[152, :2], [200, 270], atol=8)
    assert points[1, 2] < points[234, 2]  # the nose is nearest


def test_pins_win_over_the_mesh_that_was_found(head: Head) -> None:
    found = head(200, 150, 160)
    moved = pinned(found, {"nose": (0.6, 0.5)}, 400, 300)

    assert moved is not None
    assert np.allclose(moved[1, :2], [240, 150])
    assert np.allclose(moved[:, :2] - found[:, :2], moved[1, :2] - found[1, :2])


def test_without_pins_a_found_mesh_stays(head: Head) -> None:
    found = head(200, 150, 160)
    assert np.array_equal(pinned(found, {}, 400, 300), found)
    assert pinned(None, {"nose": (0.5, 0.5)}, 400, 300) is None


@pytest.mark.parametrize("pins", [{"tail": (0.5, 0.5)}, {"nose": (7.0, 0.5)}])
def test_a_pin_that_means_nothing_is_refused(pins: dict[str, tuple[float, float]]) -> None:
    with pytest.raises(InvalidRequest) as refused:
        pinned(front_face(), pins, 400, 300)
    assert refused.value.code == "pins_unknown"


def test_a_wig_without_a_face_shows_by_its_opening_where_the_face_goes(wig: WigAsset) -> None:
    points, sure = head_of_outline(wig.picture_rgba[..., 3])
    width = np.linalg.norm(wig.landmarks[454, :2] - wig.landmarks[234, :2])

    assert sure > 0.5
    assert abs(np.linalg.norm(points[454, :2] - points[234, :2]) / width - 1) < 0.2
    assert np.abs(points[[9, 10], :2] - wig.landmarks[[9, 10], :2]).max() < 0.2 * width


def test_a_wig_without_an_opening_is_put_on_an_average_head_and_told_as_unsure() -> None:
    y, x = np.mgrid[:300, :300]
    ball = (np.hypot(x - 150, y - 150) < 130).astype(np.uint8) * 255
    points, sure = head_of_outline(ball)

    assert sure < 0.5
    assert abs(points[[234, 454], 0].mean() - 150) < 5
    assert 20 < points[10, 1] < 150 < points[152, 1]  # the crown above the forehead, the chin below the middle
