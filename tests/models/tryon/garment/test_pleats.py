"""A skirt that is cut wide hangs in folds: its print is not squeezed, its edges stay."""

from __future__ import annotations

import numpy as np
import pytest

from models.tryon.garment.figure import Side
from models.tryon.garment.fit import hanging_half_width
from models.tryon.garment.pleats import Gather, pleated
from models.tryon.garment.seams import ProductFrame
from models.tryon.garment.warp import Box, WarpMap

HALF, ROWS = 100, 240  # of the worn skirt, pixels


def squeezed(flat: float) -> tuple[WarpMap, Gather]:
    """A map that only squeezes cloth of ``flat`` half-width to ``HALF``, the same in every row."""
    x, y = np.meshgrid(np.arange(-HALF, HALF + 1, dtype=np.float32), np.arange(ROWS, dtype=np.float32))
    frame = ProductFrame(
        origin=np.zeros(2, np.float32), across=np.array([1, 0], np.float32), down=np.array([0, 1], np.float32)
    )
    rows = np.array([0.0, ROWS], np.float32)
    return (
        WarpMap(box=Box(left=0, top=0, right=2 * HALF + 1, bottom=ROWS), x=x * np.float32(flat / HALF), y=y),
        Gather(
            frame=frame,
            below=dict.fromkeys(Side, rows),
            flat={side: np.full(2, flat, np.float32) for side in Side},
            narrowed={side: np.full(2, HALF / flat, np.float32) for side in Side},
        ),
    )


@pytest.mark.parametrize("flat", [150.0, 190.0, 220.0])
def test_on_the_folds_a_print_is_hardly_squeezed_and_the_rest_is_hidden(flat: float) -> None:
    mapped, gather = squeezed(flat)
    folds = pleated(mapped, gather)
    step = np.diff(folds.map.x[100])
    shown = step < 3
    assert np.median(step[shown]) < 1.25
    assert step[shown].mean() < 1.3
    assert 4 <= (~shown).sum() <= 14  # a jump at every edge of a fold
    assert (folds.map.x[100][1:] > folds.map.x[100][:-1]).all()  # and nothing is seen twice


def test_edges_and_middle_stay_where_they_are() -> None:
    mapped, gather = squeezed(190.0)
    folds = pleated(mapped, gather).map
    assert folds.x[100, 0] == pytest.approx(-190, abs=1.5)
    assert folds.x[100, -1] == pytest.approx(190, abs=1.5)
    assert folds.x[100, HALF] == pytest.approx(0, abs=0.5)


def test_cloth_that_is_hardly_narrowed_has_no_folds() -> None:
    mapped, gather = squeezed(112.0)
    folds = pleated(mapped, gather)
    assert np.array_equal(folds.map.x, mapped.x)
    assert np.allclose(folds.light, 1)
    assert not folds.hidden.any()


def test_a_fold_is_darker_where_it_goes_under_the_next() -> None:
    mapped, gather = squeezed(200.0)
    folds = pleated(mapped, gather)
    assert folds.light[100].min() < 0.93
    assert 0.95 < folds.light[100].mean() < 1.05


def test_a_hem_spread_out_on_the_floor_is_worn_no_wider_than_one_and_a_half_hips() -> None:
    assert hanging_half_width(260.0, 120.0) <= 1.5 * 120
    assert hanging_half_width(130.0, 120.0) == pytest.approx(125.5, abs=3)
