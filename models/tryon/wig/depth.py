"""How far in front of the ears each part of a head and of its wig lies: height fields on a coarse grid.

Lengths are pixels of the picture, heights grow towards the viewer and are 0 at the ears. The face's heights are those
of its mesh; skull, cheeks and hair are inflated from their outlines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.talking_head.mesh.topology import FACE_OVAL
from models.tryon.wig.filling import push_pull

Matte = NDArray[np.float32]
Points = NDArray[np.float32]
Mask = NDArray[np.bool_]

_CELLS: Final = 36.0  # in a face width
_FULLNESS: Final = 3.2  # 2 makes a strip a half cylinder, 4 a disc half a ball: heads and hair are between
_BODY: Final = 0.12  # face widths: throat, collar and chest
_OVER: Final = 0.035  # face widths from skin to the hair's surface at its edge


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Nodes every ``cell`` pixels, the first at the first pixel."""

    cell: int
    width: int
    height: int

    @classmethod
    def for_face(cls, face_width: float, width: int, height: int) -> Grid:
        return cls(cell=max(2, round(face_width / _CELLS)), width=width, height=height)

    @property
    def shape(self) -> tuple[int, int]:
        return -(-self.height // self.cell) + 1, -(-self.width // self.cell) + 1

    @property
    def x(self) -> Matte:
        return np.arange(self.shape[1], dtype=np.float32) * np.float32(self.cell)

    @property
    def y(self) -> Matte:
        return np.arange(self.shape[0], dtype=np.float32) * np.float32(self.cell)

    def coarse(self, values: Matte) -> Matte:
        """``values`` (h, w) of the picture as means around the nodes."""
        import cv2

        rows, columns = self.shape
        half = self.cell // 2
        padded = cv2.copyMakeBorder(
            values,
            half,
            rows * self.cell - half - self.height,
            half,
            columns * self.cell - half - self.width,
            cv2.BORDER_REPLICATE,
        )
        return np.asarray(cv2.resize(padded, (columns, rows), interpolation=cv2.INTER_AREA), np.float32)

    def fine(self, values: Matte) -> Matte:
        """Values at the nodes for every pixel."""
        import cv2

        matrix = np.array([[1 / self.cell, 0, 0], [0, 1 / self.cell, 0]], np.float64)
        return np.asarray(
            cv2.warpAffine(
                values,
                matrix,
                (self.width, self.height),
                flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP,
                borderMode=cv2.BORDER_REPLICATE,
            ),
            np.float32,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadShape:
    """Where a head is in space.

    Attributes:
        x, z: Of the upright axis it turns about, pixels.
        eye_y: Row of the eyes: the camera's height.
        chin: The chin's place.
        face_width: Pixels; the unit of everything else.
        tilt: Growth of the ears' height per pixel to the right, for a head that is turned in the picture.
    """

    x: float
    z: float
    eye_y: float
    chin: tuple[float, float]
    face_width: float
    tilt: float

    @classmethod
    def of(cls, points: Points) -> HeadShape:
        across = points[454] - points[234]
        face_width = max(float(np.linalg.norm(across[:2])), 1.0)
        return cls(
            x=float(points[[234, 454], 0].mean()),
            z=-0.06 * face_width,
            eye_y=float(points[[33, 263], 1].mean()),
            chin=(float(points[152, 0]), float(points[152, 1])),
            face_width=face_width,
            tilt=float(-across[2] / max(float(across[0]), 0.3 * face_width)),
        )

    def ears(self, x: Matte) -> Matte:
        """Height of the plane through both ears."""
        return np.asarray(self.tilt * (x - self.x), np.float32)


def head_heights(grid: Grid, shape: HeadShape, points: Points, head_alpha: Matte) -> Matte:
    """Height of the head's surface, (rows, columns); throat and body below it are nearly flat.

    Args:
        head_alpha: float32 (h, w); where the head without hair is.
    """
    import cv2

    rows, columns = grid.shape
    level = shape.ears(grid.x)[None]
    ear_z = float(points[[234, 454], 2].mean())
    cells = np.round(points[:, :2] / grid.cell).astype(int)
    inside = (cells >= 0).all(1) & (cells[:, 0] < columns) & (cells[:, 1] < rows)
    total, count = np.zeros((rows, columns), np.float32), np.zeros((rows, columns), np.float32)
    np.add.at(total, (cells[inside, 1], cells[inside, 0]), ear_z - points[inside, 2])
    np.add.at(count, (cells[inside, 1], cells[inside, 0]), 1)
    known = np.minimum(count, 1)
    mean = total / np.maximum(count, 1)
    face = push_pull(np.dstack([mean, mean]), known)[..., 0]
    face = np.asarray(cv2.GaussianBlur(face, (0, 0), 1.0), np.float32)
    oval = np.zeros((rows, columns), np.uint8)
    cv2.fillPoly(oval, [np.round(points[list(FACE_OVAL), :2] / grid.cell).astype(np.int32)], 1)
    fixed = cv2.erode(oval, np.ones((3, 3), np.uint8)) > 0
    # The surface goes on smoothly past the jaw, where the head ends but is not turned away.
    lobe = points[[58, 288], 1].mean()
    fixed |= (grid.y > lobe)[:, None] & (
        cv2.distanceTransform(1 - oval, cv2.DIST_L2, 3) < 0.25 * shape.face_width / grid.cell
    )
    domain = (grid.coarse(head_alpha) > 0.5) | fixed
    return inflated(domain, fixed, np.asarray(face - level, np.float32), grid.cell) + level


def wig_heights(grid: Grid, shape: HeadShape, head: Matte, head_alpha: Matte, person_alpha: Matte, wig: Matte) -> Matte:
    """Height of the hair's surface, (rows, columns): on skin and clothes at its inner edges, round where it stands out.

    Args:
        head: Heights of the head.
        head_alpha, person_alpha, wig: float32 (h, w): the head, the whole person, the wig.
    """
    import cv2

    level = shape.ears(grid.x)[None]
    face_width = shape.face_width
    on_head, on_person = grid.coarse(head_alpha), grid.coarse(person_alpha)
    below = np.where(on_head > 0.5, head - level, _BODY * face_width * np.clip(2 * on_person, 0, 1))
    below = np.asarray(cv2.GaussianBlur(below, (0, 0), 1.5), np.float32)
    hair = grid.coarse(wig) > 0.5
    covered = np.asarray(below + _OVER * face_width * np.clip(on_person * 2, 0, 1), np.float32)
    # Where the wig ends over the person it lies on them; where it ends over the background it is as high as the ears.
    volume = inflated(hair, ~hair & (on_person > 0.5), covered, grid.cell)
    least = np.maximum(volume, covered)
    least = np.where(hair, np.maximum(least, 0), covered)
    return np.asarray(cv2.GaussianBlur(least, (0, 0), 0.8), np.float32) + level


def inflated(domain: Mask, fixed: Mask, heights: Matte, cell: int) -> Matte:
    """A rounded surface over ``domain`` that keeps ``heights`` where ``fixed`` and falls to 0 at every other edge.

    The square of the height solves Poisson's equation, so that sections are elliptic and meet the silhouette upright.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.linalg import spsolve

    rows, columns = domain.shape
    square = np.where(fixed, np.maximum(heights, 0) ** 2, 0).astype(np.float64)
    unknown = domain & ~fixed
    number = np.full(domain.shape, -1, np.int64)
    number[unknown] = np.arange(int(unknown.sum()))
    if not unknown.any():
        return np.asarray(np.sqrt(square), np.float32)
    places = np.argwhere(unknown)
    diagonal = np.zeros(len(places))
    right = np.full(len(places), _FULLNESS * float(cell) ** 2)
    entries_row, entries_column = [], []
    for step in ((0, 1), (0, -1), (1, 0), (-1, 0)):
        to = places + step
        inside = (to >= 0).all(1) & (to[:, 0] < rows) & (to[:, 1] < columns)
        diagonal += inside  # the picture's edge cuts the body, it does not end it
        here = np.flatnonzero(inside)
        there = number[to[inside, 0], to[inside, 1]]
        right[here] += np.where(there < 0, square[to[inside, 0], to[inside, 1]], 0)
        entries_row.append(here[there >= 0])
        entries_column.append(there[there >= 0])
    row, column = np.concatenate(entries_row), np.concatenate(entries_column)
    everywhere = np.arange(len(places))
    matrix = coo_matrix(
        (
            np.concatenate([diagonal, -np.ones(len(row))]),
            (np.concatenate([everywhere, row]), np.concatenate([everywhere, column])),
        ),
        shape=(len(places), len(places)),
    )
    square[unknown] = np.maximum(spsolve(matrix.tocsc(), right), 0)
    return np.asarray(np.sqrt(square), np.float32)
