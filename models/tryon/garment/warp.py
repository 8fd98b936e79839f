"""Where each pixel of the picture takes its colour from in the product photo: maps, and what draws through them.

A map is inverse (picture to product), so that ``cv2.remap`` fills every pixel once and nothing tears. Torsos are a
thin-plate spline evaluated on a coarse grid; sleeves and legs are strips of quads that follow a bent limb.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

# float32 all of them; the stubs of OpenCV lose the type at every call.
Points = NDArray[Any]  # (n, 2), x and y
Mask = NDArray[Any]  # (h, w), 0 to 1
Colours = NDArray[Any]  # (h, w, 3), 0 to 255, red first

_GRID_PX: Final = 8  # a spline bends little over this distance; the recipe measured no difference to 1
_SPLINE_SMOOTHING: Final = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A rectangle of whole pixels: ``left`` and ``top`` included, ``right`` and ``bottom`` not."""

    left: int
    top: int
    right: int
    bottom: int

    @property
    def size(self) -> tuple[int, int]:
        """Width and height."""
        return self.right - self.left, self.bottom - self.top

    @property
    def slices(self) -> tuple[slice, slice]:
        """Rows and columns of a picture array."""
        return slice(self.top, self.bottom), slice(self.left, self.right)

    @property
    def is_empty(self) -> bool:
        return self.right <= self.left or self.bottom <= self.top


