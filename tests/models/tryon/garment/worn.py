"""Garments drawn by arithmetic, all points known, and a pose made of numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from models.perception.landmarker import Crop
from models.perception.pose import BodyPoint, BodyPose
from models.tryon.garment.asset import GarmentAsset
from models.tryon.garment.landmarks import SleeveKind
from services.domain.product import GarmentCategory, ProductView

Picture = NDArray[np.uint8]


def _dense(points: list[tuple[float, float]]) -> NDArray[np.float32]:
    """A closed polygon with a point every few pixels."""
    corners = np.array(points, np.float32)
    sides = zip(corners, np.roll(corners, -1, 0), strict=True)
    return np.concatenate(
        [np.linspace(a, b, max(2, int(np.hypot(*(b - a)) / 4)), endpoint=False) for a, b in sides]
    ).astype(np.float32)


def _asset(
    outline: list[tuple[float, float]],
    landmarks: Mapping[str, tuple[float, float]],
    category: GarmentCategory,
    sleeves: SleeveKind,
    print_rgb: Picture,
) -> GarmentAsset:
    import cv2

    height, width = print_rgb.shape[:2]
    alpha = np.zeros((height, width), np.uint8)
    polygon = _dense(outline)
    cv2.fillPoly(alpha, [np.rint(polygon).astype(np.int32)], 255)
    return GarmentAsset(
        picture_rgba=np.dstack([print_rgb, alpha]),
        category=category,
        view=ProductView.FRONT,
        sleeves=sleeves,
        landmarks=landmarks,
        outline=polygon,
        inner=np.zeros((height, width), np.uint8),
    )


def plain(color: tuple[int, int, int] = (40, 90, 200), size: tuple[int, int] = (900, 900)) -> Picture:
    return np.full((size[1], size[0], 3), color, np.uint8)


def top(
    print_rgb: Picture | None = None, *, sleeve: float = 170.0, hem: float = 790.0, **changes: object
) -> GarmentAsset:
    """A tee of 900 by 900 pixels, chest 400 wide; ``sleeve`` long, 0 for none; the wearer's left is at the right."""
    picture = plain() if print_rgb is None else print_rgb
    right = [(385.0, 110.0), (260.0, 150.0)]
    landmarks = {
        "collar_right": (385.0, 110.0),
        "collar_left": (515.0, 110.0),
        "neck_front": (450.0, 160.0),
        "shoulder_right": (260.0, 150.0),
        "shoulder_left": (640.0, 150.0),
        "armpit_right": (250.0, 330.0),
        "armpit_left": (650.0, 330.0),
        "waist_right": (250.0, 560.0),
        "waist_left": (650.0, 560.0),
        "hem_right": (250.0, hem),
        "hem_left": (650.0, hem),
    }
    if sleeve:
        outer = (260.0 - 0.55 * sleeve, 150.0 + 0.83 * sleeve)
        inner = (outer[0] + 110.0, outer[1] + 75.0)
        right += [outer, inner]
        landmarks |= {"cuff_right_outer": outer, "cuff_right_inner": inner}
        landmarks |= {f"cuff_left_{edge}": (900.0 - x, y) for edge, (x, y) in (("outer", outer), ("inner", inner))}
    right += [(250.0, 330.0), (250.0, hem)]
    left = [(900.0 - x, y) for x, y in right]
    # Clockwise on the screen from the top of the axis: the picture's right side first.
    outline = [(450.0, 160.0), *left, *right[::-1]]
    category = changes.get("category", GarmentCategory.TOP)
    assert isinstance(category, GarmentCategory)
    return _asset(outline, landmarks, category, SleeveKind.SLEEVED if sleeve else SleeveKind.SLEEVELESS, picture)


def dress(print_rgb: Picture | None = None) -> GarmentAsset:
    """A sleeveless dress twice as long as it is wide."""
    picture = plain(size=(900, 1200)) if print_rgb is None else print_rgb
    return top(picture, sleeve=0.0, hem=1130.0, category=GarmentCategory.DRESS)


