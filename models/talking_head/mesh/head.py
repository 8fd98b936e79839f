"""The fields by which the whole head moves: turns in depth, shifts, brows."""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np

from models.perception.face import FaceLandmarks
from models.talking_head.mesh import topology
from models.talking_head.mesh.grid import Field, Grid, warped

MOTIONS: Final = ("yaw", "pitch", "roll", "shift_x", "shift_y", "brow")

REACH: Final = 2.4
"""The head's motion ends at this multiple of the face oval."""

_RING_SCALES, _RING_WEIGHTS = (1.22, 1.5, 1.9, REACH), (1.0, 0.9, 0.45, 0.0)
_AXIS_DEPTH: Final = 0.55  # of the axis the head turns about, in face widths behind the mesh's own zero
_BEHIND: Final = 0.45  # face widths over which the background takes up the head's motion
_BROW_LIFT: Final = 0.03  # face widths


def oval_ratio(landmarks: FaceLandmarks, x: Field, y: Field) -> Field:
    """How far out each pixel lies, 1 on the face oval; below the chin distances count more, shoulders stay."""
    oval = landmarks.points[list(topology.FACE_OVAL), :2]
    centre = oval.mean(0)
    relative = oval - centre
    angles = np.arctan2(relative[:, 1], relative[:, 0])
    order = np.argsort(angles)
    dx, dy = x - centre[0], y - centre[1]
    radius = np.interp(
        np.arctan2(dy, dx), angles[order], np.linalg.norm(relative, axis=1)[order], period=2 * np.pi
    ).astype(np.float32)
    distance = np.hypot(dx, dy)
    lean = np.clip(dy / np.maximum(distance, 1), 0, 1) ** 2
    return np.asarray(distance / radius * (1 + 0.22 * lean), np.float32)


def outside_face(landmarks: FaceLandmarks, grid: Grid, unit_px: float) -> Field:
    """Distance of each cell from the face's contour, in units of ``unit_px``; positive outside, negative inside."""
    oval = landmarks.points[list(topology.FACE_OVAL), :2]
    inside = np.zeros((grid.rows, grid.columns), np.uint8)
    cv2.fillPoly(inside, [np.round(grid.to_cells(oval)).astype(np.int32)], 1)
    away, within = (cv2.distanceTransform(mask, cv2.DIST_L2, 5) for mask in (1 - inside, inside))
    distance = (np.asarray(away, np.float32) - np.asarray(within, np.float32)) * np.float32(grid.cell / unit_px)
    return np.asarray(cv2.GaussianBlur(distance, (5, 5), 0), np.float32)


def near_person(matte: Field, grid: Grid, frame_size: tuple[int, int], face_width: float) -> Field:
    """1 on the person and close by, 0 further out, (rows, columns): what stands behind keeps still.

    ``matte`` covers the whole frame at any size.
    """
    x, y = grid.centres()
    scale = np.array([matte.shape[1] / frame_size[0], matte.shape[0] / frame_size[1]], np.float32)
    seen = warped(matte, np.asarray(np.dstack([(x + 0.5) * scale[0] - 0.5, (y + 0.5) * scale[1] - 0.5]), np.float32))
    away = cv2.distanceTransform((seen < 0.5).astype(np.uint8), cv2.DIST_L2, 5)
    value = np.clip(1 - np.asarray(away, np.float32) * np.float32(grid.cell / (_BEHIND * face_width)), 0, 1)
    return np.asarray(value * value * (3 - 2 * value), np.float32)


def head_fields(landmarks: FaceLandmarks, grid: Grid, frame_size: tuple[int, int], matte: Field) -> Field:
    """The basis of head motion, (len(MOTIONS), rows, columns, 2), pixels for a motion of 1 (radian, face width).

    It fades to nothing at ``REACH`` and at the frame's edges, so that nothing is pulled in from outside.
    """
    x, y = grid.centres()
    face_width = landmarks.width
    ratio = oval_ratio(landmarks, x, y)
    weight = np.interp(ratio, _RING_SCALES, _RING_WEIGHTS).astype(np.float32)
    weight *= np.maximum(near_person(matte, grid, frame_size, face_width), np.clip((1.4 - ratio) / 0.3, 0, 1))
    weight *= _edge_fade(x, y, frame_size, face_width)
    weight = np.asarray(cv2.GaussianBlur(weight, (5, 5), 0), np.float32)
    weight[ratio >= REACH] = 0
    weight *= _edge_fade(x, y, frame_size, face_width) > 0
    lever = _depth(landmarks, grid) - np.float32(_AXIS_DEPTH * face_width)
    chin = landmarks.points[topology.CHIN, :2]
    zero = np.zeros_like(weight)
    brow = _brow_weight(landmarks, x, y) * np.float32(-_BROW_LIFT * face_width)
    pairs = [
        (-lever * weight, zero),
        (zero, lever * weight),
        (-(y - chin[1]) * weight, (x - chin[0]) * weight),
        (face_width * weight, zero),
        (zero, face_width * weight),
        (zero, brow),
    ]
    return np.asarray([np.dstack(pair) for pair in pairs], np.float32)


def _edge_fade(x: Field, y: Field, frame_size: tuple[int, int], face_width: float) -> Field:
    """1 inside, 0 at the frame's left, top and right edge; the bottom is far from the head or holds shoulders."""
    margin = np.float32(0.12 * face_width)
    nearest = np.minimum(np.minimum(x, frame_size[0] - 1 - x), np.minimum(y, frame_size[1] - 1 - y))
    value = np.clip(nearest / margin, 0, 1)
    return np.asarray(value * value * (3 - 2 * value), np.float32)


def _depth(landmarks: FaceLandmarks, grid: Grid) -> Field:
    """The mesh's z on the grid: averaged around each cell, carried outward where the mesh has no points."""
    cells = np.round(grid.to_cells(landmarks.points[:, :2])).astype(int)
    inside = (cells >= 0).all(1) & (cells[:, 0] < grid.columns) & (cells[:, 1] < grid.rows)
    total, count = np.zeros((grid.rows, grid.columns), np.float32), np.zeros((grid.rows, grid.columns), np.float32)
    place = (cells[inside, 1], cells[inside, 0])
    np.add.at(total, place, landmarks.points[inside, 2])
    np.add.at(count, place, 1)
    base = landmarks.width / grid.cell
    depth: Field = np.full_like(total, float(landmarks.points[list(topology.FACE_OVAL), 2].mean()))
    for sigma in (base * 0.5, base * 0.2, base * 0.08, base * 0.04):
        near = np.asarray(cv2.GaussianBlur(count, (0, 0), max(sigma, 0.5)), np.float32)
        value = np.asarray(cv2.GaussianBlur(total, (0, 0), max(sigma, 0.5)), np.float32)
        trust = near / (near + np.float32(0.02))
        depth = np.asarray(trust * value / np.maximum(near, 1e-6) + (1 - trust) * depth, np.float32)
    return np.asarray(cv2.GaussianBlur(depth, (0, 0), max(base * 0.03, 0.8)), np.float32)


def _brow_weight(landmarks: FaceLandmarks, x: Field, y: Field) -> Field:
    width = landmarks.width
    total: Field = np.zeros(x.shape, np.float32)
    for indices in (topology.RIGHT_BROW, topology.LEFT_BROW):
        centre = landmarks.points[list(indices), :2].mean(0)
        across, down = (x - centre[0]) / (0.17 * width), (y - centre[1] + 0.03 * width) / (0.075 * width)
        total = np.asarray(np.maximum(total, np.exp(-(across**2) - down**2)), np.float32)
    return total
