"""A lower neckline than what was worn: the skin that comes to light; places and colours read off the photo."""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from models.tryon.garment.dress import Dressed
from models.tryon.garment.dress import dress as put_on
from models.tryon.garment.wearer import Wearer
from tests.models.tryon.garment.worn import low_necked
from tests.models.tryon.wig.cielab import rgb2lab

DENIM = "persons/woman_denim_full.png"  # a white tee under a black jacket, 1024 high
LUMA = np.array([0.299, 0.587, 0.114])


@pytest.fixture(scope="module")
def person(wearer: Callable[[str], Wearer]) -> Wearer:
    return wearer(DENIM)


@pytest.fixture(scope="module")
def dressed(person: Wearer) -> Dressed:
    return put_on(person, low_necked())


@pytest.fixture(scope="module")
def tee(person: Wearer, dressed: Dressed) -> NDArray[np.bool_]:
    """White cloth of the photo that the new top leaves free."""
    white = (person.rgb.min(2) > 170) & (np.ptp(person.rgb, axis=2) < 25)
    white[:262], white[330:], white[:, :250], white[:, 312:] = False, False, False, False
    return np.asarray(white & (cv2.dilate(dressed.garment, np.ones((9, 9), np.uint8)) < 0.02))


def test_skin_below_the_old_collar_is_of_the_faces_colour_and_no_white_is_left(
    person: Wearer, dressed: Dressed, tee: NDArray[np.bool_]
) -> None:
    assert tee.sum() > 1200
    picture = dressed.canvas.picture()
    face = rgb2lab(np.median(person.rgb[person.face_skin > 0.9], axis=0) / 255)
    lab = rgb2lab(picture[tee] / 255)
    assert np.percentile(np.linalg.norm(lab[:, 1:] - face[1:], axis=1), 98) < 12
    assert (np.ptp(picture[tee], axis=1) > 40).mean() > 0.99  # the tee differed by 25 at most


def test_skin_below_the_old_collar_goes_on_from_the_neck_and_is_not_flat(
    dressed: Dressed, tee: NDArray[np.bool_]
) -> None:
    luma = cv2.GaussianBlur(dressed.canvas.picture() @ LUMA, (0, 0), 2.0)
    columns = np.s_[275:292]
    under_chin, throat, chest = (
        luma[rows, columns].mean() for rows in (np.s_[224:232], np.s_[246:254], np.s_[300:320])
    )
    assert tee[300:320, columns].all()
    assert under_chin < 0.8 * chest  # the chin's shadow stays
    assert abs(luma[268:276, columns].mean() - throat) < 15  # hardly a step where the collar ended
    assert np.ptp(np.percentile(luma[tee], [3, 97])) > 3  # light changes over it, its grain smoothed away
