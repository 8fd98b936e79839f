"""Long hair and pulled-up hair as they are worn, on a photo of somebody with short hair; places read off the photo."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from models.tryon.region import composite
from models.tryon.wig.asset import WigAsset
from models.tryon.wig.ingest import ingest_wig
from models.tryon.wig.light import FaceLight
from models.tryon.wig.own_hair import BareSitter
from models.tryon.wig.preview import fitting_of
from models.tryon.wig.worn import wear

Head = Callable[[float, float, float], NDArray[np.float32]]
Picture = NDArray[np.uint8]
SITTER = "portraits/man_shirt_ai.png"  # looks at us before a white wall; worked on at 683 by 1024 pixels
HAIR = (150, 50, 30)


@pytest.fixture(scope="module")
def sitter(shared_data: Path) -> BareSitter:
    made = fitting_of(shared_data / SITTER, None, max_pixels=64_000_000).sitter
    assert made.picture_rgb.shape[:2] == (1024, 683)
    return made


def long_wig(head: Head, *, face_width: float = 180.0) -> WigAsset:
    """Red hair to the breast in two locks, free between them below the ears."""
    y, x = np.mgrid[:700, :460].astype(np.float32)
    middle = (230.0, 230.0)
    aside, below = np.abs(x - middle[0]) / face_width, (y - middle[1]) / face_width
    ball = (aside / 0.85) ** 2 + ((below + 0.1) / 0.98) ** 2 < 1
    locks = (aside < 0.9) & (below > 0) & (below < 2.2)
    free = ((aside / 0.48) ** 2 + ((below - 0.1) / 0.68) ** 2 < 1) | ((aside < 0.62) & (below > 0.3))
    rgb = np.broadcast_to(np.array(HAIR, np.uint8), (*x.shape, 3))
    alpha = np.where((ball | locks) & ~free, 255, 0).astype(np.uint8)
    return WigAsset(
        picture_rgba=np.dstack([rgb, alpha]),
        landmarks=head(*middle, face_width),
        light=FaceLight(lightness=65.0, slope=0.0),
    )


def on(sitter: BareSitter, wig: WigAsset) -> Picture:
    worn = wear(sitter, wig.picture_rgba, wig.landmarks, wig.light)
    return composite(sitter.picture_rgb, worn.overlay())


def reddish(picture: Picture) -> NDArray[np.bool_]:
    """Of the drawn hair's hue, however dark: redder than skin, wall and shirt of the photo."""
    red, green, blue = np.moveaxis(picture.astype(int), 2, 0)
    return np.asarray((red > 2 * green) & (red > 2 * blue))


def test_long_hair_hangs_over_the_shirt_in_front_and_behind_the_neck(sitter: BareSitter, head: Head) -> None:
    photo = sitter.picture_rgb
    picture = on(sitter, long_wig(head))

    # In front, on the shirt: both locks. Between them the shirt is as it was, to the bit.
    for lock in (np.s_[640:760, 120:170], np.s_[640:760, 515:555]):
        assert not reddish(photo)[lock].any()
        assert reddish(picture)[lock].all()
    np.testing.assert_array_equal(picture[640:760, 260:420], photo[640:760, 260:420])
    # Throat and collar hide what hangs behind them.
    np.testing.assert_array_equal(picture[590:640, 290:390], photo[590:640, 290:390])
    np.testing.assert_array_equal(reddish(picture)[560:, 240:440], reddish(photo)[560:, 240:440])
    # Beside the neck, where the wall was seen above the shoulder, there is the hair behind it, in its own shade.
    for beside in (np.s_[460:480, 180:194], np.s_[455:470, 472:488]):
        assert photo[beside].min() > 150
        assert reddish(picture)[beside].mean() > 0.9
        assert picture[beside].mean() < 0.6 * np.mean(HAIR)


@pytest.fixture(scope="module")
def bun(shared_data: Path) -> WigAsset:
    return ingest_wig(shared_data / "hair" / "ref_bun_dark.jpg")


def test_pulled_up_hair_leaves_the_ears_bare_and_nothing_hangs_below_them(sitter: BareSitter, bun: WigAsset) -> None:
    worn = wear(sitter, bun.picture_rgba, bun.landmarks, bun.light)
    photo, picture = sitter.picture_rgb, composite(sitter.picture_rgb, worn.overlay())

    # The lobes end in row 408 of the photo: from there on it is the photo, whatever the product's photo shows there.
    hair = np.maximum(worn.wig_rgba[..., 3], worn.behind_rgba[..., 3] * (worn.person_alpha < 0.5))
    assert hair[:330].max() > 200
    assert hair[412:].max() <= 2
    assert (np.abs(picture[412:].astype(int) - photo[412:]).max(2) < 12).mean() > 0.995
    # The ears from their middle to the lobe are skin as in the photo, and beside them is wall.
    for ear in (np.s_[352:385, 172:188], np.s_[348:375, 482:494]):
        assert np.abs(picture[ear].astype(int) - photo[ear]).mean() < 12
    for wall in (np.s_[300:420, 110:145], np.s_[300:420, 525:560]):
        assert picture[wall].min() > 150


def test_a_knot_sits_on_the_head_and_not_in_the_air(sitter: BareSitter, bun: WigAsset) -> None:
    worn = wear(sitter, bun.picture_rgba, bun.landmarks, bun.light)
    hair = worn.wig_rgba[:, 320:345, 3] > 128  # the head's middle, below the knot
    rows = np.flatnonzero(hair.all(1))
    assert rows[0] < 75  # above the sitter's skull: that is the knot
    assert rows[-1] > 140  # down to the hairline
    assert len(rows) == rows[-1] - rows[0] + 1
