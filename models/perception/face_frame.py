"""Coordinates that a face gives its surroundings: across and down in face widths, near the face or far from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.perception.face import FaceLandmarks

Values = NDArray[np.float32]

FACE_OVAL: Final = (
    *(10, 338, 297, 332, 284, 251, 389, 356, 454, 323, 361, 288, 397, 365, 379, 378, 400, 377),
    *(152, 148, 176, 149, 150, 136, 172, 58, 132, 93, 234, 127, 162, 21, 54, 103, 67, 109),
)
"""Mesh points of the face's outline, in order round it from the top of the forehead."""

_BROWS: Final = (70, 63, 105, 66, 107, 336, 296, 334, 293, 300)
_JAW_CORNERS: Final = (172, 397)
_MOST_TURNED: Final = 0.6  # cosine: a face turned further shows too little of its width to divide by


@dataclass(frozen=True, slots=True, kw_only=True)
class FaceFrame:
    """Every pixel's place relative to the face. Lengths are face widths as seen from the front.

    Attributes:
        points: Mesh points in pixels, float32 (468, 2).
        width_px: One face width.
        across: float32 (h, w), along the face's own horizontal, 0 in the middle, positive to the picture's right.
        down: float32 (h, w), along its vertical, 0 at the height of the ears, positive towards the chin.
        oval: bool (h, w): inside the face's outline.
        inside, outside: float32 (h, w): distance to the outline, 0 on the other side of it.
        forehead, brows, chin: ``down`` of the mesh's upper end, of the brows and of the chin.
        middle: ``across`` of the chin.
        jaw: ``across`` of the two corners of the jaw, the smaller first.
    """

    points: Values
    width_px: float
    across: Values
    down: Values
    oval: NDArray[np.bool_]
    inside: Values
    outside: Values
    forehead: float
    brows: float
    chin: float
    middle: float
    jaw: tuple[float, float]

    def discs(self, places: tuple[tuple[int, float], ...]) -> NDArray[np.bool_]:
        """Pixels within the given radii (face widths) of mesh points, inside the outline."""
        import cv2

        drawn = np.zeros(self.oval.shape, np.uint8)
        for index, radius in places:
            x, y = (round(float(value)) for value in self.points[index])
            cv2.circle(drawn, (x, y), max(1, round(radius * self.width_px)), 1, -1)
        return (drawn > 0) & self.oval


def face_width(face: FaceLandmarks) -> float:
    """The face's width in pixels as it would be from the front."""
    return face.width / max(float(np.cos(face.yaw)), _MOST_TURNED)


def frame_of(face: FaceLandmarks, scale: float, size: tuple[int, int]) -> FaceFrame:
    """The frame in a picture of ``size`` (width, height) that is ``scale`` times the one ``face`` was found in."""
    import cv2

    width, height = size
    points = np.asarray((face.points[:, :2] + 0.5) * scale - 0.5, np.float32)
    width_px = face_width(face) * scale
    right = (points[454] - points[234]) / max(float(np.linalg.norm(points[454] - points[234])), 1e-6)
    below = np.array([-right[1], right[0]], np.float32)
    centre = (points[234] + points[454]) / 2
    rows, columns = np.mgrid[:height, :width].astype(np.float32)
    x, y = (columns - centre[0]) / width_px, (rows - centre[1]) / width_px
    oval = np.zeros((height, width), np.uint8)
    cv2.fillPoly(oval, [np.round(points[list(FACE_OVAL)]).astype(np.int32)], (1,))
    padded = np.pad(oval, 1)
    inside = cv2.distanceTransform(padded, cv2.DIST_L2, cv2.DIST_MASK_5)[1:-1, 1:-1] / width_px
    outside = cv2.distanceTransform(1 - padded, cv2.DIST_L2, cv2.DIST_MASK_5)[1:-1, 1:-1] / width_px

    def place(indices: tuple[int, ...], axis: NDArray[np.float32]) -> float:
        return float(((points[list(indices)] - centre) @ axis).mean() / width_px)

    corners = sorted(place((index,), right) for index in _JAW_CORNERS)
    return FaceFrame(
        points=points,
        width_px=width_px,
        across=x * right[0] + y * right[1],
        down=x * below[0] + y * below[1],
        oval=oval > 0,
        inside=np.asarray(inside, np.float32),
        outside=np.asarray(outside, np.float32),
        forehead=place((10,), below),
        brows=place(_BROWS, below),
        chin=place((152,), below),
        middle=place((152,), right),
        jaw=(corners[0], corners[1]),
    )


def rise(values: Values, start: float, end: float) -> Values:
    """0 up to ``start``, 1 from ``end`` on, straight between."""
    return np.asarray(np.clip((values - start) / (end - start), 0, 1), np.float32)
