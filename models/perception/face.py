"""What is known about a face in a picture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class FaceBox:
    """A detected face, in pixels of the picture it was found in.

    Attributes:
        confidence: 0 to 1.
        keypoints: Right eye, left eye, nose tip, mouth, right ear, left ear (the person's own sides), shape (6, 2).
    """

    left: float
    top: float
    width: float
    height: float
    confidence: float
    keypoints: NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class FaceLandmarks:
    """The 468-point face mesh.

    Attributes:
        points: float32, shape (468, 3): x and y in pixels of the picture, z in the same scale, smaller is nearer.
        confidence: That there is a face at all, 0 to 1.
        yaw, pitch, roll: Head pose in radians; 0 looks into the camera, positive yaw to the picture's right,
            positive pitch up, positive roll clockwise.
    """

    points: NDArray[np.float32]
    confidence: float
    yaw: float
    pitch: float
    roll: float

    @property
    def width(self) -> float:
        """Distance between the cheek outlines (points 234 and 454), pixels."""
        return float(np.linalg.norm(self.points[454, :2] - self.points[234, :2]))
