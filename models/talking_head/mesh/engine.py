"""The face renderer of the mesh engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.perception.face import FaceLandmarks
from models.perception.person import coarse_person_matte
from models.talking_head.mesh import head as head_motion
from models.talking_head.mesh import lips
from models.talking_head.mesh.folds import relaxed
from models.talking_head.mesh.grid import Field, Grid, warped
from models.talking_head.mesh.interior import Interior, build_interior
from models.talking_head.mesh.lids import Lid, close_lid, find_lids
from models.talking_head.mesh.mouth import Layers, draw_mouth
from models.talking_head.tracks import HeadTrack, MouthTrack
from models.video.yuv import i420_to_rgb, planes

Frame = NDArray[np.uint8]

_CELLS_A_MOUTH: Final = 8.0  # grid cells in half a resting mouth: finer than any motion but the lip edges
_TURNED_FROM, _TURNED_TO = np.radians(25.0), np.radians(50.0)
_TURNED_STRENGTH: Final = 0.45
_BREADTH_MEMORY: Final = 0.02  # about two seconds of frames
_SMALL_FACE_PX: Final = 80
_LEAST_MOTION_PX: Final = 0.02  # what moves less keeps the source's own pixels
_LARGEST_HEAD_MOTION: Final = 0.06  # radians and face widths
_BAND_ROWS: Final = 12  # cells
_WINDOW_MARGIN: Final = 8  # cells, about one unit of the mouth: further than any lip moves


@dataclass(frozen=True, slots=True, kw_only=True)
class MeshState:
    """One source frame, ready to speak; see ``PortraitState``.

    Attributes:
        upper, lower: Bases of the two layers, (motions, cells * 2), pixels; the lower one in ``window`` only.
        window: Rows and columns of the grid in which the layers differ.
        bands: Rows and columns that cover all cells that ever move, top to bottom.
        upper_edge, lower_edge: The same bases at the lip edges, (motions, points * 2).
        below: Cells of the layer below the mouth line.
        strength: Factor on every motion, under 1 for turned faces.
        rest_breadth: Breadth of the mouth at rest (see ``LipFrame.breadth``): a moving mouth is narrow or wide by its
            own speech, which the planned width replaces.
    """

    region: tuple[int, int, int, int]
    warnings: tuple[str, ...]
    source: Frame
    landmarks: FaceLandmarks
    grid: Grid
    mouth: lips.LipFrame
    upper: Field
    lower: Field
    window: tuple[slice, slice]
    bands: tuple[tuple[slice, slice], ...]
    upper_edge: Field
    lower_edge: Field
    anchors: Field
    below: NDArray[np.bool_]
    interior: Interior
    lids: tuple[Lid, ...]
    strength: float
    rest_breadth: float


class MeshRenderer:
    """Warps the picture's own face; implements ``FaceRenderer``. Holds no state of its own."""

    def prepare(
        self, frame: Frame, landmarks: FaceLandmarks, *, previous: MeshState | None = None, moving: bool = False
    ) -> MeshState:
        """See ``FaceRenderer.prepare``. Warnings: ``turned_face``, ``mouth_wide_open``, ``small_face``."""
        luma = planes(frame).y
        size = (luma.shape[1], luma.shape[0])
        mouth = lips.lip_frame(landmarks, luma, moving=moving)
        grid = _grid(landmarks, mouth, size, moving)
        outline = head_motion.outside_face(landmarks, grid, mouth.unit_px)
        upper, lower = lips.mouth_fields(mouth, grid, outline)
        if not moving:
            matte = coarse_person_matte(i420_to_rgb(frame))
            shared = head_motion.head_fields(landmarks, grid, size, matte)
            upper, lower = np.concatenate([shared, upper]), np.concatenate([shared, lower])
        upper, lower = upper * _border_fade(grid), lower * _border_fade(grid)
        window = _window(grid, upper, lower)
        x, y = grid.centres()
        u, v = mouth.to_uv(x, y)
        edges = [mouth.to_pixels(lips.EDGE_U, line) for line in (mouth.upper, mouth.lower)]
        anchors = np.stack([mouth.origin, mouth.origin - mouth.across, mouth.origin + mouth.across])
        turned = float(np.clip((abs(landmarks.yaw) - _TURNED_FROM) / (_TURNED_TO - _TURNED_FROM), 0, 1))
        region = (grid.left, grid.top, min(size[0], grid.left + grid.width), min(size[1], grid.top + grid.height))
        return MeshState(
            region=region,
            warnings=_warnings(landmarks, mouth),
            source=frame if moving else relaxed(frame, mouth),
            landmarks=landmarks,
            grid=grid,
            mouth=mouth,
            upper=upper.reshape(len(upper), -1),
            lower=lower[:, *window].reshape(len(lower), -1),
            window=window,
            bands=_bands(upper, lower, num_head_motions=len(upper) - len(lips.MOTIONS)),
            upper_edge=_sampled(grid, upper, edges[0]),
            lower_edge=_sampled(grid, lower, edges[1]),
            anchors=_sampled(grid, upper[: -len(lips.MOTIONS)], anchors)
            if not moving
            else np.zeros((0, 6), np.float32),
            below=v > np.interp(u, lips.EDGE_U, mouth.meeting),
            interior=build_interior(mouth, frame, previous.interior if previous else None, moving=moving),
            lids=() if moving else find_lids(landmarks, frame, region),
            strength=1 - (1 - _TURNED_STRENGTH) * turned,
            rest_breadth=_rest_breadth(mouth, previous) if moving else mouth.breadth,
        )

    def render(self, state: MeshState, mouth: MouthTrack, head: HeadTrack | None, index: int, out: Frame) -> None:
        """See ``FaceRenderer.render``."""
        grid = state.grid
        moves_head = len(state.anchors) > 0
        coefficients = _mouth_coefficients(state, mouth, index)
        if moves_head:
            coefficients = np.concatenate([_head_coefficients(state, head, index), coefficients])
        back_upper = grid.inverse((coefficients @ state.upper).reshape(grid.rows, grid.columns, 2))
        rows, columns = state.window
        part = (rows.stop - rows.start, columns.stop - columns.start, 2)
        back_lower = back_upper.copy()
        back_lower[state.window] = grid.inverse((coefficients @ state.lower).reshape(part))
        back = np.where(state.below[..., None], back_lower, back_upper)
        coarse = grid.places(back)
        _warp(state, coarse, out)
        motion = (coefficients[: len(state.anchors)] @ state.anchors).reshape(3, 2) if moves_head else np.zeros((3, 2))
        layers = Layers(
            upper=back_upper,
            lower=back_lower,
            upper_edge=state.mouth.to_pixels(lips.EDGE_U, state.mouth.upper)
            + (coefficients @ state.upper_edge).reshape(-1, 2),
            lower_edge=state.mouth.to_pixels(lips.EDGE_U, state.mouth.lower)
            + (coefficients @ state.lower_edge).reshape(-1, 2),
            moved=motion.astype(np.float32),
        )
        strength = state.strength
        draw_mouth(
            state.source,
            out,
            state.region,
            grid,
            state.mouth,
            state.interior,
            layers,
            aperture=float(mouth.aperture[index]) * strength,
            tongue=float(mouth.tongue[index]),
            pucker=float(mouth.pucker[index]),
            teeth=float(mouth.teeth[index]),
        )
        if head is not None and moves_head and head.blink[index] > 0.01:
            for lid in state.lids:
                close_lid(lid, float(head.blink[index]), grid.upsampled_box(coarse, lid.box), state.source, out)


