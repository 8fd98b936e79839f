"""The outline of a garment as a curve: straightened by its own axis, its corners, its symmetric halves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

SIDE_PX: Final = 512  # landmarks are sought at this size
POINTS: Final = 1024  # of the outline, evenly spaced
_TILTS_DEG: Final = 30  # a product photo is tilted by less; more is a sideways photo
_WORTH_DEG: Final = 2.0
_WORTH_GAIN: Final = 0.015  # of mirrored overlap
_SMALL_PX: Final = 112
_CORNER: Final = 0.045  # of the height: arms of the angle that is called a corner


@dataclass(frozen=True, slots=True, kw_only=True)
class Silhouette:
    """A garment's outer shape, upright.

    Attributes:
        mask: uint8 (h, w) of 0 and 1, openings filled.
        outline: float32 (``POINTS``, 2) x, y, clockwise on the screen from the top of the axis.
        axis_x: Where the garment's own middle is.
        top, bottom: Rows of its highest and lowest pixel.
        symmetry: 0 to 1, how far it overlaps its own mirror image.
    """

    mask: NDArray[np.uint8]
    outline: NDArray[np.float32]
    axis_x: float
    top: float
    bottom: float
    symmetry: float

    @property
    def height(self) -> float:
        return self.bottom - self.top

    def mirrored(self) -> Silhouette:
        """The same seen in a mirror, so that what finds the right half's points finds the left half's."""
        width = self.mask.shape[1]
        outline = self.outline[::-1].copy()
        outline[:, 0] = width - 1 - outline[:, 0]
        return Silhouette(
            mask=np.ascontiguousarray(self.mask[:, ::-1]),
            outline=np.roll(outline, 1, axis=0),
            axis_x=width - 1 - self.axis_x,
            top=self.top,
            bottom=self.bottom,
            symmetry=self.symmetry,
        )

    def right_half(self) -> NDArray[np.float32]:
        """The outline from the top of the axis over the picture's right side to the bottom of the axis."""
        beside = np.abs(self.outline[:, 0] - self.axis_x) > self.height / 100
        bottom = int(np.argmax(self.outline[:, 1] - 10 * self.height * beside))
        return self.outline[: bottom + 1]

    def turns(self) -> NDArray[np.float32]:
        """Degrees by which the outline turns at each of its points; positive is convex."""
        return turning(self.outline, _CORNER * self.height)

    def row_width(self, y: float) -> float:
        """From the leftmost to the rightmost pixel of a row."""
        columns = np.flatnonzero(self.mask[round(min(max(y, self.top), self.bottom))])
        return float(columns[-1] - columns[0] + 1) if len(columns) else 0.0

    def runs(self, y: float) -> list[tuple[int, int]]:
        """First and last column of each stretch of garment in a row, left to right."""
        row = np.concatenate([[0], self.mask[round(min(max(y, self.top), self.bottom))], [0]]).astype(np.int8)
        steps = np.diff(row)
        return list(zip(np.flatnonzero(steps == 1).tolist(), (np.flatnonzero(steps == -1) - 1).tolist(), strict=True))


def turning(curve: NDArray[np.float32], arm: float) -> NDArray[np.float32]:
    """Degrees by which a closed clockwise curve turns at each point, looking ``arm`` pixels back and ahead."""
    step = float(np.median(np.hypot(*np.diff(curve, axis=0).T)))
    reach = max(2, round(arm / max(step, 1e-6)))
    before = curve - np.roll(curve, reach, axis=0)
    after = np.roll(curve, -reach, axis=0) - curve
    cross = before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0]
    dot = (before * after).sum(1)
    return np.asarray(np.degrees(np.arctan2(cross, dot)), np.float32)


