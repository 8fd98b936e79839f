"""The gap between the halves of an open front, through which a garment's lining is seen."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.tryon.garment.notches import Point

_REACH: Final = 0.22  # of the chest's width, to either side of the middle, where the gap is looked for
_COLUMNS: Final = 89
_ROWS: Final = 160
_BESIDE: Final = 0.14  # of the chest's width: farther out is cloth
_DIFFERENT: Final = 7.0  # LAB distance to the cloth beside
_NOISE: Final = 2.0  # times the cloth's own spread
_WIDTHS: Final = (0.03, 0.30)  # of the chest's width
_STEADY: Final = 0.75  # of the rows show it
_SOFT: Final = 0.012  # of the chest's width


def find_opening(
    rgb: NDArray[np.uint8], alpha: NDArray[np.uint8], *, top: Point, bottom: Point, chest_width: float
) -> NDArray[np.uint8] | None:
    """uint8 (h, w), 255 where the lining shows between the halves of a front, None where the front is closed.

    Args:
        rgb: uint8 (h, w, 3).
        alpha: uint8 (h, w).
        top: The middle of the front below the neck.
        bottom: The middle of the hem.
        chest_width: From armpit to armpit in pixels.
    """
    import cv2

    across = np.linspace(-_REACH, _REACH, _COLUMNS, dtype=np.float32)
    down = np.linspace(0.04, 0.96, _ROWS, dtype=np.float32)[:, None]
    x = top[0] + down * (bottom[0] - top[0]) + across * chest_width
    y = np.broadcast_to(top[1] + down * (bottom[1] - top[1]), x.shape)
    lab = cv2.cvtColor(np.divide(rgb, 255, dtype=np.float32), cv2.COLOR_RGB2LAB)
    blur = max(0.8, 0.008 * chest_width)
    lab = cv2.GaussianBlur(lab, (0, 0), blur)
    places = np.ascontiguousarray(x, np.float32), np.ascontiguousarray(y, np.float32)
    seen = cv2.remap(lab, *places, cv2.INTER_LINEAR)
    beside = np.abs(across) > _BESIDE
    cloth = np.median(seen[:, beside], axis=1, keepdims=True)
    distance = np.linalg.norm(seen - cloth, axis=2)
    profile = np.median(distance, axis=0)
    least = max(_DIFFERENT, _NOISE * float(np.median(profile[beside])))
    strip = _middle_run(profile > least, across)
    if strip is None:
        return None
    first, last = strip
    width = float(across[last] - across[first])
    if not _WIDTHS[0] <= width <= _WIDTHS[1] or first == 0 or last == _COLUMNS - 1:
        return None
    shows = distance[:, first : last + 1].mean(1) > 0.6 * float(profile[first : last + 1].mean())
    if shows.mean() < _STEADY:
        return None
    ends = [np.asarray(point, np.float32) for point in (top, bottom)]
    edges = [np.asarray([across[index] * chest_width, 0], np.float32) for index in (first, last)]
    quad = np.stack([ends[0] + edges[0], ends[0] + edges[1], ends[1] + edges[1], ends[1] + edges[0]])
    mask = np.zeros(alpha.shape, np.uint8)
    cv2.fillPoly(mask, [np.round(quad * 16).astype(np.int32)], 255, lineType=cv2.LINE_AA, shift=4)
    soft = cv2.GaussianBlur(mask, (0, 0), max(0.7, _SOFT * chest_width))
    return np.minimum(np.asarray(soft, np.uint8), alpha)


def _middle_run(flags: NDArray[np.bool_], across: NDArray[np.float32]) -> tuple[int, int] | None:
    """First and last index of the run of true nearest to the middle, small breaks closed."""
    import cv2

    closed = cv2.morphologyEx(flags.astype(np.uint8)[None], cv2.MORPH_CLOSE, np.ones((1, 5), np.uint8))[0]
    steps = np.diff(np.concatenate([[0], closed, [0]]).astype(np.int8))
    runs = list(zip(np.flatnonzero(steps == 1).tolist(), (np.flatnonzero(steps == -1) - 1).tolist(), strict=True))
    if not runs:
        return None
    near = min(runs, key=lambda run: abs(float(across[run[0]] + across[run[1]])))
    return near if abs(float(across[near[0]] + across[near[1]])) / 2 < 0.08 else None