def box_of(points: NDArray[Any], shape: Sequence[int], margin: float = 0.0) -> Box:
    """The part of a picture of ``shape`` (height, width, ...) that holds ``points`` (n, 2) and a margin in pixels."""
    low, high = np.floor(points.min(0) - margin), np.ceil(points.max(0) + margin) + 1
    height, width = shape[:2]
    return Box(
        left=int(np.clip(low[0], 0, width)),
        top=int(np.clip(low[1], 0, height)),
        right=int(np.clip(high[0], 0, width)),
        bottom=int(np.clip(high[1], 0, height)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class WarpMap:
    """Source coordinates for the pixels of ``box``.

    Attributes:
        x, y: float32 (box height, box width), pixels of the product photo; far outside of it where nothing is drawn.
        extra: A third value carried along by the mesh, such as how far a layer has faded in.
    """

    box: Box
    x: Mask
    y: Mask
    extra: Mask | None = None

    def draw(self, source: NDArray[Any] | NDArray[np.uint8], shrink: float) -> NDArray[Any]:
        """``source`` (h, w[, c]) seen through the map, zero outside.

        Args:
            shrink: Picture pixels per source pixel; below 1 the source is averaged first, so that fine prints do not
                alias.
        """
        import cv2

        scale = min(1.0, shrink * 1.15)
        if scale < 0.9:
            size = (max(1, round(source.shape[1] * scale)), max(1, round(source.shape[0] * scale)))
            factor = (size[0] / source.shape[1], size[1] / source.shape[0])
            source = cv2.resize(source, size, interpolation=cv2.INTER_AREA)
            x, y = (self.x + 0.5) * np.float32(factor[0]) - 0.5, (self.y + 0.5) * np.float32(factor[1]) - 0.5
        else:
            x, y = self.x, self.y
        drawn: NDArray[Any] = cv2.remap(
            source, x, y, cv2.INTER_LINEAR if scale < 0.9 else cv2.INTER_CUBIC, borderMode=cv2.BORDER_CONSTANT
        )
        return drawn


def spline_map(picture_points: Points, product_points: Points, box: Box, *, smoothing: float = 1.0) -> WarpMap:
    """The thin-plate spline (Bookstein 1989) that takes each picture point to its product point.

    Args:
        smoothing: Factor on the recipe's lambda.
    """
    import cv2
    from scipy.interpolate import RBFInterpolator

    width, height = box.size
    scale = float(np.ptp(picture_points, 0).max()) or 1.0
    centre = picture_points.mean(0)
    spline = RBFInterpolator(
        (picture_points - centre) / scale,
        product_points,
        kernel="thin_plate_spline",
        smoothing=_SPLINE_SMOOTHING * smoothing,
    )
    columns, rows = -(-width // _GRID_PX) + 1, -(-height // _GRID_PX) + 1
    grid_x, grid_y = np.meshgrid(
        box.left + np.arange(columns) * _GRID_PX, box.top + np.arange(rows) * _GRID_PX, indexing="xy"
    )
    knots = np.stack([grid_x, grid_y], -1).reshape(-1, 2).astype(np.float32)
    values = spline((knots - centre) / scale).reshape(rows, columns, 2).astype(np.float32)
    at_x, at_y = np.meshgrid(
        np.arange(width, dtype=np.float32) / _GRID_PX, np.arange(height, dtype=np.float32) / _GRID_PX
    )
    fine = cv2.remap(values, at_x, at_y, cv2.INTER_LINEAR)
    return WarpMap(box=box, x=np.ascontiguousarray(fine[..., 0]), y=np.ascontiguousarray(fine[..., 1]))


def strip_map(picture_mesh: Points, product_mesh: Points, shape: Sequence[int]) -> WarpMap:
    """The map of a strip of quads.

    Args:
        picture_mesh: Vertices (rows, columns, 2); rows run along the limb. Later rows are drawn over earlier ones where
            a bent limb folds.
        product_mesh: What lies there, (rows, columns, 2), or 3 with a value to carry along.
        shape: Of the picture.
    """
    box = box_of(picture_mesh.reshape(-1, 2), shape, 1.0)
    width, height = box.size
    out = np.full((max(0, height), max(0, width), product_mesh.shape[2]), -1e4, np.float32)
    if box.is_empty:
        return WarpMap(box=box, x=out[..., 0], y=out[..., 1])
    rows, columns = picture_mesh.shape[:2]
    local = picture_mesh - np.array([box.left, box.top], np.float32)
    for i in range(rows - 1):
        for j in range(columns - 1):
            a, b, c, d = (i, j), (i, j + 1), (i + 1, j + 1), (i + 1, j)
            for triangle in ((a, b, c), (a, c, d)):
                _draw_triangle(
                    out,
                    np.array([local[k] for k in triangle], np.float64),
                    np.array([product_mesh[k] for k in triangle], np.float64),
                )
    x, y, *extra = (np.ascontiguousarray(out[..., k]) for k in range(out.shape[2]))
    return WarpMap(box=box, x=x, y=y, extra=extra[0] if extra else None)


def _draw_triangle(out: NDArray[Any], corners: NDArray[Any], values: NDArray[Any]) -> None:
    """Writes the affine through the corners into the pixels whose centres lie in the triangle (edges widened a bit)."""
    height, width = out.shape[:2]
    left, top = np.maximum(np.floor(corners.min(0)).astype(int), 0)
    right, bottom = np.minimum(np.ceil(corners.max(0)).astype(int) + 1, (width, height))
    if right <= left or bottom <= top:
        return
    edge1, edge2 = corners[1] - corners[0], corners[2] - corners[0]
    area = edge1[0] * edge2[1] - edge1[1] * edge2[0]
    if abs(area) < 1e-6:
        return
    x = np.arange(left, right) - corners[0, 0]
    y = (np.arange(top, bottom) - corners[0, 1])[:, None]
    u = (x * edge2[1] - y * edge2[0]) / area
    v = (y * edge1[0] - x * edge1[1]) / area
    inside = (u >= -0.02) & (v >= -0.02) & (u + v <= 1.02)
    if not inside.any():
        return
    u, v = u[inside][:, None], v[inside][:, None]
    part = out[top:bottom, left:right]
    part[inside] = values[0] + u * (values[1] - values[0]) + v * (values[2] - values[0])


def resampled(path: Points, num_points: int) -> Points:
    """``num_points`` points evenly spaced by length along a polyline (n, 2)."""
    steps = np.linalg.norm(np.diff(path, axis=0), axis=1)
    length = np.concatenate([[0.0], np.cumsum(steps)])
    at = np.linspace(0, length[-1], num_points)
    return np.stack([np.interp(at, length, path[:, k]) for k in range(2)], -1).astype(np.float32)


def path_length(path: Points) -> float:
    """Length of a polyline (n, 2)."""
    return float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum())
