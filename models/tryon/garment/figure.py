"""The body that a garment is fitted to: joints, limbs and outline, in one frame that goes with the torso."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from models.perception.pose import BodyPoint, BodyPose
from models.tryon.garment.warp import Mask, Points, resampled

# All lengths below are shares of the distance between the shoulder joints, measured on the five upright persons.
_TORSO: Final = 1.52  # shoulder line to hip line of somebody who stands upright
_LEAST_SPAN: Final = 0.6  # of the torso: who is turned shows narrower shoulders, but is no smaller
_ARM_RADII: Final = (0.17, 0.155, 0.125, 0.115, 0.075)  # shoulder, mid, elbow, mid, wrist; bare
_LEG_RADII: Final = (0.30, 0.245, 0.165, 0.165, 0.095)  # hip, mid, knee, calf, ankle; bare
_SHOULDER_TOP: Final = ((0.20, 0.235), (0.40, 0.15), (0.58, 0.07), (0.7, 0.0))  # (to the side, above the joints)
_TRUNK: Final = ((0.0, 0.60), (0.35, 0.57), (0.75, 0.52), (1.05, 0.49), (1.45, 0.53), (1.7, 0.55))
_SEEN: Final = 0.5


class Side(StrEnum):
    """The wearer's own."""

    LEFT = "left"
    RIGHT = "right"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limb:
    """An arm or a leg.

    Attributes:
        joints: (3, 2): shoulder, elbow, wrist or hip, knee, ankle.
        tip: Knuckles or toes.
        radii: (5,): half the bare limb's width at the joints and half-way between them, pixels.
        seen: How sure the last joint is, 0 to 1.
        mid_seen: How sure the middle joint is.
    """

    joints: Points
    tip: Points
    radii: NDArray[Any]
    seen: float
    mid_seen: float

    @property
    def length(self) -> float:
        return float(np.linalg.norm(np.diff(self.joints, axis=0), axis=1).sum())

    def centre_line(self, num_points: int = 41) -> Points:
        """The limb's axis with a rounded bend, evenly spaced (num_points, 2)."""
        start, bend, end = self.joints.astype(np.float64)
        rounded = np.linspace(0, 1, 12)[1:, None]
        before, after = bend + 0.25 * (start - bend), bend + 0.25 * (end - bend)
        curve = (1 - rounded) ** 2 * before + 2 * rounded * (1 - rounded) * bend + rounded**2 * after
        line = np.concatenate([np.linspace(start, before, 24), curve, np.linspace(after, end, 24)[1:]])
        return resampled(line.astype(np.float32), num_points)

    def radius_at(self, share: NDArray[Any]) -> NDArray[Any]:
        """Bare half-width at shares (0 to 1) of the length."""
        first = float(np.linalg.norm(self.joints[1] - self.joints[0])) / max(self.length, 1e-6)
        knots = [0, first / 2, first, (1 + first) / 2, 1]
        return np.asarray(np.interp(share, knots, self.radii), np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """Where the body is.

    Torso coordinates are (to the wearer's left, down) in pixels from the middle of the shoulder joints.

    Attributes:
        span: Distance of the shoulder joints, foreshortening undone, pixels: the unit of all proportions.
        shown_span: The same as the picture shows it.
        across, down: Unit vectors of the torso frame in the picture.
        hips_seen: Whether the hips are in the picture; otherwise they are where they should be.
        shoulder_lift: How much higher than usual each shoulder's upper edge is seen, pixels.
        outline: (rows, 2): how far the person reaches to the right and to the left of the axis at ``outline_rows``, as
            dressed; arms left out.
        outline_sure: (rows, 2) bool: whether that is an edge seen in the picture, not a proportion.
    """

    span: float
    shown_span: float
    origin: Points
    across: Points
    down: Points
    shoulders: Mapping[Side, Points]
    hips: Mapping[Side, Points]
    hips_seen: bool
    torso_length: float
    arms: Mapping[Side, Limb]
    legs: Mapping[Side, Limb]
    shoulder_lift: Mapping[Side, float]
    outline_rows: NDArray[Any]
    outline: NDArray[Any]
    outline_sure: NDArray[np.bool_]

    def place(self, torso: NDArray[Any]) -> Points:
        """Torso coordinates (n, 2) as pixels of the picture."""
        return np.asarray(self.origin + torso[..., :1] * self.across + torso[..., 1:] * self.down, np.float32)

    def locate(self, picture: NDArray[Any]) -> Points:
        """Pixels of the picture (n, 2) as torso coordinates; the inverse of ``place``."""
        basis = np.stack([self.across, self.down], 1)
        return np.asarray((picture - self.origin) @ np.linalg.inv(basis).T, np.float32)

    def reach(self, down: NDArray[Any] | float, side: Side) -> NDArray[Any]:
        """How far the dressed body reaches to ``side`` of its axis, ``down`` pixels below the shoulders."""
        return np.asarray(np.interp(down, self.outline_rows, self.outline[:, int(side is Side.LEFT)]), np.float32)

    def shoulder_top(self, aside: float, side: Side | None = None) -> float:
        """How far above the joints the shoulder's upper edge is, ``aside`` pixels from the axis.

        Args:
            aside: Either sign.
            side: Whose shoulder; None: between the two.
        """
        x, y = zip(*_SHOULDER_TOP, strict=True)
        scale = self.shown_span / self.span
        usual = float(np.interp(abs(aside) / max(self.span * scale, 1e-6), x, y)) * self.span
        seen = self.shoulder_lift.values() if side is None else (self.shoulder_lift[side],)
        return usual + float(np.mean(list(seen)))


def usable_arm(limb: Limb, figure: Figure, side: Side) -> Limb:
    """The arm itself, or one that hangs down where the elbow was only guessed."""
    if limb.mid_seen >= 0.25 and (figure.hips_seen or min(limb.mid_seen, limb.seen) >= 0.5):
        return limb
    aside = figure.across * (1.0 if side is Side.LEFT else -1.0)
    shoulder = limb.joints[0]
    elbow = shoulder + figure.down * 0.72 * figure.span + aside * 0.2 * figure.span
    wrist = elbow + figure.down * 0.65 * figure.span
    return Limb(
        joints=np.stack([shoulder, elbow, wrist]).astype(np.float32),
        tip=wrist,
        radii=limb.radii,
        seen=limb.seen,
        mid_seen=limb.mid_seen,
    )


def measure(pose: BodyPose, person: Mask) -> Figure:
    """The figure of ``pose``.

    Args:
        person: Matte of the person alone, float32 (height, width) of the picture.
    """
    left, right = pose.at(BodyPoint.LEFT_SHOULDER), pose.at(BodyPoint.RIGHT_SHOULDER)
    origin = (left + right) / 2
    shown = max(float(np.linalg.norm(left - right)), 1.0)
    across = (left - right) / shown
    hips_left, hips_right = pose.at(BodyPoint.LEFT_HIP), pose.at(BodyPoint.RIGHT_HIP)
    hips_seen = pose.sees(BodyPoint.LEFT_HIP, BodyPoint.RIGHT_HIP, at_least=_SEEN) and _inside(
        (hips_left + hips_right) / 2, person.shape
    )
    middle = (hips_left + hips_right) / 2
    if hips_seen:
        torso_length = float(np.linalg.norm(middle - origin))
        down = (middle - origin) / max(torso_length, 1.0)
        span = float(np.clip(_LEAST_SPAN * torso_length, shown, 1.5 * shown))
    else:
        down = np.array([-across[1], across[0]], np.float32)
        down = down if down[1] > 0 else -down
        span, torso_length = shown, _TORSO * shown
        middle = origin + down * torso_length
        hips_left, hips_right = middle + across * 0.32 * span, middle - across * 0.32 * span
    arms = {side: _limb(pose, side, "ELBOW", "WRIST", "INDEX", "SHOULDER", _ARM_RADII, span) for side in Side}
    legs = {side: _limb(pose, side, "KNEE", "ANKLE", "FOOT_INDEX", "HIP", _LEG_RADII, span) for side in Side}
    rows = np.arange(0.0, 5.0, 0.05, dtype=np.float32) * np.float32(span)
    outline, sure = _outline(person, origin, across, down, span, shown, rows, arms)
    return Figure(
        span=span,
        shown_span=shown,
        origin=np.asarray(origin, np.float32),
        across=np.asarray(across, np.float32),
        down=np.asarray(down, np.float32),
        shoulders={Side.LEFT: left, Side.RIGHT: right},
        hips={Side.LEFT: hips_left, Side.RIGHT: hips_right},
        hips_seen=hips_seen,
        torso_length=torso_length,
        arms=arms,
        legs=legs,
        shoulder_lift=_shoulder_lift(person, origin, across, down, span, shown),
        outline_rows=rows,
        outline=outline,
        outline_sure=sure,
    )


def _inside(point: Points, shape: tuple[int, ...]) -> bool:
    return bool(0 <= point[0] < shape[1] and 0 <= point[1] < shape[0])


def _limb(
    pose: BodyPose, side: Side, bend: str, end: str, tip: str, start: str, radii: tuple[float, ...], span: float
) -> Limb:
    prefix = side.name
    names = [BodyPoint[f"{prefix}_{name}"] for name in (start, bend, end)]
    return Limb(
        joints=np.stack([pose.at(name) for name in names]).astype(np.float32),
        tip=pose.at(BodyPoint[f"{prefix}_{tip}"]),
        radii=np.array(radii, np.float32) * np.float32(span),
        seen=float(pose.visibility[names[2]]),
        mid_seen=float(pose.visibility[names[1]]),
    )


def _outline(
    person: Mask,
    origin: Points,
    across: Points,
    down: Points,
    span: float,
    shown: float,
    rows: NDArray[Any],
    arms: Mapping[Side, Limb],
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Half-widths (rows, 2) to the right and left, and whether an edge of the matte was met there."""
    import cv2

    narrow = shown / span
    usual = np.interp(rows / span, [row for row, _ in _TRUNK], [half for _, half in _TRUNK]) * span * narrow
    steps = np.arange(0.0, 1.1, 0.01, dtype=np.float32) * np.float32(span)
    outline = np.stack([usual, usual], 1).astype(np.float32)
    sure = np.zeros(outline.shape, bool)
    for column, (side, sign) in enumerate(((Side.RIGHT, -1.0), (Side.LEFT, 1.0))):
        at = origin + sign * steps[None, :, None] * across + rows[:, None, None] * down
        seen = cv2.remap(
            person, at[..., 0].astype(np.float32), at[..., 1].astype(np.float32), cv2.INTER_LINEAR, borderValue=0
        )
        height, width = person.shape
        inside = (at[..., 0] >= 0) & (at[..., 0] < width) & (at[..., 1] >= 0) & (at[..., 1] < height)
        start = round(0.2 / 0.01)
        for row in range(len(rows)):
            gone = np.flatnonzero(seen[row, start:] < 0.5)
            if not len(gone) or gone[0] == 0 or not inside[row, start + gone[0]]:
                continue
            edge = float(steps[start + gone[0]])
            arm = _arm_aside(arms[side], origin, across, down, float(rows[row]), sign, 0.13 * span)
            limit = min(arm if arm is not None else 1e9, 1.6 * float(usual[row]))
            is_edge = edge <= limit
            value = edge if is_edge else min(limit, float(usual[row])) if arm is not None else float(usual[row])
            outline[row, column] = max(value, 0.36 * span * narrow)
            sure[row, column] = is_edge
    # A row that missed (a gap between arm and trunk) would dent the garment.
    for column in range(2):
        outline[:, column] = cv2.GaussianBlur(cv2.medianBlur(outline[:, column : column + 1], 5), (1, 5), 0)[:, 0]
    return outline, sure


def _shoulder_lift(
    person: Mask, origin: Points, across: Points, down: Points, span: float, shown: float
) -> dict[Side, float]:
    """The matte's upper edge over each shoulder against the usual one; 0 where hair or the picture's end hides it."""
    import cv2

    asides = np.linspace(0.40, 0.54, 8, dtype=np.float32)
    steps = np.linspace(-0.05, 0.5, 56, dtype=np.float32) * np.float32(span)
    lifts = {}
    for side, sign in ((Side.LEFT, 1.0), (Side.RIGHT, -1.0)):
        foot = origin + sign * asides[:, None] * shown * across
        at = foot[:, None] - steps[None, :, None] * down
        seen = cv2.remap(
            person, at[..., 0].astype(np.float32), at[..., 1].astype(np.float32), cv2.INTER_LINEAR, borderValue=0
        )
        usual = np.interp(asides, [x for x, _ in _SHOULDER_TOP], [y for _, y in _SHOULDER_TOP]) * span
        ends = (seen < 0.5).argmax(1)
        found = (ends > 0) & (seen[:, 0] > 0.5)
        above = steps[ends] - usual
        near = found & (np.abs(above) < 0.16 * span)
        lifts[side] = float(np.median(above[near])) if near.sum() >= 4 else 0.0
    return lifts


def _arm_aside(
    arm: Limb, origin: Points, across: Points, down: Points, row: float, sign: float, radius: float
) -> float | None:
    """Where the arm's inner edge crosses a row of the torso, pixels from the axis; None when it does not."""
    knuckles = arm.tip + 0.5 * (arm.tip - arm.joints[2])
    line = np.concatenate([arm.joints, knuckles[None]]) - origin
    aside, below = sign * (line @ across), line @ down
    best: float | None = None
    for k in range(3):
        low, high = sorted((float(below[k]), float(below[k + 1])))
        if low <= row <= high and high > low:
            share = (row - below[k]) / (below[k + 1] - below[k])
            crossing = float(aside[k] + share * (aside[k + 1] - aside[k])) - radius
            best = crossing if best is None else min(best, crossing)
    return best
