"""Coordinates that a body gives its surroundings: along the torso and limbs, near a limb or far from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.perception.face import FaceLandmarks
from models.perception.face_frame import FACE_OVAL, rise
from models.perception.pose import BodyPoint, BodyPose

Values = NDArray[np.float32]

# In shoulder widths, from sure to not: half of a limb's thickness.
_UPPER_ARM: Final = (0.14, 0.24)
_FOREARM: Final = (0.10, 0.19)
_HAND: Final = (0.13, 0.22)
_THIGH: Final = (0.20, 0.40)
_SHIN: Final = (0.16, 0.34)
_FOOT: Final = (0.12, 0.20)
_SEEN: Final = (0.5, 0.8)  # visibility from which a limb counts not at all, and fully
_ACROSS: Final = (0.5, 0.9)  # shoulder widths beside the middle, torso lengths below the shoulders
# Where some mesh points lie on an upright face of width 1, from the nose's middle: for a face known by the body alone.
_CHEEKS: Final = {50: (-0.27, 0.1), 280: (0.27, 0.1), 205: (-0.25, 0.25), 425: (0.25, 0.25), 151: (0.0, -0.42)}
_ARM_POINTS: Final = (
    (
        BodyPoint.LEFT_SHOULDER,
        BodyPoint.LEFT_ELBOW,
        BodyPoint.LEFT_WRIST,
        BodyPoint.LEFT_INDEX,
        BodyPoint.LEFT_PINKY,
    ),
    (
        BodyPoint.RIGHT_SHOULDER,
        BodyPoint.RIGHT_ELBOW,
        BodyPoint.RIGHT_WRIST,
        BodyPoint.RIGHT_INDEX,
        BodyPoint.RIGHT_PINKY,
    ),
)
_LEG_POINTS: Final = (
    (
        BodyPoint.LEFT_HIP,
        BodyPoint.LEFT_KNEE,
        BodyPoint.LEFT_ANKLE,
        BodyPoint.LEFT_HEEL,
        BodyPoint.LEFT_FOOT_INDEX,
    ),
    (
        BodyPoint.RIGHT_HIP,
        BodyPoint.RIGHT_KNEE,
        BodyPoint.RIGHT_ANKLE,
        BodyPoint.RIGHT_HEEL,
        BodyPoint.RIGHT_FOOT_INDEX,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """How much each pixel may belong to it, float32 (h, w), 0 to 1.

    Attributes:
        forearm: With the hand.
        is_across: Whether the wrist lies before the torso: the arm does not hang beside it.
    """

    whole: Values
    forearm: Values
    hand: Values
    is_across: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyFrame:
    """Every pixel's place relative to the body; float32 or bool (h, w).

    Attributes:
        along: 0 at the shoulders, 1 at the hips, more on the legs.
        beside: Shoulder widths from the torso's middle line, signed.
        torso: Inside the shoulders and hips.
        left, right: The arms, the person's own sides.
        legs, thighs, feet: How much each pixel may belong to them, 0 to 1; 0 where they are not seen.
        shoulder_width, torso_length: Pixels.
    """

    along: Values
    beside: Values
    torso: NDArray[np.bool_]
    left: Arm
    right: Arm
    legs: Values
    thighs: NDArray[np.bool_]
    feet: Values
    shoulder_width: float
    torso_length: float

    @property
    def arms(self) -> Values:
        return np.maximum(self.left.whole, self.right.whole)

    @property
    def forearms(self) -> Values:
        return np.maximum(self.left.forearm, self.right.forearm)

    @property
    def hands(self) -> Values:
        return np.maximum(self.left.hand, self.right.hand)


def body_frame(points: Values, visibility: NDArray[np.float32], size: tuple[int, int]) -> BodyFrame:
    """The frame in a picture of ``size`` (width, height); ``points`` (33, 2) are in its pixels."""
    import cv2

    width, height = size
    left, right = points[BodyPoint.LEFT_SHOULDER], points[BodyPoint.RIGHT_SHOULDER]
    hips = points[[BodyPoint.LEFT_HIP, BodyPoint.RIGHT_HIP]]
    middle = (left + right) / 2
    torso_length = max(float(np.linalg.norm(hips.mean(0) - middle)), 1.0)
    below = (hips.mean(0) - middle) / torso_length
    # Seen from the side shoulders have no width; half the torso's length stands in.
    shoulder_width = max(float(np.linalg.norm(left - right)), 0.5 * torso_length)
    rows, columns = np.mgrid[:height, :width].astype(np.float32)
    x, y = columns - middle[0], rows - middle[1]
    outline = [left + 0.02 * (left - right), right + 0.02 * (right - left)]
    outline += [hips[1] + 0.12 * (hips[1] - hips[0]), hips[0] + 0.12 * (hips[0] - hips[1])]
    torso = np.zeros((height, width), np.uint8)
    cv2.fillPoly(torso, [np.round(outline).astype(np.int32)], (1,))

    def is_across(wrist: BodyPoint) -> bool:
        offset = points[wrist] - middle
        beside = abs(float(offset[1] * below[0] - offset[0] * below[1])) / shoulder_width
        return beside < _ACROSS[0] and float(offset @ below) / torso_length < _ACROSS[1]

    limbs = _Limbs(points, visibility, (rows, columns), shoulder_width)
    legs, thighs, feet = limbs.legs()
    return BodyFrame(
        along=np.asarray((x * below[0] + y * below[1]) / torso_length, np.float32),
        beside=np.asarray((y * below[0] - x * below[1]) / shoulder_width, np.float32),
        torso=torso > 0,
        left=limbs.arm(_ARM_POINTS[0], is_across=is_across(BodyPoint.LEFT_WRIST)),
        right=limbs.arm(_ARM_POINTS[1], is_across=is_across(BodyPoint.RIGHT_WRIST)),
        legs=legs,
        thighs=thighs,
        feet=feet,
        shoulder_width=shoulder_width,
        torso_length=torso_length,
    )


class _Limbs:
    def __init__(
        self, points: Values, visibility: NDArray[np.float32], grid: tuple[Values, Values], shoulder_width: float
    ) -> None:
        self._points = points
        self._visibility = visibility
        self._rows, self._columns = grid
        self._unit = shoulder_width

    def arm(self, names: tuple[BodyPoint, ...], *, is_across: bool) -> Arm:
        shoulder, elbow, wrist, index, pinky = (self._points[name] for name in names)
        seen = self._seen(names[1:3])
        upper_seen = self._seen(names[1:2])
        upper, _ = self._tube(shoulder, elbow, _UPPER_ARM)
        fore, at = self._tube(elbow, wrist, _FOREARM)
        hand, _ = self._tube(wrist, wrist + 1.5 * ((index + pinky) / 2 - wrist), _HAND)
        hand = hand * rise(at, 0.85, 1.05) * seen
        forearm = np.maximum(fore * seen, hand)
        whole = np.maximum(upper * upper_seen, forearm)
        return Arm(whole=whole, forearm=forearm, hand=hand, is_across=is_across)

    def legs(self) -> tuple[Values, NDArray[np.bool_], Values]:
        legs = np.zeros_like(self._rows)
        feet, thighs = legs.copy(), np.zeros(legs.shape, np.bool_)
        for names in _LEG_POINTS:
            hip, knee, ankle, heel, toes = (self._points[name] for name in names)
            seen = self._seen(names[1:2])
            thigh, at = self._tube(hip, knee, _THIGH)
            shin, _ = self._tube(knee, ankle, _SHIN)
            foot, _ = self._tube(0.35 * ankle + 0.65 * heel, toes, _FOOT)
            legs = np.maximum(legs, np.maximum(thigh, shin) * seen)
            thighs |= (thigh * seen > 0.95) & (at > 0.25) & (at < 0.85)
            feet = np.maximum(feet, foot * self._seen(names[2:3]))
        return legs, thighs, feet

    def _seen(self, names: tuple[BodyPoint, ...]) -> float:
        low, high = _SEEN
        return float(np.clip((self._visibility[list(names)].min() - low) / (high - low), 0, 1))

    def _tube(self, start: Values, end: Values, radii: tuple[float, float]) -> tuple[Values, Values]:
        """1 on the limb, 0 beyond its widest reach; and the place along it, 0 at its start and 1 at its end."""
        way = end - start
        x, y = self._columns - start[0], self._rows - start[1]
        along = (x * way[0] + y * way[1]) / max(float(way @ way), 1e-3)
        on = np.clip(along, 0, 1)
        distance = np.hypot(x - on * way[0], y - on * way[1])
        sure, not_at_all = (radius * self._unit for radius in radii)
        return 1 - rise(distance, sure, not_at_all), np.asarray(along, np.float32)


def face_of_pose(pose: BodyPose) -> FaceLandmarks:
    """A rough face for a body whose face was not found: an oval where the head must be, for ``frame_of``."""
    head = pose.points[:11, :2]
    ears = head[BodyPoint.LEFT_EAR] - head[BodyPoint.RIGHT_EAR]
    width = max(1.15 * float(np.linalg.norm(ears)), 0.38 * pose.shoulder_width, 4.0)
    points = np.zeros((468, 3), np.float32)
    points[:, :2] = head.mean(0)
    angles = np.linspace(0, 2 * np.pi, len(FACE_OVAL), endpoint=False)
    points[list(FACE_OVAL), 0] += 0.5 * width * np.sin(angles)
    points[list(FACE_OVAL), 1] -= 0.66 * width * np.cos(angles)
    for brow in (70, 63, 105, 66, 107, 336, 296, 334, 293, 300):
        points[brow, 1] -= 0.22 * width
    for index, (x, y) in _CHEEKS.items():
        points[index, :2] += np.array([x, y]) * width
    return FaceLandmarks(points=points, confidence=0.0, yaw=0.0, pitch=0.0, roll=0.0)
