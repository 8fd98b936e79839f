from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from models.tryon.wig.asset import WigAsset
from models.tryon.wig.head_frame import HeadFrame
from models.tryon.wig.neckline import bare_below
from models.tryon.wig.own_hair import take_hair_away
from models.tryon.wig.removable import require_removable
from models.tryon.wig.seeing import SeenHead
from models.tryon.wig.worn import wear
from services.domain.errors import ContentRejected
from tests.models.tryon.wig.test_own_hair import HAIR, SHIRT, SKIN, _bare, _drawn

Head = Callable[[float, float, float], np.ndarray]


def test_a_neck_under_long_hair_is_of_one_tone_with_the_throat_that_is_seen(head: Head) -> None:
    points = head(240, 180, 150)
    picture, person, hair, _ = _drawn(points)
    chin = points[152, :2].astype(int)
    for left in (chin[0] - 100, chin[0] + 18):  # locks at both sides leave a strip of the throat free
        lock = np.zeros(hair.shape, bool)
        lock[chin[1] - 60 : chin[1] + 150, left : left + 82] = True
        lock[:, chin[0] - 18 : chin[0] + 18] = False
        picture[lock], hair[lock], person[lock] = HAIR, 1, 1
    bare = _bare(take_hair_away(picture, points, person, hair))

    row = bare[chin[1] + 30, chin[0] - 36 : chin[0] + 37].mean(1)
    assert np.abs(np.diff(row)).max() < 7  # no step
    assert np.abs(row - np.mean(SKIN)).max() < 60
    assert np.abs(row[20:-20] - np.mean(SKIN)).max() < 25


def test_the_forehead_goes_on_under_the_hairline_in_its_own_light(head: Head) -> None:
    points = head(240, 210, 150)
    picture, person, hair, _ = _drawn(points)
    light = np.linspace(1.1, 0.75, 480)[None, :, None]  # from the left
    picture = np.clip(picture * light, 0, 255).astype(np.uint8)
    fringe = (hair < 0.5) & (np.arange(520)[:, None] < points[9, 1] - 22) & (person > 0.9)
    picture[fringe], hair[fringe] = np.clip(np.array(HAIR) * light, 0, 255).repeat(520, 0)[fringe], 1
    bare = _bare(take_hair_away(picture, points, person, hair))

    top = int(points[10, 1])
    column = bare[top - 6 : int(points[9, 1]) - 8, 236:245].mean((1, 2))
    assert np.abs(np.diff(column)).max() < 5
    left, right = bare[top + 8, 200:210].mean(), bare[top + 8, 270:280].mean()
    assert left > right + 5


def test_glasses_stay_whole_where_hair_hangs_beside_them(head: Head) -> None:
    import cv2

    points = head(240, 210, 150)
    picture, person, hair, _ = _drawn(points)
    frame = np.zeros(hair.shape, np.uint8)
    eyes = [points[list(pair), :2].mean(0).astype(int) for pair in ((33, 133), (362, 263))]
    for x, y in eyes:
        cv2.circle(frame, (int(x), int(y)), 19, 255, 3)
    cv2.line(frame, (int(eyes[0][0]) + 19, int(eyes[0][1])), (int(eyes[1][0]) - 19, int(eyes[1][1])), 255, 3)
    picture[frame > 0] = 15
    hair[(frame > 0) & (np.arange(480)[None] < eyes[0][0])] = 0.6  # dark rims are taken for hair
    sitter = take_hair_away(picture, points, person, hair)

    assert (np.abs(_bare(sitter)[frame > 0] - 15) < 40).all(1).mean() > 0.97


def test_earrings_go_with_the_hair_that_hid_the_ears(head: Head) -> None:
    import cv2

    points = head(240, 210, 150)
    picture, person, hair, background = _drawn(points)
    ring = np.zeros(hair.shape, np.uint8)
    ends = int(np.flatnonzero(hair[:, 146] > 0.5).max())  # where the hair ends in that column
    cv2.ellipse(ring, (146, ends + 10), (4, 9), 0, 0, 360, 255, -1)
    picture[ring > 0] = 10
    bare = _bare(take_hair_away(picture, points, person, hair))

    assert np.abs(bare[ring > 0] - background[ring > 0]).max() < 25


def test_a_neckline_is_found_from_the_side_on_which_it_is_seen(head: Head) -> None:
    points = head(240, 150, 150)
    frame = HeadFrame(points, (520, 480))
    x, y = (part / frame.width for part in frame.from_point(frame.chin))
    truth = (x / 0.48) ** 2 + (np.maximum(y, 0) / 0.6) ** 2 < 1
    seen = (x < 0.05) & (y > 0) & (y < 1.4) & (np.abs(x) < 0.7)
    found = bare_below(frame, truth & seen, ~truth & seen)

    other_side = (x > 0.1) & (x < 0.6) & (y > 0.02) & (y < 1.2)
    assert (found == truth)[other_side].mean() > 0.95


def test_clothes_up_to_the_chin_leave_no_neck_bare(head: Head) -> None:
    points = head(240, 150, 150)
    frame = HeadFrame(points, (520, 480))
    below = frame.below_chin() > 8
    assert not (bare_below(frame, np.zeros_like(below), below) & below).any()


def test_a_print_that_hair_cut_in_two_goes_whole(head: Head) -> None:
    points = head(240, 150, 150)
    picture, person, hair, _ = _drawn(points)
    picture[360:380, 186:216] = 250  # a letter, half of it under a lock
    lock = np.zeros(hair.shape, bool)
    lock[230:470, 208:290] = True
    picture[lock], hair[lock], person[lock] = HAIR, 1, 1
    bare = _bare(take_hair_away(picture, points, person, hair))

    assert np.abs(bare[355:385, 180:230] - SHIRT).max() < 60


def test_hair_that_cannot_be_told_from_the_background_is_refused_by_name(head: Head, wig: WigAsset) -> None:
    points = head(240, 210, 110)
    picture, person, hair, _ = _drawn(points)
    hair[100:420, 330:420] = 0.4  # a tail of the background's colour
    person[100:420, 330:420] = 0.5
    worn = wear(take_hair_away(picture, points, person, hair), wig.picture_rgba, wig.landmarks, wig.light)

    with pytest.raises(ContentRejected) as refused:
        require_removable(SeenHead(points=points, person=person, hair=hair, confidence=0.9), worn)
    assert refused.value.code == "hair_not_removable"
