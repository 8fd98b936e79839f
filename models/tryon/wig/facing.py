"""Turns a pinned-up wig whose photo shows the head turned, so that it faces the camera.

Hair that hangs follows no head; it stays as it was photographed. Pinned-up hair lies on the skull, so each place of it
is known in space: a skull's ellipsoid is turned by the angle between the ears. What the photo hides, behind the far
side, is the near side mirrored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.uint8]
Matte = NDArray[np.float32]
Points = NDArray[np.float32]

_LEAST: Final = 8.0  # degrees from which on a head is turned
_HANGING: Final = 0.08  # squared face widths of hair below the ears: more hangs
_BELOW: Final = 0.25  # face widths below the ears' fronts where that begins
_BEHIND: Final = 0.2  # face widths from the ears' fronts back to the skull's middle
_DEPTHS: Final = (0.65, 0.95)  # face widths from there to its surface
_WIDE: Final = (0.59, 0.68)  # the same to the sides
_WIDEST: Final = 0.22  # face widths above the ears' fronts where it is that wide
_HIGH: Final = (0.75, 1.1)  # and up to the crown beside the middle
_CROWN: Final = (-0.25, -0.15, 0.15, 0.25)  # face widths aside where that is measured
_FAR: Final = (0.10, 0.25)  # face widths to the far side over which the near side, mirrored, takes over
_ENDS: Final = (-0.16, -0.02)  # face widths down from the ears' fronts over which hair goes behind the ears
_CLOSER: Final = 0.14
_RIM: Final = 0.02  # face widths over which the outline is soft
_KNOT: Final = (0.05, 0.25)  # face widths above the crown where a knot is told, and below it where it begins
_TIED: Final = 0.5  # face widths from the ears' fronts back to a knot
_ROOM: Final = 0.35  # face widths by which the far side comes out from behind
_SOLID: Final = 128


def facing(rgba: Picture, points: Points) -> tuple[Picture, Points]:
    """The wig as seen from its front, and its mesh likewise; what hangs or is hardly turned comes back as it is.

    Args:
        rgba: uint8 (h, w, 4), straight alpha.
        points: float32 (468, 3), the mesh of the head that wears it.
    """
    import cv2

    frame = _Frame.of(points)
    rows, columns = np.nonzero(rgba[..., 3] > _SOLID)
    u, v = frame.own(columns.astype(np.float32), rows.astype(np.float32))
    hangs = int((v > _BELOW * frame.width).sum()) > _HANGING * frame.width**2
    if abs(np.degrees(frame.angle)) < _LEAST or hangs or not len(u):
        return rgba, points
    turned = _turned(points, frame)
    skull = _Skull.of(u, v, frame, turned)
    room = round(_ROOM * frame.width)
    x, y = np.meshgrid(
        np.arange(-room, rgba.shape[1] + room, dtype=np.float32), np.arange(rgba.shape[0], dtype=np.float32)
    )
    u, v = frame.own(x, y)
    alpha = rgba[..., 3:].astype(np.float32)
    premultiplied = np.dstack([rgba[..., :3] * (alpha / 255), alpha]).astype(np.float32)

    def photo(u: Matte) -> Matte:
        x, y = frame.picture(u, v)
        return np.asarray(cv2.remap(premultiplied, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT), np.float32)

    near, knot = skull.near(u)[..., None], skull.knot(u, v)[..., None]
    own, other = photo(skull.photographed(u, v)), photo(skull.photographed(-u, v))
    mixed = (other + near * (own - other)) * skull.inside(u, v)[..., None]
    tied = photo(skull.knot_photographed(u)) * knot
    mixed = tied + mixed * (1 - tied[..., 3:] / 255)
    straight = mixed[..., :3] * 255 / np.maximum(mixed[..., 3:], 1)
    result = np.clip(np.rint(np.dstack([straight, mixed[..., 3]])), 0, 255).astype(np.uint8)
    return result, np.asarray(turned + np.array([room, 0, 0]), np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    """A head's own directions in its photo.

    Attributes:
        origin: Between the ears' fronts, pixels.
        right: Unit vector from the picture-left to the picture-right one; down is square to it.
        angle: By which the head is turned about its upright axis, radians, positive to the picture's left.
        width: Between the ears' fronts in space, pixels.
    """

    origin: Points
    right: Points
    angle: float
    width: float

    @classmethod
    def of(cls, points: Points) -> _Frame:
        across = points[454] - points[234]
        flat = max(float(np.linalg.norm(across[:2])), 1e-6)
        return cls(
            origin=points[[234, 454], :2].mean(0),
            right=(across[:2] / flat).astype(np.float32),
            angle=float(np.arctan2(-across[2], flat)),
            width=float(np.hypot(flat, across[2])),
        )

    def own(self, x: Matte, y: Matte) -> tuple[Matte, Matte]:
        """Places of the picture as lengths to the head's right and down, pixels."""
        dx, dy = x - self.origin[0], y - self.origin[1]
        return dx * self.right[0] + dy * self.right[1], dy * self.right[0] - dx * self.right[1]

    def picture(self, u: Matte, v: Matte) -> tuple[Matte, Matte]:
        """The way back."""
        x = self.origin[0] + u * self.right[0] - v * self.right[1]
        y = self.origin[1] + u * self.right[1] + v * self.right[0]
        return np.asarray(x, np.float32), np.asarray(y, np.float32)


