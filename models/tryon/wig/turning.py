"""Turns a layer of a picture, as a surface in space, about an upright axis.

Every row of the layer is a curve: its height field between the row's outlines, carried on round the back by an ellipse.
Seen from another side, each curve hides part of itself; what stays visible is inverted row by row on a coarse grid
("floating horizon", Anderson 1982), and the picture is then looked up once. Two lookups share the geometry: one for
what is where (never stretched much: the side that comes into view repeats the texture beside it), and one for the
outline (strands at the silhouette stay as wide as they were photographed).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.tryon.wig.depth import Grid, HeadShape

Picture = NDArray[np.uint8]
Matte = NDArray[np.float32]

_NODES: Final = 72  # of a row's front
_ROUND: Final = 12  # of the way round the back on each side
_ROUND_ANGLE: Final = 1.3  # radians
_VIEWER: Final = 9.0  # face widths away
_BACK_SOFT: Final = 0.12  # face widths behind the old outline to where only the back is seen
_NARROW: Final = 2.5  # cells at an outline in which heights follow an ellipse
_OFF: Final = 2.5  # cells
_GAP: Final = 0.1  # face widths
_MIRROR: Final = 5.0  # cells next to the outline that are mirrored where nothing else is to be had
_BLEND: Final = 4.0  # cells
_EVEN: Final = 2.0  # rows
_TIE: Final = np.float32(1e-3)
_SOFT: Final = 0.06  # face widths from the new outline to where only the inside counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """The outer edges of a layer, row by row of the grid.

    Attributes:
        left, right: Pixels, float32 (rows,); smooth, strands stand out of them.
        back: How far behind the ears the layer reaches, pixels, (rows,).
        left_run, right_run: How far in from each edge the layer is solid, pixels, (rows,).
    """

    left: Matte
    right: Matte
    back: Matte
    left_run: Matte
    right_run: Matte


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """Where a turned layer's pixels come from, on the grid's nodes: places x (rows, columns), and rows y.

    Attributes:
        texture: For what is inside.
        other: For what is inside where the picture shows too little.
        lacks: How much of the second, 0 to 1.
        edge: For what is at the outline.
        inside: How much of the first, 0 to 1.
        back: How much is seen of what was behind the outline, 0 to 1.
        y: Row.
        first, last: Columns between which anything is seen, (rows,); infinite where strands may stand out.
    """

    texture: Matte
    other: Matte
    lacks: Matte
    edge: Matte
    inside: Matte
    back: Matte
    y: Matte
    first: Matte
    last: Matte


def outline_of(grid: Grid, alpha: Matte, shape: HeadShape, *, least: Outline | None = None, depth: float) -> Outline:
    """The outline of ``alpha`` (h, w), no narrower than ``least``; rows without any take the nearest row's.

    Args:
        depth: Of the layer's back, in half widths of each row.
    """
    import cv2
    from scipy.ndimage import gaussian_filter1d, median_filter, minimum_filter1d

    rows, width = grid.shape[0], alpha.shape[1]
    matrix = np.array([[1, 0, 0], [0, grid.cell, 0]], np.float64)
    blurred = cv2.blur(alpha, (1, grid.cell | 1))
    solid = (
        cv2.warpAffine(blurred, matrix, (width, rows), flags=cv2.WARP_INVERSE_MAP, borderMode=cv2.BORDER_REPLICATE)
        > 0.5
    )
    has = solid.any(1)
    gaps = max(3, round(_GAP * shape.face_width)) | 1  # between strands of one lock
    locks = cv2.blur(solid.astype(np.float32), (gaps, 1)) > 0.4
    runs = _run(locks), _run(locks[:, ::-1])
    left = np.where(has, solid.argmax(1) - 0.5, np.inf)
    right = np.where(has, width - 0.5 - solid[:, ::-1].argmax(1), -np.inf)
    if least is not None:
        left, right = np.minimum(left, least.left), np.maximum(right, least.right)
        has = np.isfinite(left)
    known = np.flatnonzero(has)
    if not len(known):
        known, left, right = np.array([0]), np.full(rows, shape.x - 1.0), np.full(rows, shape.x + 1.0)
    every = np.arange(rows)
    left, right = np.interp(every, known, left[known]), np.interp(every, known, right[known])
    left, right = (
        gaussian_filter1d(median_filter(values, 5, mode="nearest"), 1.5, mode="nearest") for values in (left, right)
    )
    half = np.minimum((right - left) / 2, 0.75 * shape.face_width)
    chin = shape.chin[1]
    thin = np.clip(1 - (grid.y - chin) / (0.8 * shape.face_width), 0.3, 1)
    left_run, right_run = (gaussian_filter1d(minimum_filter1d(run, 5), 1.5, mode="nearest") for run in runs)
    return Outline(
        left=left.astype(np.float32),
        right=right.astype(np.float32),
        back=(depth * half * thin).astype(np.float32),
        left_run=left_run.astype(np.float32),
        right_run=right_run.astype(np.float32),
    )


def _run(solid: NDArray[np.bool_]) -> NDArray[np.float64]:
    """How many pixels of each row are solid without a gap, from the first one."""
    columns = np.arange(solid.shape[1])
    first = solid.argmax(1)
    gap = ~solid & (columns[None] > first[:, None])
    end = np.where(gap.any(1), gap.argmax(1), solid.shape[1])
    return np.where(solid.any(1), end - first, 0).astype(np.float64)


def turned(
    grid: Grid,
    shape: HeadShape,
    heights: Matte,
    outline: Outline,
    angles: Matte,
    *,
    least_slope: Matte | float,
    repeats: bool,
) -> Lookup:
    """How a layer is seen when it is turned by ``angles`` (rows,), radians, positive to the picture's right.

    Args:
        heights: (rows, columns).
        least_slope: Texture is never stretched by more than 1 / this; more is taken from ``Lookup.other``. One for all
            rows, or (rows,).
        repeats: Whether that lies beside the outline, for texture like hair; else it stays at the outline.
    """
    is_left = bool(angles[np.argmax(np.abs(angles))] < 0)
    if is_left:  # one case is enough: the mirrored one
        mirrored = Outline(
            left=grid.x[-1] - outline.right,
            right=grid.x[-1] - outline.left,
            back=outline.back,
            left_run=outline.right_run,
            right_run=outline.left_run,
        )
        result = _turned_right(
            grid,
            grid.x[-1] - shape.x,
            shape,
            heights[:, ::-1],
            mirrored,
            -angles,
            least_slope=least_slope,
            repeats=repeats,
        )
        texture, other, edge = (
            np.ascontiguousarray(grid.x[-1] - part[:, ::-1]) for part in (result.texture, result.other, result.edge)
        )
        lacks, inside, back, y = (
            np.ascontiguousarray(part[:, ::-1]) for part in (result.lacks, result.inside, result.back, result.y)
        )
        return Lookup(
            texture=texture,
            other=other,
            lacks=lacks,
            edge=edge,
            inside=inside,
            back=back,
            y=y,
            first=grid.x[-1] - result.last,
            last=grid.x[-1] - result.first,
        )
    return _turned_right(grid, shape.x, shape, heights, outline, angles, least_slope=least_slope, repeats=repeats)


def _turned_right(
    grid: Grid,
    axis_x: float,
    shape: HeadShape,
    heights: Matte,
    outline: Outline,
    angles: Matte,
    *,
    least_slope: Matte | float,
    repeats: bool,
) -> Lookup:
    """The same for angles that are not negative: what lies to the left comes into view."""
    from scipy.ndimage import gaussian_filter1d

    unfolded, x, z = _curves(grid, np.ascontiguousarray(heights), outline)
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
    dx, dz = x - np.float32(axis_x), z - np.float32(shape.z)
    viewer = np.float32(_VIEWER * shape.face_width)
    nearer = (viewer - dz) / (viewer - (dz * cos - dx * sin))
    seen_at = np.float32(axis_x) + (dx * cos + dz * sin) * nearer
    # From the new silhouette on, a point is seen when nothing before it lies further right.
    rows, count = seen_at.shape
    first = seen_at[:, : _ROUND + _NODES // 3].argmin(1)
    number = np.arange(count)
    after = number[None] >= first[:, None]
    start = np.take_along_axis(seen_at, first[:, None], 1)
    horizon = np.maximum.accumulate(np.where(after, seen_at, -np.inf), axis=1)
    horizon = np.where(after, horizon + _TIE * number, start + _TIE * (number[None] - first[:, None] - 1.0))
    target = grid.x.astype(np.float64)
    place = np.stack([np.interp(target, horizon[row], number) for row in range(rows)])
    lower = np.minimum(place.astype(np.int64), count - 2)
    share = (place - lower).astype(np.float32)

    def at(values: Matte) -> Matte:
        here, there = np.take_along_axis(values, lower, 1), np.take_along_axis(values, lower + 1, 1)
        return np.asarray(here + share * (there - here), np.float32)

    surface = at(unfolded)
    scale = at(np.asarray(nearer, np.float32))
    y = np.float32(shape.eye_y) + (grid.y[:, None] - np.float32(shape.eye_y)) / scale
    left, right = start[:, 0].astype(np.float32), seen_at.max(1).astype(np.float32)
    edge = _between(grid.x, left, right, outline)
    back = np.clip((outline.left[:, None] - surface) / np.float32(_BACK_SOFT * shape.face_width), 0, 1)
    ends = np.take_along_axis(unfolded, first[:, None], 1)
    surface = np.where(grid.x < left[:, None], ends + (grid.x - left[:, None]), surface)
    texture, other, lacks = _textured(grid, np.asarray(surface, np.float32), outline, left, least_slope, repeats)
    texture = np.where(grid.x > right[:, None], edge, texture)
    # Inside, nothing is looked up beyond the old outline: there the layer has strands and gaps.
    soft = np.float32(_SOFT * shape.face_width)
    distance = grid.x - left[:, None]
    last = np.full_like(right, np.inf)
    if repeats:
        distance = np.minimum(distance, right[:, None] - grid.x)
    else:  # skin that turns away ends in a smooth line, whatever the outline was
        last = np.asarray(gaussian_filter1d(right, _EVEN, mode="nearest"), np.float32)
    return Lookup(
        texture=np.asarray(texture, np.float32),
        other=other,
        lacks=lacks,
        edge=edge,
        inside=np.asarray(np.clip(distance / soft, 0, 1), np.float32),
        back=np.asarray(back, np.float32),
        y=np.asarray(np.clip(y, 0, grid.height - 1), np.float32),
        first=np.full_like(last, -np.inf),
        last=last,
    )


def _curves(grid: Grid, heights: Matte, outline: Outline) -> tuple[Matte, Matte, Matte]:
    """Rows as curves from behind the left ear to behind the right one: unfolded place, x and height, (rows, nodes)."""
    import cv2

    rows = heights.shape[0]
    spread = (1 - np.cos(np.linspace(0, np.pi, _NODES))) / 2  # dense at the silhouettes, where curves are steep
    left, right = outline.left[:, None], outline.right[:, None]
    front_x = (left + (right - left) * spread[None]).astype(np.float32)
    row = np.broadcast_to(np.arange(rows, dtype=np.float32)[:, None], front_x.shape)
    front_z = cv2.remap(
        heights,
        front_x / np.float32(grid.cell),
        np.ascontiguousarray(row),
        cv2.INTER_LINEAR,
        borderMode=cv2.BORDER_REPLICATE,
    )
    front_z = _rounded(grid, front_x, np.asarray(front_z, np.float32), outline)
    # Rows that differ where they are steep would tear the silhouette.
    front_z = cv2.GaussianBlur(
        front_z, (1, int(6 * _EVEN) | 1), sigmaX=0.1, sigmaY=_EVEN, borderType=cv2.BORDER_REPLICATE
    )
    angle = np.linspace(0, _ROUND_ANGLE, _ROUND + 1)[1:].astype(np.float32)[None]
    back = outline.back[:, None]
    half = np.minimum((right - left) / 2, back * 1.2 + 1)
    inward, behind = half * (1 - np.cos(angle)), back * np.sin(angle)
    length = np.hypot(half, back) * angle * np.float32(0.75)
    x = np.hstack([(left + inward)[:, ::-1], front_x, right - inward])
    z = np.hstack([(front_z[:, :1] - behind)[:, ::-1], front_z, front_z[:, -1:] - behind])
    unfolded = np.hstack([(left - length)[:, ::-1], front_x, right + length])
    return (
        np.asarray(unfolded, np.float32),
        np.asarray(x, np.float32),
        np.asarray(z, np.float32),
    )


def _rounded(grid: Grid, x: Matte, z: Matte, outline: Outline) -> Matte:
    """Heights that meet the outlines upright and at their ends' own height: there the grid is too coarse for them."""
    depth = np.float32(_NARROW * grid.cell)
    result = z
    for edge, sign in ((outline.left[:, None], 1), (outline.right[:, None], -1)):
        distance = np.maximum(sign * (x - edge), 0)
        half = np.maximum(outline.right - outline.left, 2 * grid.cell)[:, None] / 2
        reach = np.minimum(depth, half)
        inner = (
            np.argmax(distance >= reach, axis=1)
            if sign > 0
            else x.shape[1] - 1 - np.argmax(distance[:, ::-1] >= reach, axis=1)
        )
        there = np.take_along_axis(z, inner[:, None], 1)
        level = z[:, :1] if sign > 0 else z[:, -1:]
        near = distance < reach
        rise = np.sqrt(np.clip(distance * (2 * half - distance) / (reach * (2 * half - reach)), 0, 1))
        result = np.where(near, level + (there - level) * rise, result)
    return np.asarray(result, np.float32)


