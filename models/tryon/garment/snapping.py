"""Draws a mask's outline to the edges of a picture, as one smooth curve."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def snapped(mask: NDArray[np.bool_], light: NDArray[np.float32], reach: int = 9) -> NDArray[np.bool_]:
    """A mask whose outline is drawn to the strongest edge of ``light`` within ``reach`` px, as one smooth curve.

    The offsets along the outline are chosen together by dynamic programming (Amini et al., "Using dynamic programming
    for solving variational problems in vision", 1990).
    """
    import cv2
    from scipy.ndimage import gaussian_filter1d

    smooth = cv2.GaussianBlur(mask.astype(np.float32), (0, 0), 2.0) > 0.5
    contours, _ = cv2.findContours(smooth.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    if not contours:
        return mask
    curve = gaussian_filter1d(max(contours, key=cv2.contourArea)[::2, 0].astype(np.float32), 3, axis=0, mode="wrap")
    along = np.roll(curve, -2, axis=0) - np.roll(curve, 2, axis=0)
    normal = np.stack([-along[:, 1], along[:, 0]], axis=1) / np.maximum(np.hypot(*along.T), 1e-6)[:, None]
    offsets = np.arange(-reach, reach + 1, dtype=np.float32)
    places = curve[:, None] + offsets[None, :, None] * normal[:, None]
    inner, outer = (
        cv2.remap(
            light.astype(np.float32),
            np.ascontiguousarray(places[:, :, 0] + way * normal[:, None, 0], np.float32),
            np.ascontiguousarray(places[:, :, 1] + way * normal[:, None, 1], np.float32),
            cv2.INTER_LINEAR,
        )
        for way in (-1.0, 1.0)
    )
    edge = np.asarray(outer - inner, np.float32)
    # Lighter inside than outside all round, or darker all round: a shadow's outer edge is the other way round.
    edge *= np.sign(edge[:, reach - 2 : reach + 3].sum())
    chosen = cheapest_path(-np.maximum(edge, 0), 0.02)
    moved = gaussian_filter1d(curve + offsets[chosen][:, None] * normal, 1.0, axis=0, mode="wrap")
    out = np.zeros(mask.shape, np.uint8)
    cv2.fillPoly(out, [np.round(moved * 8).astype(np.int32)], 1, shift=3)
    return np.asarray(out > 0, np.bool_)


def cheapest_path(cost: NDArray[np.float32], stiffness: float) -> NDArray[np.intp]:
    """One column per row of ``cost``, cheap and with small steps from row to row; the ends meet nearly."""
    count, width = cost.shape
    steps = stiffness * (np.arange(width)[:, None] - np.arange(width)[None]) ** 2
    around = np.concatenate([cost[-count // 8 :], cost, cost[: count // 8]])  # so that the seam is inside
    total, came = np.zeros_like(around), np.zeros(around.shape, np.intp)
    total[0] = around[0]
    for row in range(1, len(around)):
        ways = total[row - 1][None] + steps
        came[row] = ways.argmin(1)
        total[row] = around[row] + ways.min(1)
    path = np.zeros(len(around), np.intp)
    path[-1] = int(total[-1].argmin())
    for row in range(len(around) - 1, 0, -1):
        path[row - 1] = came[row, path[row]]
    start = len(cost[-count // 8 :])
    return path[start : start + count]