def filled(mask: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """The largest part of ``mask`` with its openings filled."""
    import cv2

    contours, _ = cv2.findContours(mask.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    out = np.zeros(mask.shape, np.uint8)
    if contours:
        cv2.drawContours(out, [max(contours, key=cv2.contourArea)], -1, 1, cv2.FILLED)
    return out


def tilt_of(mask: NDArray[np.bool_]) -> float:
    """Degrees by which to turn the picture, counter-clockwise, so that the garment stands upright; 0 if it does."""
    import cv2

    small = _thumbnail(filled(mask))
    scores: dict[float, float] = {}
    for step in (5.0, 1.0):
        near = max(scores, key=lambda angle: scores[angle]) if scores else 0.0
        reach = _TILTS_DEG if not scores else 5
        for angle in np.arange(near - reach, near + reach + 0.1, step):
            if abs(angle) <= _TILTS_DEG and float(angle) not in scores:
                center = ((small.shape[1] - 1) / 2, (small.shape[0] - 1) / 2)
                turn = cv2.getRotationMatrix2D(center, float(angle), 1.0)
                turned = np.asarray(cv2.warpAffine(small, turn, small.shape[::-1], flags=cv2.INTER_LINEAR), np.float32)
                scores[float(angle)] = mirror_overlap(turned)[0]
    best = max(scores, key=lambda angle: scores[angle])
    worth = abs(best) >= _WORTH_DEG and scores[best] - scores[0.0] > _WORTH_GAIN
    return best if worth else 0.0


def mirror_overlap(mask: NDArray[np.float32]) -> tuple[float, float]:
    """How far a mask overlaps its mirror image about the best upright axis, 0 to 1, and that axis's x."""
    width = mask.shape[1]
    columns = np.flatnonzero(mask.any(0))
    middle = (columns[0] + columns[-1]) / 2 if len(columns) else width / 2
    total = float(mask.sum()) or 1.0
    best = (0.0, middle)
    for axis in np.arange(middle - 0.12 * width, middle + 0.12 * width, 0.5):
        source = (2 * axis - np.arange(width)).round().astype(int)
        inside = (source >= 0) & (source < width)
        both = float(np.minimum(mask[:, inside], mask[:, source[inside]]).sum())
        best = max(best, (both / (2 * total - both), float(axis)))
    return best


def silhouette_of(mask: NDArray[np.bool_]) -> Silhouette:
    """The shape of an upright, not empty ``mask``, at the mask's own size."""
    import cv2

    shape = filled(mask)
    small = _thumbnail(shape)
    symmetry, _ = mirror_overlap(small)
    rows = np.flatnonzero(shape.any(1))
    contours, _ = cv2.findContours(shape, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    curve = max(contours, key=cv2.contourArea)[:, 0].astype(np.float32)
    axis_x = _axis(shape)
    x, y = curve.T
    if float((x * np.roll(y, -1) - np.roll(x, -1) * y).sum()) < 0:
        curve = curve[::-1]
    top = int(np.argmin(curve[:, 1] + 1000 * (np.abs(curve[:, 0] - axis_x) > 1)))
    return Silhouette(
        mask=shape,
        outline=_even(np.roll(curve, -top, axis=0)),
        axis_x=axis_x,
        top=float(rows[0]),
        bottom=float(rows[-1]),
        symmetry=symmetry,
    )


def _axis(shape: NDArray[np.uint8]) -> float:
    """The best mirror axis, found on a copy of ``_SMALL_PX``."""
    scale = max(shape.shape) / _SMALL_PX
    _, axis = mirror_overlap(_thumbnail(shape))
    return float((axis + 0.5) * scale - 0.5)


def _thumbnail(shape: NDArray[np.uint8]) -> NDArray[np.float32]:
    import cv2

    scale = _SMALL_PX / max(shape.shape)
    size = (max(1, round(shape.shape[1] * scale)), max(1, round(shape.shape[0] * scale)))
    return np.asarray(cv2.resize(shape.astype(np.float32), size, interpolation=cv2.INTER_AREA), np.float32)


def _even(curve: NDArray[np.float32]) -> NDArray[np.float32]:
    """A closed curve resampled to ``POINTS`` equal steps, single pixels of stairs smoothed."""
    from scipy.ndimage import gaussian_filter1d

    smooth = gaussian_filter1d(curve, 1.5, axis=0, mode="wrap")
    closed = np.vstack([smooth, smooth[:1]])
    along = np.concatenate([[0], np.cumsum(np.hypot(*np.diff(closed, axis=0).T))])
    at = np.linspace(0, along[-1], POINTS, endpoint=False)
    columns = [np.interp(at, along, closed[:, index]) for index in (0, 1)]
    return np.asarray(np.stack(columns, axis=1), np.float32)
