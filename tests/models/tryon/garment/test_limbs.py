"""Arms that were under sleeves: shape and light, on pictures made by arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from models.tryon.garment.figure import Limb, Side
from models.tryon.garment.limbs import bare_limb, like_hand, shaded
from models.tryon.garment.sleeves import closed
from models.tryon.garment.warp import Mask

SHAPE = (600, 300)
AXIS_X = 150
SKIN = np.array([200.0, 150.0, 130.0], np.float32)


def arm() -> Limb:
    """It hangs straight down from (150, 60) to (150, 460)."""
    return Limb(
        joints=np.array([(AXIS_X, 60), (AXIS_X, 260), (AXIS_X, 460)], np.float32),
        tip=np.array([AXIS_X, 520], np.float32),
        radii=np.array([48, 44, 36, 33, 21], np.float32),
        seen=1.0,
        mid_seen=1.0,
    )


def band(left: int, right: int, top: int, bottom: int) -> Mask:
    mask = np.zeros(SHAPE, np.float32)
    mask[top:bottom, left:right] = 1
    return mask


def widths(person: Mask, skin: Mask) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    limb = bare_limb(arm(), Side.LEFT, person, skin, end=1.14, is_leg=False)
    return limb.at, limb.outer[:, 0], limb.inner[:, 0]


def test_an_arm_is_narrower_than_its_sleeve_and_tapers_to_the_wrist() -> None:
    at, outer, inner = widths(band(110, 190, 40, 470), np.zeros(SHAPE, np.float32))
    sleeve = (at > 0.2) & (at < 0.95)
    assert (outer[sleeve] < 188).all()
    assert (inner[sleeve] > 112).all()
    width = outer - inner
    upper, elbow, wrist = (width[np.argmin(abs(at - share))] for share in (0.25, 0.55, 0.98))
    assert upper > elbow > wrist > 0.5 * elbow


def test_an_arm_lies_in_the_middle_of_a_sleeve_that_hangs_beside_the_joints() -> None:
    at, outer, inner = widths(band(130, 210, 40, 470), np.zeros(SHAPE, np.float32))  # its middle is at 170
    lower = (at > 0.4) & (at < 0.9)
    np.testing.assert_allclose((outer[lower] + inner[lower]) / 2, 170, atol=5)


def test_a_made_wrist_is_as_wide_as_the_hand_that_comes_out_of_the_sleeve() -> None:
    skin = band(125, 179, 455, 540)
    at, outer, inner = widths(np.maximum(band(105, 195, 40, 455), skin), skin)
    index = int(np.argmin(abs(at - 1.01)))
    assert outer[index] == pytest.approx(179, abs=3)
    assert inner[index] == pytest.approx(125, abs=3)


def test_an_arm_is_darker_at_its_edges_and_lighter_towards_the_light() -> None:
    limb = bare_limb(arm(), Side.LEFT, band(100, 200, 40, 470), np.zeros(SHAPE, np.float32), end=1.0, is_leg=False)

    def row(light: float) -> np.ndarray:
        box, colours, alpha, _ = shaded(limb, SKIN, SHAPE, light, np.random.default_rng(0))
        line = 180 - box.top
        inside = np.flatnonzero(alpha[line] > 0.95)
        return np.asarray(colours[line, inside[0] : inside[-1] + 1].mean(-1))

    even = row(0.0)
    middle = even[len(even) // 2]
    assert even[1] < 0.9 * middle
    assert even[-2] < 0.9 * middle
    quarter = len(even) // 5
    assert row(0.8)[-quarter] > row(0.8)[quarter]
    assert row(-0.8)[-quarter] < row(-0.8)[quarter]


def test_an_arm_takes_on_half_of_what_the_hand_looks_like_but_no_shadow() -> None:
    picture = np.zeros((*SHAPE, 3), np.float32)
    hand = band(120, 180, 460, 540)
    picture[hand > 0] = SKIN * 0.4  # a hand in the shadow
    dark = like_hand(picture, hand, SKIN)
    assert 0.8 * SKIN.mean() < dark.mean() < SKIN.mean()
    np.testing.assert_array_equal(like_hand(picture, np.zeros(SHAPE, np.float32), SKIN), SKIN)


def test_the_gap_of_a_sleeve_is_closed_with_its_own_cloth_and_told() -> None:
    colours = np.full((40, 40, 3), 90.0, np.float32)
    alpha = np.ones((40, 40), np.float32)
    alpha[20:30, :10] = 0
    colours[20:30, :10] = 250
    along = np.ones((40, 40), np.float32)
    along[30:] = 2.0  # beyond the cuff
    shown, filled, share = closed(colours, alpha, along)
    assert share == pytest.approx(100 / 1200)
    assert (filled[:30] == 1).all()
    assert (filled[30:] == 0).all()
    np.testing.assert_allclose(shown[20:30, :10], 90)
