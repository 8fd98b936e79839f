"""The neck of a garment: whether it has a collar, where its front neckline runs, what of its inside is seen.

The inside of the back that shows through the neck opening, and a lining that shows between open halves of a front, are
behind whoever wears the garment. The front neckline is looked for as a curve of few parameters that follows an edge,
dark inside and light outside, between the ends of the opening.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.tryon.garment.notches import Point

_WIDTH_PX: Final = 240.0  # between the collar points in the picture that is searched
_INSETS: Final = (0.0, 0.04, 0.08, 0.12)  # of the neck's width, from the ends of the opening
_POWERS: Final = (1.0, 1.3, 1.7, 2.2, 3.0)  # 1 is a V, 2 a round neck, 3 a square one
# Usual depth of the front neckline below the ends of the opening, its spread and range, in neck widths.
_DEPTHS: Final = {True: (0.55, 0.14, 0.42, 1.0), False: (0.30, 0.16, 0.10, 0.8)}
_PULL: Final = {True: 12.0, False: 6.0}  # LAB units of edge that one spread's distance from the usual depth weighs; a
# collar has strong seams above its opening
_POINTED: Final = (1.3, 0.15)  # powers up to the first are a V, which is usually deeper by the second
_STEEP: Final = 0.75  # slope of a collar's side; a shoulder's is less
_BARE_DIP: Final = 0.28  # of the neck's width: where the outline itself dips so deep, no inside of the back is seen
_UNBROKEN: Final = (5.0, 2.2)  # LAB units of edge nearly all along, and times those of other such lines
_STRANGE: Final = 16.0  # LAB distance to the cloth of what is no cloth
_ACROSS_PX: Final = 4.0
_MOST: Final = 25.0  # LAB difference beyond which an edge is no more of an edge


@dataclass(frozen=True, slots=True, kw_only=True)
class Neck:
    """The neck opening in the asset's pixels.

    Attributes:
        front: Lowest point of the front neckline.
        line: float32 (n, 2), the front neckline from the picture's left to its right.
        has_collar: Whether a collar stands above the shoulders.
        inside_seen: Whether the inside of the back shows above ``line``.
        seems_back: Whether a collar's edge runs unbroken from shoulder to shoulder, as it does at the back.
    """

    front: Point
    line: NDArray[np.float32]
    has_collar: bool
    inside_seen: bool
    seems_back: bool = False

    def inner(self, shape: tuple[int, int]) -> NDArray[np.uint8]:
        """uint8 (h, w), 255 above the front neckline, soft at it: with the garment's alpha, the inside of the back."""
        import cv2

        mask = np.zeros(shape, np.uint8)
        if not self.inside_seen:
            return mask
        (left, top_left), (right, top_right) = self.line[0], self.line[-1]
        above = np.asarray([[right, min(top_right, 0) - 1], [left, min(top_left, 0) - 1]], np.float32)
        polygon = np.round(np.vstack([self.line, above]) * 16).astype(np.int32)
        cv2.fillPoly(mask, [polygon], 255, lineType=cv2.LINE_AA, shift=4)
        return mask


