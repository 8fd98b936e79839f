"""Where the lips really end: the mesh knows it to a pixel or two, the picture's own edges know it better."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from models.talking_head.mesh.grid import Field, warped

_ROWS: Final = 49
_MARGIN: Final = 0.16  # how far above and below the mesh's edges the strip reaches, in half mouths


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """Luma around the mouth line, (columns, rows): column ``i`` belongs to edge point ``i``, rows run down.

    Attributes:
        v: Of each sample, same shape.
        u: Of each column.
    """

    luma: Field
    v: Field
    u: Field


def strip(
    to_pixels: Callable[[Field, Field], Field], u: Field, upper: Field, lower: Field, luma: NDArray[np.uint8]
) -> Strip:
    """The picture (Y plane) around the lip edges ``upper`` and ``lower`` (v at ``u``), straightened."""
    top, bottom = upper - np.float32(_MARGIN), lower + np.float32(_MARGIN)
    share = np.linspace(0, 1, _ROWS, dtype=np.float32)
    v = top[:, None] + share * (bottom - top)[:, None]
    places = to_pixels(np.repeat(u, _ROWS), v.ravel()).reshape(len(u), _ROWS, 2)
    values = warped(luma, places).astype(np.float32)
    return Strip(luma=np.asarray(cv2.GaussianBlur(values, (3, 7), 0), np.float32), v=v, u=u)


def seam(strip: Strip, upper: Field, lower: Field) -> Field:
    """The darkest smooth path between lips that touch."""
    middle = ((upper + lower) / 2)[:, None]
    reach = (lower - upper).max() / 2 + np.float32(0.07)
    away = (strip.v - middle) / reach
    spread = strip.luma.std(1).mean() + 4
    cost = (strip.luma - strip.luma.mean(1, keepdims=True)) / spread + 0.8 * away**2
    cost[[0, -1]] += 6 * away[[0, -1]] ** 2  # the corners are where the mesh says
    return _path(strip, cost)


def teeth_between(strip: Strip, upper: Field, lower: Field) -> float:
    """How surely a bright row lies between two dark lines, 0 to 1: teeth behind lips that are hardly parted."""
    gap = float((lower - upper).max())
    if gap < 0.05:
        return 0.0
    columns = np.abs(strip.u) < 0.55
    share = (strip.v - upper[:, None]) / np.maximum(lower - upper, np.float32(1e-3))[:, None]
    steps = np.linspace(-0.6, 1.6, 23, dtype=np.float32)
    profile = np.mean(
        [np.interp(steps, row, values) for row, values in zip(share[columns], strip.luma[columns], strict=True)], 0
    )
    bright = int(np.argmax(np.where((steps > 0.0) & (steps < 1.0), profile, -1)))
    above, below = profile[:bright].min(initial=255), profile[bright + 1 :].min(initial=255)
    rise = profile[bright] - max(above, below)
    return float(np.clip((rise - 6) / 10, 0, 1))


def _path(strip: Strip, cost: NDArray[np.floating]) -> Field:
    """V of the cheapest smooth way from the first column to the last."""
    columns, rows = cost.shape
    step = 0.35 * np.abs(np.arange(rows)[:, None] - np.arange(rows)[None])
    total = cost[0].copy()
    came_from = np.zeros((columns, rows), np.int32)
    for column in range(1, columns):
        ways = total[None, :] + step
        came_from[column] = ways.argmin(1)
        total = ways[np.arange(rows), came_from[column]] + cost[column]
    path = np.empty(columns, np.int32)
    path[-1] = int(total.argmin())
    for column in range(columns - 1, 0, -1):
        path[column - 1] = came_from[column, path[column]]
    window = np.hanning(11)[1:-1] / np.hanning(11)[1:-1].sum()
    found = strip.v[np.arange(columns), path]
    return np.convolve(np.pad(found, 4, mode="edge"), window, "valid").astype(np.float32)