def skirt(print_rgb: Picture | None = None) -> GarmentAsset:
    """A flared skirt, waistband 260 wide, 480 long."""
    picture = plain((170, 40, 150), (700, 700)) if print_rgb is None else print_rgb
    marks = {
        "waist_right": (220.0, 80.0),
        "waist_left": (480.0, 80.0),
        "hem_right": (140.0, 560.0),
        "hem_left": (560.0, 560.0),
    }
    outline = [(350.0, 80.0), marks["waist_left"], marks["hem_left"], (350.0, 560.0), marks["hem_right"]]
    outline += [marks["waist_right"]]
    return _asset(outline, marks, GarmentCategory.SKIRT, SleeveKind.NONE, picture)


def low_necked(print_rgb: Picture | None = None) -> GarmentAsset:
    """The tee of ``top`` with a round neck 200 wide and 178 deep."""
    usual = top(print_rgb)
    marks = dict(usual.landmarks)
    marks |= {"collar_right": (350.0, 122.0), "collar_left": (550.0, 122.0), "neck_front": (450.0, 300.0)}
    turns = np.linspace(np.pi, 0, 24)
    outline = [(float(450 + 100 * np.cos(turn)), float(122 + 178 * np.sin(turn))) for turn in turns]
    left = [marks["shoulder_left"], marks["cuff_left_outer"], marks["cuff_left_inner"], marks["armpit_left"]]
    left += [marks["hem_left"]]
    outline += [*left, *((900.0 - x, y) for x, y in left[::-1])]
    return _asset(outline, marks, GarmentCategory.TOP, SleeveKind.SLEEVED, usual.picture_rgba[..., :3])


def trousers(print_rgb: Picture | None = None, *, thigh: float = 0.0) -> GarmentAsset:
    """Trousers, waistband 300 wide, 1000 long: straight, or ``thigh`` wide below the waistband."""
    picture = plain((30, 120, 60), (600, 1200)) if print_rgb is None else print_rgb
    marks = {
        "waist_right": (150.0, 80.0),
        "waist_left": (450.0, 80.0),
        "crotch": (300.0, 380.0),
        "leg_right_outer": (110.0, 1080.0),
        "leg_right_inner": (250.0, 1080.0),
        "leg_left_inner": (350.0, 1080.0),
        "leg_left_outer": (490.0, 1080.0),
    }
    outline = [(300.0, 80.0), marks["waist_left"], marks["leg_left_outer"], marks["leg_left_inner"], marks["crotch"]]
    outline += [marks["leg_right_inner"], marks["leg_right_outer"], marks["waist_right"]]
    if thigh:
        outline[2:2] = [(300.0 + thigh / 2, 260.0), (300.0 + thigh / 2, 380.0)]
        outline[-1:-1] = [(300.0 - thigh / 2, 380.0), (300.0 - thigh / 2, 260.0)]
    return _asset(outline, marks, GarmentCategory.TROUSERS, SleeveKind.NONE, picture)


def standing(**moved: tuple[float, float]) -> BodyPose:
    """Somebody who stands facing us in 600 by 1000 pixels, shoulders 200 apart; ``moved`` points by name."""
    places: dict[str, tuple[float, float]] = {
        "NOSE": (300, 120),
        "LEFT_SHOULDER": (400, 250),
        "RIGHT_SHOULDER": (200, 250),
        "LEFT_ELBOW": (440, 400),
        "RIGHT_ELBOW": (160, 400),
        "LEFT_WRIST": (450, 540),
        "RIGHT_WRIST": (150, 540),
        "LEFT_INDEX": (450, 590),
        "RIGHT_INDEX": (150, 590),
        "LEFT_HIP": (360, 550),
        "RIGHT_HIP": (240, 550),
        "LEFT_KNEE": (365, 740),
        "RIGHT_KNEE": (235, 740),
        "LEFT_ANKLE": (365, 930),
        "RIGHT_ANKLE": (235, 930),
        "LEFT_FOOT_INDEX": (380, 960),
        "RIGHT_FOOT_INDEX": (220, 960),
    }
    places |= {name.upper(): place for name, place in moved.items()}
    points = np.zeros((33, 3), np.float32)
    for name, place in places.items():
        points[BodyPoint[name], :2] = place
    inside = (points[:, 0] >= 0) & (points[:, 0] < 600) & (points[:, 1] >= 0) & (points[:, 1] < 1000)
    seen = np.where(inside, 0.99, 0.02).astype(np.float32)
    return BodyPose(
        points=points,
        visibility=seen,
        presence=seen,
        confidence=1.0,
        crop=Crop(x=300, y=500, side=1000, angle=0.0),
        outline=np.zeros((256, 256), np.float32),
    )