def find_neck(rgb: NDArray[np.uint8], alpha: NDArray[np.uint8], left: Point, right: Point) -> Neck:
    """The neck opening between the two collar points.

    Args:
        rgb: uint8 (h, w, 3).
        alpha: uint8 (h, w).
        left: The collar point at the picture's left.
        right: The one at its right.
    """
    import cv2

    width = max(right[0] - left[0], 4.0)
    scale = _WIDTH_PX / width
    x0, y0 = left[0] - 0.2 * width, min(left[1], right[1]) - 0.5 * width
    matrix = np.asarray([[scale, 0, -x0 * scale], [0, scale, -y0 * scale]], np.float32)
    size = (round(1.4 * _WIDTH_PX), round(2.0 * _WIDTH_PX))
    near = cv2.warpAffine(rgb, matrix, size, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    seen = cv2.warpAffine(alpha, matrix, size, flags=cv2.INTER_LINEAR) > 127
    upper = np.where(seen.any(0), seen.argmax(0), size[1] - 1).astype(np.float32)
    ends = [np.asarray([(x - x0) * scale, (y - y0) * scale], np.float32) for x, y in (left, right)]
    tops = [_collar_top(upper, ends[0], +1), _collar_top(upper, ends[1], -1)]
    has_collar = float(np.mean([steep for _, steep in tops])) > _STEEP
    seems_back = has_collar and _unbroken_collar(np.asarray(near, np.uint8), ends[0], ends[1])
    if has_collar:
        ends = [top for top, _ in tops]
    middle = float(upper[round((ends[0][0] + ends[1][0]) / 2)])
    dip = middle - float(min(ends[0][1], ends[1][1]))
    behind = 0.0 if has_collar else _behind_opening(np.asarray(near, np.uint8), upper, ends[0], ends[1])
    if dip > _BARE_DIP * _WIDTH_PX:
        columns = np.arange(max(int(ends[0][0]), 0), min(int(ends[1][0]) + 1, len(upper)), 2)
        line = np.stack([columns, upper[columns]], axis=1).astype(np.float32)
    else:
        line = _front_line(
            np.asarray(near, np.uint8), ends[0], ends[1], has_collar=has_collar, at_least=max(dip, behind)
        )
    lowest = line[int(np.argmax(line[:, 1]))]
    back = np.asarray([x0, y0], np.float32)
    return Neck(
        front=(float(lowest[0] / scale + x0), float(lowest[1] / scale + y0)),
        line=np.asarray(line / scale + back, np.float32),
        has_collar=has_collar,
        inside_seen=dip <= _BARE_DIP * _WIDTH_PX and not seems_back,
        seems_back=seems_back,
    )


def _behind_opening(
    rgb: NDArray[np.uint8], upper: NDArray[np.float32], left: NDArray[np.float32], right: NDArray[np.float32]
) -> float:
    """How far below the ends a zip is seen through the opening: a thin strip from the top, of another colour.

    The front neckline runs below it. 0 where there is none.
    """
    import cv2

    lab = cv2.cvtColor(np.divide(rgb, 255, dtype=np.float32), cv2.COLOR_RGB2LAB)
    lab = cv2.GaussianBlur(lab, (0, 0), _ACROSS_PX)
    x0, x1 = int(left[0] + 0.2 * _WIDTH_PX), int(right[0] - 0.2 * _WIDTH_PX)
    base = int((left[1] + right[1]) / 2)
    cloth = lab[min(base + round(0.9 * _WIDTH_PX), len(lab) - 40) :, x0:x1].reshape(-1, 3)
    usual = np.median(cloth, axis=0)
    spread = float(np.median(np.linalg.norm(cloth - usual, axis=1)))
    rows = np.arange(len(lab))[:, None]
    inside = rows > upper[None, x0:x1] + 2
    strange = (np.linalg.norm(lab[:, x0:x1] - usual, axis=2) > max(_STRANGE, 4 * spread)) & inside
    count, labels, stats, _ = cv2.connectedComponentsWithStats(strange.astype(np.uint8), connectivity=8)
    for index in range(1, count):
        _, top, width, height, _ = stats[index]
        touches = bool((labels[inside & (rows < upper[None, x0:x1] + 8)] == index).any())
        bottom = float(top + height - base) / _WIDTH_PX
        if touches and width < 0.3 * _WIDTH_PX and height > 1.5 * width and 0.2 < bottom < 0.75:
            return float(top + height - base)
    return 0.0


def _unbroken_collar(rgb: NDArray[np.uint8], left: NDArray[np.float32], right: NDArray[np.float32]) -> bool:
    """Whether one shallow line from shoulder to shoulder is an edge nearly all along; an opening would break it."""
    import cv2

    lab = cv2.cvtColor(np.divide(rgb, 255, dtype=np.float32), cv2.COLOR_RGB2LAB)
    at = np.linspace(-0.9, 0.9, 91, dtype=np.float32)
    base = left + (at[:, None] + 1) / 2 * (right - left)
    weakest: list[float] = []
    for depth in np.arange(-0.15, 0.35, 0.01):
        rows = base[:, 1] + depth * _WIDTH_PX * (1 - at**2)
        above, below = (
            cv2.remap(lab, base[None, :, 0].copy(), np.asarray(rows + way, np.float32)[None], cv2.INTER_LINEAR)[0]
            for way in (-_ACROSS_PX, _ACROSS_PX)
        )
        weakest.append(float(np.percentile(np.linalg.norm(above - below, axis=1), 20)))
    usual = max(float(np.median(weakest)), 0.3)
    return max(weakest) > _UNBROKEN[0] and max(weakest) > _UNBROKEN[1] * usual


def _collar_top(upper: NDArray[np.float32], end: NDArray[np.float32], inward: int) -> tuple[NDArray[np.float32], float]:
    """The corner of a collar's top above its base ``end``, and how steep the way up to it is."""
    columns = np.arange(int(end[0]), int(end[0]) + inward * round(0.5 * _WIDTH_PX), inward)
    columns = columns[(columns >= 0) & (columns < len(upper))]
    heights = upper[columns]
    highest = float(heights.min())
    at = int(np.argmax(heights < highest + 0.06 * _WIDTH_PX))
    rise, run = float(end[1]) - float(heights[at]), max(at, 1)
    corner = np.asarray([columns[at], heights[at]], np.float32)
    return corner, rise / run if rise > 0.05 * _WIDTH_PX else 0.0


def _front_line(
    rgb: NDArray[np.uint8], left: NDArray[np.float32], right: NDArray[np.float32], *, has_collar: bool, at_least: float
) -> NDArray[np.float32]:
    """The curve between two ends that follows an edge best, of usual depth where nothing says otherwise."""
    import cv2

    lab = cv2.cvtColor(np.divide(rgb, 255, dtype=np.float32), cv2.COLOR_RGB2LAB)
    planes = [cv2.bilateralFilter(np.ascontiguousarray(lab[:, :, index]), 7, 8, 4) for index in range(3)]
    smooth = np.asarray(np.dstack(planes), np.float32)
    usual, spread, least, most = _DEPTHS[has_collar]
    pull = _PULL[has_collar]
    best: tuple[float, NDArray[np.float32]] | None = None
    at = np.linspace(-0.97, 0.97, 81, dtype=np.float32)
    span = float(right[0] - left[0])
    for depth in np.arange(max(least, at_least / _WIDTH_PX + 0.06), most, 0.02):
        for power in _POWERS[2:] if has_collar else _POWERS:
            expected = usual + (_POINTED[1] if power <= _POINTED[0] and not has_collar else 0.0)
            prior = -((depth - expected) ** 2) / (2 * spread**2)
            drop = depth * _WIDTH_PX * (1 - np.abs(at) ** power)
            for inset in _INSETS:
                share = (at + 1) / 2 * (1 - 2 * inset) + inset
                base = left + share[:, None] * (right - left)
                curve = np.asarray(np.stack([left[0] + share * span, base[:, 1] + drop], axis=1), np.float32)
                value = _edge_along(smooth, curve) + pull * float(prior)
                if best is None or value > best[0]:
                    best = (value, curve)
    if best is None:
        return np.asarray([left, (left + right) / 2, right], np.float32)
    return np.vstack([left[None], best[1], right[None]]).astype(np.float32)


def _edge_along(lab: NDArray[np.float32], curve: NDArray[np.float32]) -> float:
    """How much of an edge a curve follows, in LAB units; more where it is darker above the curve than below."""
    import cv2

    along = np.gradient(curve, axis=0)
    normal = np.stack([along[:, 1], -along[:, 0]], axis=1) / np.maximum(np.hypot(*along.T), 1e-6)[:, None]
    places = [np.asarray((curve + way * normal)[None], np.float32) for way in (-_ACROSS_PX, _ACROSS_PX)]
    outside, inside = (
        cv2.remap(lab, np.ascontiguousarray(at[:, :, 0]), np.ascontiguousarray(at[:, :, 1]), cv2.INTER_LINEAR)[0]
        for at in places
    )
    step = np.minimum(np.linalg.norm(outside - inside, axis=1), _MOST)
    darker = np.clip(outside[:, 0] - inside[:, 0], -15, 15)
    return float(step.mean() + 0.6 * darker.mean() + 0.5 * np.percentile(step, 25))