def _turned(points: Points, frame: _Frame) -> Points:
    """The mesh (468, 3) as it is when the head faces the camera."""
    u, v = frame.own(points[:, 0], points[:, 1])
    front = -(points[:, 2] - points[[234, 454], 2].mean())
    cos, sin = np.cos(frame.angle), np.sin(frame.angle)
    x, y = frame.picture(np.asarray(cos * u + sin * front, np.float32), v)
    return np.stack([x, y, sin * u - cos * front], 1).astype(np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Skull:
    """Half an ellipsoid with hair on it, in the frame of the head that faces the camera; lengths in pixels.

    Attributes:
        half: To the sides.
        depth: To the front.
        high: Upwards from where it is widest.
        angle: By which the photo shows it turned.
        width: The face's.
        knot_from, knot_to: Between which hair stands off the skull, to the right; equal when none does.
    """

    half: float
    depth: float
    high: float
    angle: float
    width: float
    knot_from: float
    knot_to: float

    @classmethod
    def of(cls, u: Matte, v: Matte, frame: _Frame, turned: Points) -> _Skull:
        """The one below the hair at these places of the photo, on a head with the mesh ``turned`` to the camera."""
        width = frame.width
        beside = (v < -0.1 * width) & (v > -0.55 * width)
        spread = float(np.ptp(np.percentile(u[beside], [1, 99]))) / 2 if beside.sum() > 50 else 0.0
        half = float(np.clip(0.98 * spread, _WIDE[0] * width, _WIDE[1] * width))
        crown = [float(-v[np.abs(u - place * width) < 0.02 * width].min(initial=0)) for place in _CROWN]
        # Where it is lowest there is no knot on it.
        high = float(np.clip(1.02 * min(crown), _HIGH[0] * width, _HIGH[1] * width)) - _WIDEST * width
        forehead, (_, row) = -float(turned[10, 2]), frame.own(turned[10:11, 0], turned[10:11, 1])
        rise = max(-float(row[0]) - _WIDEST * width, 0) / high
        depth = (forehead + _BEHIND * width) / float(np.sqrt(max(1 - rise**2, 0.1)))
        depth = float(np.clip(depth, _DEPTHS[0] * width, _DEPTHS[1] * width))
        above = u[v < -high - (_WIDEST + _KNOT[0]) * width]
        ends = np.percentile(above, [1, 99]) if len(above) > 50 else np.zeros(2)
        ends = (ends - np.sin(frame.angle) * _TIED * width) / np.cos(frame.angle)
        return cls(
            half=half,
            depth=depth,
            high=high,
            angle=frame.angle,
            width=width,
            knot_from=float(ends[0]),
            knot_to=float(ends[1]),
        )

    def photographed(self, u: Matte, v: Matte) -> Matte:
        """Where to the right the photo has what is at ``u`` of the head that faces the camera."""
        inner = 1 - (u / self.half) ** 2 - self._rise(v) ** 2
        front = self.depth * np.sqrt(np.maximum(inner, 0)) - _BEHIND * self.width
        return np.asarray(np.cos(self.angle) * u - np.sin(self.angle) * front, np.float32)

    def knot_photographed(self, u: Matte) -> Matte:
        """The same for a knot: it is tied at the back."""
        return np.asarray(np.cos(self.angle) * u + np.sin(self.angle) * _TIED * self.width, np.float32)

    def near(self, u: Matte) -> Matte:
        """1 on the side that the photo shows well, 0 where the other side is taken for it."""
        begin, end = _FAR
        aside = -np.sign(self.angle) * u / self.width
        return np.asarray(np.clip((end - aside) / (end - begin), 0, 1), np.float32)

    def inside(self, u: Matte, v: Matte) -> Matte:
        """1 where hair lies on a head that faces the camera: what stuck out behind it in the photo is hidden now."""
        limit = self.half * np.sqrt(np.maximum(1 - self._rise(v) ** 2, 0))
        below = np.clip(v / (_WIDEST * self.width) + 1, 0, 1)  # it lies closer where it goes behind the ears
        limit = limit * (1 - _CLOSER * below * below)
        rim = np.clip(0.5 - (np.abs(u) - limit) / (_RIM * self.width), 0, 1)
        ends = np.clip((_ENDS[1] - v / self.width) / (_ENDS[1] - _ENDS[0]), 0, 1)
        ends = ends * ends * (3 - 2 * ends)
        return np.asarray(rim * ends, np.float32)

    def knot(self, u: Matte, v: Matte) -> Matte:
        """1 where hair may stand off the skull."""
        soft = 2 * _RIM * self.width
        aside = np.clip(np.minimum(u - self.knot_from, self.knot_to - u) / soft + 1, 0, 1)
        above = np.clip((-v - self.high) / self.width - _WIDEST + _KNOT[1], 0, 0.1) / 0.1
        return np.asarray(aside * above * (self.knot_to > self.knot_from), np.float32)

    def _rise(self, v: Matte) -> Matte:
        """0 where the skull is widest and below, 1 at the crown."""
        return np.asarray(np.maximum(-v - _WIDEST * self.width, 0) / self.high, np.float32)
