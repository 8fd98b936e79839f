"""Where each pixel of a wig lies on another head: a thin-plate spline from mesh to mesh."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.talking_head.mesh.topology import FACE_OVAL

Picture = NDArray[np.uint8]
Matte = NDArray[np.float32]
Points = NDArray[np.float32]

_ANCHORS: Final = (105, 334, 9, 168, 6, 197, 4)  # brows and nose: the hairline follows them, not the cheeks alone
_SMOOTHING: Final = 5e-3  # of the spline, coordinates in face widths: single points may be off, the head is not
_GROWN: Final = 1.03  # a wig sits on the hair or cap below it
_RING: Final = 18
_RING_RADII: Final = (0.98, 1.22)  # of the outer ellipse, in face widths and face heights
_FAR: Final = ((-2.2, 0.6), (-2.2, 2.0), (0.0, 2.4), (2.2, 2.0), (2.2, 0.6), (-1.3, 1.6), (1.3, 1.6))
_GRID_PX: Final = 8
# How much of the outlines' difference the wig follows: where two heads look different ways, all of it would fold hair.
_SHARES: Final = (1.0, 0.7, 0.4, 0.15)
_STRETCH: Final = (0.3, 4.0)  # of an area, against the rigid placement
_UPRIGHT: Final = 0.75  # how much of the head's tilt hair that hangs below the chin does not follow


@dataclass(frozen=True, slots=True, kw_only=True)
class Similarity:
    """Turn, scale and shift of the plane: ``point @ matrix.T + shift``."""

    matrix: Points
    shift: Points

    @property
    def scale(self) -> float:
        return float(np.sqrt(abs(np.linalg.det(self.matrix))))

    @property
    def angle(self) -> float:
        return float(np.arctan2(self.matrix[1, 0], self.matrix[0, 0]))

    def __call__(self, points: Points) -> Points:
        return np.asarray(points @ self.matrix.T + self.shift, np.float32)


def similarity(source: Points, target: Points) -> Similarity:
    """The best one that takes ``source`` (n, 2) to ``target`` (Umeyama 1991, without mirroring)."""
    source_mean, target_mean = source.mean(0), target.mean(0)
    a, b = (source - source_mean).astype(np.float64), (target - target_mean).astype(np.float64)
    u, d, vt = np.linalg.svd(b.T @ a / len(a))
    sign = np.array([1.0, np.sign(np.linalg.det(u @ vt))])
    matrix = u @ np.diag(sign) @ vt * ((d * sign).sum() / max(a.var(0).sum(), 1e-9))
    return Similarity(matrix=matrix.astype(np.float32), shift=(target_mean - matrix @ source_mean).astype(np.float32))


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """A wig's way onto one head.

    Attributes:
        places: float32 (h, w, 2): for each pixel of the portrait the place in the wig's picture, x and y.
        onto: The rigid part of it, wig to portrait.
    """

    places: NDArray[np.float32]
    onto: Similarity

    def worn(self, wig_rgba: Picture) -> Picture:
        """The wig as it lies on the portrait, (h, w, 4), straight alpha; its colour goes on where alpha is 0."""
        import cv2

        rgba, places = wig_rgba, self.places
        scale = self.onto.scale
        if scale < 0.7:  # bilinear taps would skip strands
            size = (max(1, round(rgba.shape[1] * scale)), max(1, round(rgba.shape[0] * scale)))
            factor = np.array([size[0] / rgba.shape[1], size[1] / rgba.shape[0]], np.float32)
            rgba = _shrunk(rgba, size)
            places = (places + np.float32(0.5)) * factor - np.float32(0.5)
        alpha = rgba[..., 3:].astype(np.float32)
        premultiplied = np.dstack([rgba[..., :3] * (alpha / 255), alpha]).astype(np.float32)
        method = cv2.INTER_CUBIC if scale > 1.3 else cv2.INTER_LINEAR
        warped = cv2.remap(premultiplied, places, None, method, borderMode=cv2.BORDER_CONSTANT)  # type: ignore[call-overload]
        opacity = np.clip(warped[..., 3:], 0, 255)
        straight = warped[..., :3] * 255 / np.maximum(opacity, 1)
        return np.asarray(np.clip(np.rint(np.dstack([straight, opacity])), 0, 255), np.uint8)


def fit_wig(wig_points: Points, points: Points, width: int, height: int) -> Placement:
    """The placement on the head with mesh ``points`` in a picture of this size, of a wig whose head is ``wig_points``.

    Source: thin-plate spline with smoothing (Wahba 1990), as ``scipy.interpolate.RBFInterpolator`` has it. The face's
    outline, brows and nose lead; an ellipse about the head and points far out keep the rest rigid, so that hair away
    from the face is turned and scaled but never bent.
    """
    import cv2
    from scipy.interpolate import RBFInterpolator

    leading = [*FACE_OVAL, *_ANCHORS]
    target, source = points[leading, :2].astype(np.float32), wig_points[leading, :2].astype(np.float32)
    onto = _grown(similarity(source, target), target)
    back = _inverse(onto)
    around, upright = _surrounding(points)
    ring_back = back(around)
    hanging = back(_leaned(upright, points, onto.angle * _UPRIGHT))
    unit = max(float(np.linalg.norm(points[454, :2] - points[234, :2])), 1.0)
    centre = target.mean(0)
    grown = centre + (target - centre) * np.float32(_GROWN)
    ends = np.concatenate([grown, around, upright])
    columns, rows = -(-width // _GRID_PX) + 1, -(-height // _GRID_PX) + 1
    x, y = np.meshgrid(np.arange(columns) * _GRID_PX, np.arange(rows) * _GRID_PX)
    grid = (np.stack([x.ravel(), y.ravel()], 1) - centre) / unit
    rigid = back(grown)
    for share in _SHARES:
        starts = np.concatenate([rigid + share * (source - rigid), ring_back, hanging])
        spline = RBFInterpolator((ends - centre) / unit, starts, smoothing=_SMOOTHING, kernel="thin_plate_spline")
        coarse = spline(grid).reshape(rows, columns, 2).astype(np.float32)
        if _is_smooth(coarse, onto.scale):
            break
    at = np.meshgrid(np.arange(width, dtype=np.float32) / _GRID_PX, np.arange(height, dtype=np.float32) / _GRID_PX)
    places = cv2.remap(coarse, at[0], at[1], cv2.INTER_LINEAR)
    return Placement(places=np.asarray(places, np.float32), onto=onto)


def _is_smooth(coarse: NDArray[np.float32], scale: float) -> bool:
    """Whether the map (rows, columns, 2) neither folds nor pinches nor pulls anywhere."""
    across, down = np.diff(coarse[:-1], axis=1) / _GRID_PX, np.diff(coarse[:, :-1], axis=0) / _GRID_PX
    area = (across[..., 0] * down[..., 1] - across[..., 1] * down[..., 0]) * scale**2
    return bool((area > _STRETCH[0]).all() and (area < _STRETCH[1]).all())


def _grown(onto: Similarity, target: Points) -> Similarity:
    centre = target.mean(0)
    matrix = onto.matrix * np.float32(_GROWN)
    return Similarity(matrix=matrix, shift=centre + (onto.shift - centre) * np.float32(_GROWN))


def _inverse(onto: Similarity) -> Similarity:
    matrix = np.linalg.inv(onto.matrix).astype(np.float32)
    return Similarity(matrix=matrix, shift=-(matrix @ onto.shift))


def _axes(points: Points) -> tuple[Points, Points, float, float]:
    """Unit vectors to the picture's right and down in the head's own frame, face width and height."""
    across, down = points[454, :2] - points[234, :2], points[152, :2] - points[10, :2]
    width, height = float(np.linalg.norm(across)), float(np.linalg.norm(down))
    right = across / max(width, 1e-6)
    return right, np.array([-right[1], right[0]], np.float32), width, height


def _surrounding(points: Points) -> tuple[Points, Points]:
    """Points on an ellipse about the head, (18, 2), and points far out at the sides and below."""
    right, down, width, height = _axes(points)
    centre = points[list(FACE_OVAL), :2].mean(0)
    angles = np.arange(_RING) * (2 * np.pi / _RING)
    ring = (
        centre
        + np.cos(angles)[:, None] * right * (_RING_RADII[0] * width)
        + np.sin(angles)[:, None] * down * (_RING_RADII[1] * height)
    )
    far = np.array([centre + x * width * right + y * height * down for x, y in _FAR])
    return ring.astype(np.float32), far.astype(np.float32)


def _leaned(far: Points, points: Points, angle: float) -> Points:
    """Points below the chin turned about it, so that what hangs there hangs straight down in the portrait."""
    chin = points[152, :2]
    cos, sin = np.cos(angle), np.sin(angle)
    turn = np.array([[cos, -sin], [sin, cos]], np.float32)
    return np.asarray((far - chin) @ turn.T + chin, np.float32)


def _shrunk(rgba: Picture, size: tuple[int, int]) -> Picture:
    import cv2

    alpha = rgba[..., 3:].astype(np.float32)
    small = cv2.resize(
        np.dstack([rgba[..., :3] * (alpha / 255), alpha]).astype(np.float32), size, interpolation=cv2.INTER_AREA
    )
    straight = small[..., :3] * 255 / np.maximum(small[..., 3:], 1)
    return np.asarray(np.clip(np.rint(np.dstack([straight, small[..., 3]])), 0, 255), np.uint8)
