"""Outlines drawn anew, and what of a flat-lying garment is its inside: pictures made by arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from models.tryon.garment.lining import without_lining
from models.tryon.garment.outline import redrawn, without_spikes

LEFT, TOP, RIGHT, BOTTOM = 150, 120, 450, 520


def _photo(cloth: tuple[int, int, int], ground: tuple[int, int, int], noise: float) -> NDArray[np.uint8]:
    """A rectangle of cloth on a ground, both noisy."""
    rgb = np.empty((640, 600, 3), np.float32)
    rgb[:] = ground
    rgb[TOP:BOTTOM, LEFT:RIGHT] = cloth
    rgb += np.random.default_rng(4).normal(0, noise, rgb.shape)
    return np.clip(rgb, 0, 255).astype(np.uint8)


def _ragged(depth: int) -> NDArray[np.float32]:
    """The rectangle's mask with bites and fringes up to ``depth`` pixels at its right side."""
    mask = np.zeros((640, 600), np.float32)
    mask[TOP:BOTTOM, LEFT:RIGHT] = 1
    steps = np.random.default_rng(5).integers(-depth, depth + 1, (BOTTOM - TOP) // 4 + 1)
    for row in range(TOP, BOTTOM):
        mask[row, RIGHT - depth : RIGHT + depth + 1] = 0
        mask[row, RIGHT - depth : RIGHT + int(steps[(row - TOP) // 4])] = 1
    return mask


def _right_edge(mask: NDArray[np.float32]) -> NDArray[np.float32]:
    """How far each row of the middle reaches, with fractions of pixels."""
    rows = mask[TOP + 40 : BOTTOM - 40, LEFT + 100 :]
    return np.asarray(LEFT + 100 + rows.sum(1), np.float32)


@pytest.mark.parametrize(
    ("cloth", "ground", "faint", "depth"),
    [((180, 60, 70), (120, 110, 100), False, 5), ((250, 250, 252), (236, 237, 232), True, 9)],
    ids=["on a floor", "white on white"],
)
def test_a_ragged_edge_becomes_the_straight_one_of_the_cloth(
    cloth: tuple[int, int, int], ground: tuple[int, int, int], faint: bool, depth: int
) -> None:
    ragged = _ragged(depth)
    edge = _right_edge(redrawn(_photo(cloth, ground, 4.0), ragged, faint=faint))
    assert np.std(_right_edge(ragged)) > 2.5
    assert np.std(edge) < 0.6
    assert abs(float(np.median(edge)) - RIGHT) < 3  # a shared pixel or two are left away


def test_an_opening_stays_open() -> None:
    mask = _ragged(3)
    mask[300:340, 250:300] = 0
    drawn = redrawn(_photo((180, 60, 70), (120, 110, 100), 3.0), mask, faint=False)
    assert drawn[310:330, 260:290].max() == 0
    assert drawn[310:330, 200:230].min() == 1


def test_a_stub_of_the_hanger_goes_and_corners_stay() -> None:
    mask = _ragged(0)
    mask[TOP - 30 : TOP, 300:307] = 1
    cleaned = without_spikes(mask)
    assert cleaned[TOP - 30 : TOP - 3, 300:307].max() == 0
    assert cleaned[TOP + 4 : BOTTOM - 4, LEFT + 4 : RIGHT - 4].min() == 1


def _striped() -> NDArray[np.uint8]:
    rgb = _photo((20, 20, 30), (200, 190, 180), 2.0)
    stripes = (np.arange(TOP, BOTTOM) // 3 % 2 == 0)[:, None]
    rgb[TOP:BOTTOM, LEFT:RIGHT][np.broadcast_to(stripes, (BOTTOM - TOP, RIGHT - LEFT))] = (240, 235, 225)
    return rgb


def test_an_even_lining_below_the_hem_is_no_front() -> None:
    rgb, mask = _striped(), _ragged(0)
    rgb[BOTTOM - 20 : BOTTOM, 220:380] = (120, 128, 118)
    front = without_lining(rgb, mask)
    assert front[BOTTOM - 16 : BOTTOM, 230:370].max() == 0
    assert front[: BOTTOM - 30].sum() == mask[: BOTTOM - 30].sum()
    assert front[BOTTOM - 20 : BOTTOM, LEFT : LEFT + 50].min() == 1


def test_a_border_of_a_colour_that_the_garment_has_elsewhere_stays() -> None:
    rgb, mask = _striped(), _ragged(0)
    rgb[BOTTOM - 20 : BOTTOM, 220:380] = (120, 128, 118)
    rgb[200:300, 200:400] = (120, 128, 118)
    assert without_lining(rgb, mask).sum() == mask.sum()


def test_plain_cloth_has_no_lining() -> None:
    mask = _ragged(0)
    assert without_lining(_photo((180, 60, 70), (120, 110, 100), 3.0), mask).sum() == mask.sum()
