"""dlib's 68 points, asked about rendered faces: it shares nothing with the mesh that drove them."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from models import weights
from models.perception.face import FaceLandmarks

_FACE_PX = 400
_BOX_CHANGES = [(x - g, y - g, x + g, y + g) for x in (-0.03, 0, 0.03) for y in (-0.03, 0.03) for g in (0, 0.04)]


class Observer:
    """Measures mouths and eyes in RGB pictures."""

    def __init__(self) -> None:
        dlib = pytest.importorskip("dlib")
        if not weights.is_present("dlib-68"):
            pytest.skip("the independent detector's file is not here: python -m models.weights test")
        self._dlib = dlib
        self._predictor = dlib.shape_predictor(str(weights.path("dlib-68")))

    def points(self, picture_rgb: np.ndarray, landmarks: FaceLandmarks) -> np.ndarray:
        """The 68 points (68, 2); ``landmarks`` say where the face is, no more."""
        scale = max(1, round(_FACE_PX / landmarks.width))  # it answers in whole pixels
        picture_rgb = cv2.resize(picture_rgb, None, fx=scale, fy=scale, interpolation=cv2.INTER_CUBIC)
        points = landmarks.points * scale
        low, high = points[:, :2].min(0), points[:, :2].max(0)
        brow = points[[105, 334], 1].mean() - 0.05 * (high - low)[1]
        edges = np.array([low[0], brow, high[0], high[1]])
        answers = []
        for change in _BOX_CHANGES:  # beards mislead it now and then: the median of several looks
            box = self._dlib.rectangle(*(edges + np.array(change) * (high[0] - low[0])).astype(int).tolist())
            shape = self._predictor(np.ascontiguousarray(picture_rgb), box)
            answers.append([(part.x, part.y) for part in shape.parts()])
        return np.median(np.array(answers, float), axis=0) / scale

    def gap(self, picture_rgb: np.ndarray, landmarks: FaceLandmarks) -> float:
        """Distance of the inner lips in widths of the mouth."""
        points = self.points(picture_rgb, landmarks)
        opening = np.mean([np.linalg.norm(points[top] - points[low]) for top, low in ((61, 67), (62, 66), (63, 65))])
        return float(opening / np.linalg.norm(points[54] - points[48]))

    def mouth_width(self, picture_rgb: np.ndarray, landmarks: FaceLandmarks) -> float:
        """Distance of the mouth's corners, pixels."""
        points = self.points(picture_rgb, landmarks)
        return float(np.linalg.norm(points[54] - points[48]))

    def eye_boxes(self, picture_rgb: np.ndarray, landmarks: FaceLandmarks) -> list[tuple[slice, slice]]:
        """Rows and columns of the open eyes."""
        points = self.points(picture_rgb, landmarks)
        boxes = []
        for first in (36, 42):
            low, high = points[first : first + 6].min(0).astype(int), points[first : first + 6].max(0).astype(int) + 1
            quarter = (high[0] - low[0]) // 4
            boxes.append((slice(low[1], high[1]), slice(low[0] + quarter, high[0] - quarter)))
        return boxes
