"""The 468-point mesh network on a rotated square crop (Kartynnik et al. 2019), and the head pose from its points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.perception.face import FaceBox, FaceLandmarks
from models.perception.tflite import TfliteModel

Picture = NDArray[np.uint8]
Points = NDArray[np.float32]

_MARGIN: Final = 1.5  # the network was trained on squares of 1.5 times the face
_SIZE: Final = 192
# The mesh of a face that looks into the camera leans forward by this much between forehead and chin.
_NEUTRAL_PITCH: Final = -0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Crop:
    """A square of the picture, turned by ``angle`` radians (clockwise positive)."""

    x: float
    y: float
    side: float
    angle: float

    def varied(self, scale: float, angle: float) -> Crop:
        return Crop(x=self.x, y=self.y, side=self.side * scale, angle=self.angle + angle)


def crop_of_box(box: FaceBox) -> Crop:
    """The square in which the network expects a detected face."""
    right_eye, left_eye = box.keypoints[0], box.keypoints[1]
    return Crop(
        x=box.left + box.width / 2,
        y=box.top + box.height / 2,
        side=_MARGIN * max(box.width, box.height),
        angle=float(np.arctan2(left_eye[1] - right_eye[1], left_eye[0] - right_eye[0])),
    )


def crop_of_points(points: Points) -> Crop:
    """The square in which the network expects the face with these landmarks."""
    eyes = points[263, :2] - points[33, :2]
    angle = float(np.arctan2(eyes[1], eyes[0]))
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]], np.float32)
    upright = points[:, :2] @ turn
    low, high = upright.min(0), upright.max(0)
    centre = turn @ ((low + high) / 2)
    return Crop(x=float(centre[0]), y=float(centre[1]), side=_MARGIN * float((high - low).max()), angle=angle)


class Landmarker:
    """Mesh points of the face in a crop."""

    def __init__(self) -> None:
        self._model = TfliteModel("face-mesh")

    def points(self, picture_rgb: Picture, crop: Crop) -> tuple[Points, float]:
        """Points (468, 3) in pixels of the picture, z in the same scale, and the confidence that a face is there."""
        import cv2

        view, matrix = cut(picture_rgb, crop, _SIZE)
        outputs = sorted(self._model(np.divide(view, 255, dtype=np.float32)), key=lambda output: -output.size)
        mesh = outputs[0].reshape(468, 3).copy()
        inverse = cv2.invertAffineTransform(matrix)
        mesh[:, :2] = mesh[:, :2] @ inverse[:, :2].T + inverse[:, 2]
        mesh[:, 2] *= crop.side / _SIZE
        confidence = 1 / (1 + np.exp(-float(outputs[1].ravel()[0])))
        return mesh.astype(np.float32), float(confidence)


def cut(picture_rgb: Picture, crop: Crop, size_px: int) -> tuple[Picture, NDArray[np.float64]]:
    """The crop as a square of ``size_px`` and the affine from the picture to it; large ones are shrunk first."""
    import cv2

    scale = size_px / crop.side
    cos, sin = scale * np.cos(crop.angle), scale * np.sin(crop.angle)
    half = size_px / 2
    matrix = np.array([[cos, sin, half - cos * crop.x - sin * crop.y], [-sin, cos, half + sin * crop.x - cos * crop.y]])
    shrink = int(crop.side // (2 * size_px))
    if shrink < 2:
        return np.asarray(cv2.warpAffine(picture_rgb, matrix, (size_px, size_px)), np.uint8), matrix
    reach = crop.side * 0.75
    left, top = (max(0, int(value - reach)) for value in (crop.x, crop.y))
    part = picture_rgb[top : int(crop.y + reach) + 1, left : int(crop.x + reach) + 1]
    size = (max(1, part.shape[1] // shrink), max(1, part.shape[0] // shrink))
    small = cv2.resize(part, size, interpolation=cv2.INTER_AREA)
    factor = np.array([part.shape[1] / size[0], part.shape[0] / size[1]])
    shifted = matrix.copy()
    shifted[:, 2] += matrix[:, :2] @ (np.array([left, top]) + (factor - 1) / 2)
    shifted[:, :2] *= factor
    return np.asarray(cv2.warpAffine(small, shifted, (size_px, size_px)), np.uint8), matrix


def landmarks_of(points: Points, confidence: float) -> FaceLandmarks:
    """The points with the head pose that they show (``FaceLandmarks`` says which way is positive)."""
    across = (points[454] - points[234]) + (points[356] - points[127]) + (points[263] - points[33])
    across /= np.linalg.norm(across)
    down = (points[152] - points[10]) + (points[2] - points[168])
    down -= across * (down @ across)
    down /= np.linalg.norm(down)
    forward = np.cross(across, down)  # into the picture; a face that looks at us has (0, 0, 1)
    return FaceLandmarks(
        points=points,
        confidence=confidence,
        yaw=float(np.arctan2(-forward[0], forward[2])),
        pitch=float(np.arcsin(np.clip(forward[1], -1, 1))) - _NEUTRAL_PITCH,
        roll=float(np.arctan2(across[1], across[0])),
    )