def _between(x: Matte, left: Matte, right: Matte, outline: Outline) -> Matte:
    """A map from the new outline to the old one that is rigid at both edges, (rows, columns)."""
    new_left, new_right = left[:, None], right[:, None]
    old_left, old_right = outline.left[:, None], outline.right[:, None]
    share = np.clip((x[None] - new_left) / np.maximum(new_right - new_left, 1), 0, 1)
    share = share * share * (3 - 2 * share)
    return np.asarray(
        (1 - share) * (old_left + x[None] - new_left) + share * (old_right + x[None] - new_right), np.float32
    )


def _textured(
    grid: Grid, surface: Matte, outline: Outline, left: Matte, least_slope: Matte | float, repeats: bool
) -> tuple[Matte, Matte, Matte]:
    """``Lookup.texture``, ``other`` and ``lacks``."""
    from scipy.ndimage import gaussian_filter1d

    step = np.diff(surface, axis=1)
    # Summed from the right, where nothing is stretched, to the left.
    at_least = np.maximum(step, np.reshape(np.float32(least_slope) * np.float32(grid.cell), (-1, 1)))
    middle = (outline.left + outline.right)[:, None] / 2
    at_least = np.where(surface[:, :-1] < middle, at_least, step)
    total = np.cumsum(at_least[:, ::-1], axis=1)[:, ::-1]
    free = np.hstack([surface[:, -1:] - total, surface[:, -1:]])
    at_left = np.clip((left / grid.cell).astype(np.int64) + 1, 0, free.shape[1] - 1)
    missing = np.maximum(outline.left - np.take_along_axis(free, at_left[:, None], 1)[:, 0], 0)
    # Row by row it differs a little, which would show as teeth.
    missing = gaussian_filter1d(missing, 2 * _EVEN, mode="nearest")[:, None]
    # Off the old outline, where colours are mixed with the background; on it where texture suffices.
    run = outline.left_run[:, None]
    margin = np.minimum(0.5 * missing, np.minimum(_OFF * grid.cell, 0.35 * run))
    pivot = outline.left[:, None] + margin
    if repeats:
        # Beside the outline, as far as the lock goes; then back and forth in it.
        start = outline.left[:, None] + margin
        length = np.maximum(0.85 * run - margin, 1.5 * grid.cell)
        place = np.mod(free + missing + margin - start, 2 * length)
        other = start + np.minimum(place, 2 * length - place)
    else:
        other = np.maximum(free, pivot)
    blend = np.minimum(missing, _BLEND * grid.cell) + 1
    lacks = np.clip((pivot + blend - free) / blend, 0, 1) * np.clip(missing / grid.cell, 0, 1)
    beyond = np.maximum(pivot - free, 0)
    reach = np.clip(0.5 * run, 1.0, _MIRROR * grid.cell)
    texture = np.where(beyond > 0, pivot + reach * (1 - np.exp(-beyond / reach)), free)
    return np.asarray(texture, np.float32), np.asarray(other, np.float32), np.asarray(lacks, np.float32)
