"""Joins the two lip layers and the inner mouth along the moved lip edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from models.talking_head.mesh.grid import Field, Grid, warped
from models.talking_head.mesh.interior import Interior
from models.talking_head.mesh.lips import EDGE_U, LipFrame
from models.video.yuv import planes

Frame = NDArray[np.uint8]

_TABLE: Final = 512
_TABLE_REACH: Final = 1.6  # the edges are tabulated from -1.6 to 1.6
_JAW_TO_TEETH: Final = 0.9  # the lower teeth follow the lower lip by this much


@dataclass(frozen=True, slots=True, kw_only=True)
class Layers:
    """One frame's motion.

    Attributes:
        upper, lower: Backward fields of the two layers on the grid, pixels.
        upper_edge, lower_edge: The inner lip edges where they are now, frame pixels (n, 2), left to right.
        moved: Displacement by the head alone of the mouth's middle, left and right corner, (3, 2).
    """

    upper: Field
    lower: Field
    upper_edge: Field
    lower_edge: Field
    moved: Field


def draw_mouth(
    source: Frame,
    out: Frame,
    region: tuple[int, int, int, int],
    grid: Grid,
    mouth: LipFrame,
    interior: Interior,
    layers: Layers,
    *,
    aperture: float,
    tongue: float,
    pucker: float,
    teeth: float,
) -> None:
    """Draw lips and inner mouth into ``out`` (I420)."""
    origin, across, down = _moved_frame(mouth, layers.moved)
    matrix = np.linalg.inv(np.stack([across, down], 1)).astype(np.float32)
    upper_uv = ((layers.upper_edge - origin) @ matrix.T).astype(np.float32)
    lower_uv = ((layers.lower_edge - origin) @ matrix.T).astype(np.float32)
    columns, rows = _cells(grid, layers)
    if columns.start >= columns.stop or rows.start >= rows.stop:
        return  # the mouth lies outside the frame
    x0, y0 = grid.left + columns.start * grid.cell, grid.top + rows.start * grid.cell
    x1, y1 = x0 + (columns.stop - columns.start) * grid.cell, y0 + (rows.stop - rows.start) * grid.cell

    x, y = np.arange(x0, x1, dtype=np.float32) - origin[0], np.arange(y0, y1, dtype=np.float32) - origin[1]
    u = matrix[0, 0] * x[None] + matrix[0, 1] * y[:, None]
    v = matrix[1, 0] * x[None] + matrix[1, 1] * y[:, None]
    index = np.clip((u + _TABLE_REACH) * np.float32(_TABLE / (2 * _TABLE_REACH)), 0, _TABLE - 1).astype(np.int32)
    tables = _tables(upper_uv, lower_uv)
    upper_v, lower_v, between = (table[index] for table in tables)
    px = np.float32(np.linalg.norm(down) / (1 + 1.5 * interior.softness_px))  # steepness of the lips' edges
    from_upper, from_lower = v - upper_v, lower_v - v
    upper_alpha = np.clip(0.5 - from_upper * px, 0, 1)
    # Where the edges are less than a pixel apart nothing of the inner mouth may shine through.
    lower_alpha = np.maximum(np.clip(0.5 - from_lower * px, 0, 1), np.clip(1 - (lower_v - upper_v) * px, 0, 1))

    shade = _shade(from_upper, from_lower, between, mouth, aperture, px)
    gap = float((lower_uv[:, 1] - upper_uv[:, 1]).max())
    hole = (from_upper > -1 / px) & (from_lower > -1 / px) & (between > 0)
    luma, chroma = np.zeros_like(v), np.zeros((2, v.shape[0] // 2, v.shape[1] // 2), np.float32)
    seen = _bounds(hole)
    if seen is not None:
        down_, along = seen
        corner = (x0 + along.start, y0 + down_.start)
        size = (down_.stop - down_.start, along.stop - along.start)
        inner = _inner(interior, mouth, corner, size, (origin, across, down), aperture, tongue, pucker, gap)
        lit = _lit(inner, from_upper[seen], from_lower[seen], gap, teeth, pucker, interior)
        luma[seen] = lit[0]
        chroma[:, down_.start // 2 : down_.stop // 2, along.start // 2 : along.stop // 2] = np.moveaxis(lit[1], 2, 0)

    size = (v.shape[1] // 2, v.shape[0] // 2)
    halves = [np.asarray(cv2.resize(alpha, size, interpolation=cv2.INTER_AREA)) for alpha in (lower_alpha, upper_alpha)]
    given, target = planes(source), planes(out)
    for field, alpha, half_alpha in ((layers.lower, lower_alpha, halves[0]), (layers.upper, upper_alpha, halves[1])):
        coarse = grid.places(field)
        layer = warped(given.y, grid.upsampled(coarse, rows, columns), cubic=True)
        luma += (layer - luma) * alpha
        half = grid.upsampled(coarse, rows, columns, chroma=True)
        for plane, part in ((given.u, 0), (given.v, 1)):
            chroma[part] += (warped(plane, half) - chroma[part]) * half_alpha
    luma = 16 + (luma - 16) * shade
    np.copyto(target.y[y0:y1, x0:x1], luma + 0.5, casting="unsafe")
    for plane, value in ((target.u, chroma[0]), (target.v, chroma[1])):
        np.copyto(plane[y0 // 2 : y1 // 2, x0 // 2 : x1 // 2], value + 0.5, casting="unsafe")


def _bounds(mask: NDArray[np.bool_]) -> tuple[slice, slice] | None:
    """Rows and columns that hold all of ``mask``, even numbers; None where it is empty."""
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    if not len(rows):
        return None
    low, high = (
        (int(rows[0]) // 2 * 2, int(columns[0]) // 2 * 2),
        (int(rows[-1]) // 2 * 2 + 2, int(columns[-1]) // 2 * 2 + 2),
    )
    return slice(low[0], high[0]), slice(low[1], high[1])


def _moved_frame(mouth: LipFrame, moved: Field) -> tuple[Field, Field, Field]:
    """The mouth's axes after the head's motion: shifted, turned and scaled with its corners."""
    origin = mouth.origin + moved[0]
    across = mouth.across + (moved[2] - moved[1]) / 2
    before, after = complex(*mouth.across), complex(*across)
    down = complex(*mouth.down) * (after / before)
    return origin, across.astype(np.float32), np.array([down.real, down.imag], np.float32)


def _cells(grid: Grid, layers: Layers) -> tuple[slice, slice]:
    """The cells in which the two layers differ at pixels near the lips."""
    edges = grid.to_cells(np.concatenate([layers.upper_edge, layers.lower_edge]))
    low, high = np.floor(edges.min(0) - 1.5).astype(int), np.ceil(edges.max(0) + 2.5).astype(int)
    low, high = np.maximum(low, 0), np.minimum(high, [grid.columns, grid.rows])
    return slice(int(low[0]), int(high[0])), slice(int(low[1]), int(high[1]))


def _tables(upper_uv: Field, lower_uv: Field) -> tuple[Field, Field, Field]:
    """V of both edges for u from -reach to reach, one line from the corners outward; and 1 between the corners."""
    u = np.linspace(-_TABLE_REACH, _TABLE_REACH, _TABLE, dtype=np.float32)
    upper = np.interp(u, upper_uv[:, 0], upper_uv[:, 1]).astype(np.float32)
    lower = np.interp(u, lower_uv[:, 0], lower_uv[:, 1]).astype(np.float32)
    left, right = (float(upper_uv[end, 0] + lower_uv[end, 0]) / 2 for end in (0, -1))
    between = np.clip(np.minimum(u - left, right - u) / np.float32(0.03), 0, 1)
    middle = (upper + lower) / 2
    return middle + (upper - middle) * between, middle + (lower - middle) * between, between


def _shade(
    from_upper: Field, from_lower: Field, between: Field, mouth: LipFrame, aperture: float, px: np.float32
) -> Field:
    """Lips curve inward at their edges: a soft dark line where they part or meet."""
    nearest = np.maximum(-from_upper, 0)
    nearest = np.where(from_lower < 0, np.maximum(-from_lower, 0), nearest)
    closed = np.float32(np.clip(1 - aperture / 0.06, 0, 1))
    strength = 0.16 + closed * 0.30 * mouth.openness
    fade = np.exp(-((nearest / np.float32(0.05)) ** 2))
    inside = (from_upper > 0) & (from_lower > 0)
    line = np.asarray(1 - np.float32(strength) * fade * between, np.float32)
    # A slit of less than a pixel shows lips only: unshaded it would be a row of bright dots.
    parted = np.clip((from_upper + from_lower) * px, 0, 1)
    return np.where(inside, line + (1 - line) * parted, line)


def _inner(
    interior: Interior,
    mouth: LipFrame,
    corner: tuple[int, int],
    shape: tuple[int, ...],
    axes: tuple[Field, Field, Field],
    aperture: float,
    tongue: float,
    pucker: float,
    gap: float,
) -> Field:
    """Throat, tongue, lower and upper teeth as seen without lips: (h, w, 3) Y, U, V."""
    origin, across, down = axes
    unit = np.linalg.norm(down)
    level = across / np.linalg.norm(across) * unit  # one unit along the mouth, whatever the lips' width
    to_axes = np.linalg.inv(np.stack([level, down], 1))
    middle = float(mouth.meeting[len(EDGE_U) // 2])
    drop = max(2 * aperture, 0.0) * 0.8 * _JAW_TO_TEETH
    inner = np.empty((*shape, 3), np.float32)
    inner[:] = interior.palette.throat
    raised = 0.55 * tongue * max(gap, 0.0)
    for texture, shift in (
        (interior.tongue, middle + drop - raised),
        (interior.lower, middle + drop),
        (interior.upper, middle - 0.10 * pucker),
    ):
        # frame pixel -> mouth axes -> texture pixel
        matrix = np.eye(3)
        matrix[:2, :2] = to_axes
        matrix[:2, 2] = to_axes @ (np.array(corner) - origin) - (0, shift)
        to_texture = interior.to_texture() @ matrix
        seen = cv2.warpAffine(texture, to_texture, shape[::-1], flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP)
        alpha = seen[..., 3:].astype(np.float32) * np.float32(1 / 255)
        inner += (seen[..., :3] - inner) * alpha
    return inner


def _lit(
    inner: Field, from_upper: Field, from_lower: Field, gap: float, teeth: float, pucker: float, interior: Interior
) -> tuple[Field, Field]:
    """The inner mouth in the shadow of the lips: Y at full and (U, V) at half resolution."""
    below_lip = np.clip(from_upper / np.float32(0.22), 0, 1)
    above_lip = np.clip(from_lower / np.float32(0.14), 0, 1)
    shown = max(min(gap / 0.5, 1.0), teeth) * (1 - 0.45 * pucker)  # rounded lips keep the light out
    light = (0.5 + 0.5 * np.maximum(below_lip, 0.6 * teeth)) * (0.7 + 0.3 * above_lip) * np.float32(0.7 + 0.3 * shown)
    light *= np.float32(1 - 0.35 * pucker)
    if interior.seen_teeth:
        light = light ** np.float32(0.4)  # they were photographed in their own shadow
    luma = 16 + (inner[..., 0] - 16) * light
    half = (inner.shape[1] // 2, inner.shape[0] // 2)
    chroma = np.asarray(cv2.resize(inner[..., 1:], half, interpolation=cv2.INTER_AREA))
    dark = 1 - np.asarray(cv2.resize(light.astype(np.float32), half, interpolation=cv2.INTER_AREA))[..., None]
    chroma = chroma + (interior.palette.throat[1:] - chroma) * dark
    return luma, chroma