def _grid(landmarks: FaceLandmarks, mouth: lips.LipFrame, size: tuple[int, int], moving: bool) -> Grid:
    cell = max(2, round(mouth.unit_px / _CELLS_A_MOUTH / 2) * 2)
    if moving:
        centre, half = mouth.to_pixels(np.zeros(1, np.float32), np.array([0.5], np.float32))[0], 3.2 * mouth.unit_px
        low, high = centre - half, centre + half
    else:
        oval = landmarks.points[:, :2]
        centre = oval.mean(0)
        reach = np.abs(oval - centre).max() * head_motion.REACH
        low, high = centre - reach, centre + reach
    low = np.clip(low, 0, size)
    high = np.clip(high, 0, size)
    left, top = (int(value) // 2 * 2 for value in low)
    columns, rows = (max(4, int((high[axis] - start) // cell)) for axis, start in ((0, left), (1, top)))
    return Grid(left=left, top=top, cell=cell, columns=columns, rows=rows)


def _rest_breadth(mouth: lips.LipFrame, previous: MeshState | None) -> float:
    """The mouth's usual breadth in a video so far, starting between this frame's and the average person's."""
    before = previous.rest_breadth if previous is not None else (1 + mouth.breadth) / 2
    return before + _BREADTH_MEMORY * (mouth.breadth - before)


def _window(grid: Grid, upper: Field, lower: Field) -> tuple[slice, slice]:
    """Rows and columns in which the layers differ, wide enough for what moves into them."""
    differ = np.abs(upper - lower).max((0, 3)) > 0.01
    margin = _WINDOW_MARGIN
    slices = []
    for axis, length in ((1, grid.rows), (0, grid.columns)):
        where = np.flatnonzero(differ.any(axis))
        first, last = (int(where[0]), int(where[-1])) if len(where) else (0, 0)
        slices.append(slice(max(0, first - margin), min(length, last + margin + 1)))
    return slices[0], slices[1]


def _bands(upper: Field, lower: Field, *, num_head_motions: int) -> tuple[tuple[slice, slice], ...]:
    """Bands of cells from the first to the last column that moves: a head is round, its region is not."""
    least = np.full(len(upper), _LEAST_MOTION_PX, np.float32)
    least[:num_head_motions] /= _LARGEST_HEAD_MOTION
    largest = np.maximum(np.abs(upper), np.abs(lower)).max(3)
    moves = (largest > least[:, None, None]).any(0)
    num_rows, num_columns = moves.shape
    bands = []
    for start in range(0, num_rows, _BAND_ROWS):
        stop = min(start + _BAND_ROWS, num_rows)
        columns = np.flatnonzero(moves[max(0, start - 1) : stop + 1].any(0))
        if len(columns):
            bands.append(
                (slice(start, stop), slice(max(0, int(columns[0]) - 1), min(num_columns, int(columns[-1]) + 2)))
            )
    return tuple(bands)


def _border_fade(grid: Grid) -> Field:
    """Brings every field to nothing at the region's border, so that the warp ends in untouched pixels."""
    x = np.minimum(np.arange(grid.columns), np.arange(grid.columns)[::-1]) / 4
    y = np.minimum(np.arange(grid.rows), np.arange(grid.rows)[::-1]) / 4
    return np.minimum(np.minimum(x[None], y[:, None]), 1)[..., None].astype(np.float32)


def _sampled(grid: Grid, basis: Field, points: Field) -> Field:
    return np.stack([grid.sample(field, points).ravel() for field in basis])


def _warnings(landmarks: FaceLandmarks, mouth: lips.LipFrame) -> tuple[str, ...]:
    found = []
    if abs(landmarks.yaw) > _TURNED_FROM:
        found.append("turned_face")
    if mouth.gap > lips.WIDE_OPEN_GAP:
        found.append("mouth_wide_open")
    if landmarks.width < _SMALL_FACE_PX:
        found.append("small_face")
    return tuple(found)


def _mouth_coefficients(state: MeshState, track: MouthTrack, index: int) -> Field:
    """One factor for each of ``lips.MOTIONS``."""
    opening = 2 * float(track.aperture[index])
    pucker = float(track.pucker[index])
    upper_share = 0.2 + 0.12 * pucker
    teeth = float(track.teeth[index])
    natural = float(np.clip(state.rest_breadth / state.mouth.breadth, 0.8, 1.35))
    width = float(track.width[index]) * natural - 1
    if width < 0:
        width *= 1 + state.mouth.smile * float(np.clip(state.mouth.breadth - 0.95, 0, 0.35))
    strength = state.strength
    return np.array(
        [
            1.0,
            upper_share * opening * strength,
            (1 - upper_share) * opening * strength,
            width * strength,
            pucker * strength,
            teeth * strength,
        ],
        np.float32,
    )


def _head_coefficients(state: MeshState, head: HeadTrack | None, index: int) -> Field:
    """One factor for each of ``head_motion.MOTIONS``."""
    if head is None:
        return np.zeros(len(head_motion.MOTIONS), np.float32)
    curves = (head.yaw, head.pitch, head.roll, head.shift_x, head.shift_y, head.brow)
    return np.array([curve[index] for curve in curves], np.float32) * np.float32(state.strength)


def _warp(state: MeshState, coarse: Field, out: Frame) -> None:
    """Draw all but the mouth, from the places of the grid's cells."""
    grid = state.grid
    source, target = planes(state.source), planes(out)
    for rows, columns in state.bands:
        y = slice(grid.top + rows.start * grid.cell, grid.top + rows.stop * grid.cell)
        x = slice(grid.left + columns.start * grid.cell, grid.left + columns.stop * grid.cell)
        target.y[y, x] = warped(source.y, grid.upsampled(coarse, rows, columns), cubic=True)
        half = grid.upsampled(coarse, rows, columns, chroma=True)
        area = (slice(y.start // 2, y.stop // 2), slice(x.start // 2, x.stop // 2))
        target.u[area] = warped(source.u, half)
        target.v[area] = warped(source.v, half)
