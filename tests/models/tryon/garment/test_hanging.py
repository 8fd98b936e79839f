"""Skirts and trousers on somebody in blue jeans: where they hang, what they cover, what is bare below.

What is expected is read off the photo by the jeans' own colour, not off masks of the code under test.
"""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from models.tryon.garment.dress import Dressed
from models.tryon.garment.dress import dress as put_on
from models.tryon.garment.wearer import Wearer
from tests.models.tryon.garment.worn import plain, skirt, trousers
from tests.models.tryon.wig.cielab import rgb2lab

DENIM = "persons/woman_denim_full.png"
MAGENTA, GREEN = (170, 40, 150), (30, 150, 60)
MIDDLE = np.s_[262:300]  # columns between the halves of the open jacket, in a picture 1024 high
SHOES = 905  # rows from here on show them


@pytest.fixture(scope="module")
def person(wearer: Callable[[str], Wearer]) -> Wearer:
    return wearer(DENIM)


@pytest.fixture(scope="module")
def jeans(person: Wearer) -> NDArray[np.bool_]:
    """Blue pixels of the photo from the belly to the ankles; the ground is bluish but light."""
    blue = jeans_coloured(person.rgb)
    blue[:440], blue[SHOES:], blue[:, :180], blue[:, 430:] = False, False, False, False
    return blue


@pytest.fixture(scope="module")
def waist(jeans: NDArray[np.bool_]) -> int:
    """Row in which the jeans begin between the halves of the jacket."""
    return int(np.flatnonzero(jeans[:, MIDDLE].mean(1) > 0.5)[0])


@pytest.fixture(scope="module")
def in_skirt(person: Wearer) -> Dressed:
    return put_on(person, skirt(plain(MAGENTA, (700, 700))))


@pytest.fixture(scope="module")
def in_trousers(person: Wearer) -> Dressed:
    return put_on(person, trousers(plain(GREEN, (600, 1200)), thigh=560.0))


def jeans_coloured(rgb: NDArray[np.uint8]) -> NDArray[np.bool_]:
    red, _, blue = np.moveaxis(rgb.astype(int), 2, 0)
    return np.asarray((blue - red > 15) & (blue < 200))


def of_hue(picture: NDArray[np.uint8], color: tuple[int, int, int]) -> NDArray[np.bool_]:
    light = np.maximum(picture.astype(np.float32).sum(2), 1)
    return np.asarray(np.abs(picture / light[..., None] - np.array(color) / sum(color)).max(2) < 0.06)


def extent(row: NDArray[np.bool_]) -> float:
    """How wide a row's pixels lie, without a few stray ones at either side."""
    return float(np.ptp(np.percentile(np.flatnonzero(row), [1, 99])))


def test_a_skirt_hangs_from_the_waist_to_its_own_hem(
    person: Wearer, in_skirt: Dressed, jeans: NDArray[np.bool_], waist: int
) -> None:
    rows = np.flatnonzero(of_hue(in_skirt.canvas.picture(), MAGENTA)[:, MIDDLE].mean(1) > 0.5)
    assert waist - 0.1 * person.figure.span < rows[0] < waist + 0.03 * person.figure.span
    # By hand: it is 480 pixels long and 260 wide at the waist, so 1.85 hips long if its waist fits the hips, and
    # somewhat longer if the body there is wider than the jeans that are seen beside the jacket.
    assert 1.6 < (rows[-1] - rows[0]) / extent(jeans[560]) < 2.5


def test_a_skirt_covers_the_hips_of_the_old_trousers(
    person: Wearer, in_skirt: Dressed, jeans: NDArray[np.bool_], waist: int
) -> None:
    hips = jeans.copy()
    hips[round(waist + 1.2 * person.figure.span) :] = False
    assert hips.sum() > 10_000
    assert of_hue(in_skirt.canvas.picture(), MAGENTA)[hips].mean() > 0.97


def test_below_a_skirt_legs_are_bare_and_nothing_of_the_old_trousers_is_left(
    person: Wearer, in_skirt: Dressed, jeans: NDArray[np.bool_]
) -> None:
    picture = in_skirt.canvas.picture()
    hem = int(np.flatnonzero(of_hue(picture, MAGENTA)[:, MIDDLE].mean(1) > 0.5)[-1])
    below = jeans.copy()
    below[: hem + 15] = False
    below[SHOES - 25 :] = False
    assert below.sum() > 1500
    assert jeans_coloured(picture)[below].mean() < 0.01
    skin = below & (picture[..., 0].astype(int) - picture[..., 2] > 20)
    for half in (np.s_[:, :300], np.s_[:, 300:]):  # a leg in each
        assert skin[half].sum() > 0.3 * below[half].sum()
    face = np.median(person.rgb[person.face_skin > 0.9], axis=0)
    legs = np.median(picture[skin], axis=0)
    assert np.linalg.norm((rgb2lab(face / 255) - rgb2lab(legs / 255))[1:]) < 8


def test_a_skirt_leaves_what_is_worn_above_as_it_was(person: Wearer, in_skirt: Dressed, waist: int) -> None:
    above = np.s_[: round(waist - 0.1 * person.figure.span)]
    picture = in_skirt.canvas.picture()
    np.testing.assert_array_equal(picture[above], person.rgb[above])
    # The jacket hangs over the waistband; in its shadow jeans are dark too, but blue.
    black = ((person.rgb.max(2) < 70) & (np.ptp(person.rgb, axis=2) < 16)).astype(np.uint8)
    black[:waist], black[waist + 40 :], black[:, :200], black[:, 375:] = 0, 0, 0, 0
    jacket = cv2.erode(cv2.morphologyEx(black, cv2.MORPH_CLOSE, np.ones((5, 5))), np.ones((9, 9))) > 0
    assert jacket.sum() > 1000
    assert (np.abs(picture[jacket].astype(int) - person.rgb[jacket]).max(1) < 8).mean() > 0.99


def test_a_new_waistband_covers_the_old_one(in_trousers: Dressed, jeans: NDArray[np.bool_], waist: int) -> None:
    picture = in_trousers.canvas.picture()
    band = np.s_[waist : waist + 40, MIDDLE]
    assert jeans[band].mean() > 0.8
    assert of_hue(picture, GREEN)[band][jeans[band]].mean() > 0.97


def test_baggy_trousers_are_not_much_wider_than_what_the_hips_fill(
    in_trousers: Dressed, jeans: NDArray[np.bool_]
) -> None:
    green = of_hue(in_trousers.canvas.picture(), GREEN)
    rows = range(560, 680, 10)  # from below the jacket to the thighs
    wider = np.array([extent(green[row]) / extent(jeans[row]) for row in rows])
    assert wider.min() > 0.95
    # Drawn 560 wide with a waistband of 300, the thighs would be more than one and a half of what is seen.
    assert wider.mean() < 1.22
    assert wider.max() < 1.33
