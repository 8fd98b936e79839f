from __future__ import annotations

import numpy as np
import pytest

from models.tryon.garment.gate import WarpQuality, require_pose, require_quality
from services.domain.errors import ContentRejected
from services.domain.product import GarmentCategory
from tests.models.tryon.garment.worn import standing

SHAPE = (1000, 600)


def refused(pose: object, category: GarmentCategory = GarmentCategory.TOP) -> ContentRejected:
    with pytest.raises(ContentRejected) as caught:
        require_pose(pose, category, SHAPE)  # type: ignore[arg-type]
    assert caught.value.code == "pose_not_usable"
    return caught.value


@pytest.mark.parametrize("category", list(GarmentCategory))
def test_somebody_who_stands_facing_us_can_wear_anything(category: GarmentCategory) -> None:
    assert require_pose(standing(), category, SHAPE).confidence == 1.0


def test_no_body_is_refused() -> None:
    assert "no body" in str(refused(None))


def test_a_back_view_is_refused() -> None:
    pose = standing(left_shoulder=(200, 250), right_shoulder=(400, 250))
    assert "back" in str(refused(pose))


def test_crossed_arms_are_refused() -> None:
    pose = standing(left_wrist=(230, 380), right_wrist=(370, 390))
    assert "crossed" in str(refused(pose))


def test_one_arm_before_the_body_is_no_reason_to_refuse() -> None:
    assert require_pose(standing(left_wrist=(230, 380)), GarmentCategory.TOP, SHAPE)


def test_a_top_needs_no_hips_and_trousers_do() -> None:
    far = {"left_hip": (360.0, 1050.0), "right_hip": (240.0, 1050.0)}
    far |= {"left_shoulder": (480.0, 700.0), "right_shoulder": (120.0, 700.0)}
    pose = standing(**far)
    assert require_pose(pose, GarmentCategory.TOP, SHAPE)
    assert "hips" in str(refused(pose, GarmentCategory.TROUSERS))


def test_somebody_who_lies_is_refused() -> None:
    pose = standing(left_shoulder=(300, 350), right_shoulder=(300, 250))
    assert "lies or leans" in str(refused(pose))


def test_somebody_seen_from_the_side_is_refused() -> None:
    pose = standing(left_shoulder=(340, 250), right_shoulder=(260, 250))
    assert "side" in str(refused(pose))


def test_somebody_who_sits_cannot_wear_trousers() -> None:
    pose = standing(left_knee=(370, 600), right_knee=(230, 600))
    assert require_pose(pose, GarmentCategory.TOP, SHAPE)
    assert "sits" in str(refused(pose, GarmentCategory.TROUSERS))


def test_a_tiny_person_is_refused() -> None:
    pose = standing(left_shoulder=(315, 250), right_shoulder=(285, 250), left_hip=(310, 290), right_hip=(290, 290))
    assert "pixels apart" in str(refused(pose))


SOUND = WarpQuality(folded=0.0, anisotropy=1.1, strips_folded=0.02, covered=1.0, bared=0.1)


@pytest.mark.parametrize(
    "torn",
    [
        {"folded": 0.02},
        {"anisotropy": 2.5},
        {"strips_folded": 0.5},
        {"covered": 0.7},
        {"bared": 0.8},
        {"torn": 0.3},
        {"sleeve_piece": 0.6},
    ],
)
def test_a_torn_picture_is_refused(torn: dict[str, float]) -> None:
    import dataclasses

    require_quality(SOUND, GarmentCategory.TOP)
    with pytest.raises(ContentRejected) as caught:
        require_quality(dataclasses.replace(SOUND, **torn), GarmentCategory.TOP)
    assert caught.value.code == "pose_not_usable"


def test_points_are_not_moved_by_the_gate() -> None:
    pose = standing()
    before = pose.points.copy()
    require_pose(pose, GarmentCategory.TROUSERS, SHAPE)
    np.testing.assert_array_equal(pose.points, before)
