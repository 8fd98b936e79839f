"""Finds the faces in a picture, and says which one speaks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.perception.bounded import bounded
from models.perception.detector import FaceDetector, distinct
from models.perception.face import FaceBox, FaceLandmarks
from models.perception.landmarker import Crop, Landmarker, crop_of_box, crop_of_points, landmarks_of
from services.domain.errors import ContentRejected

Picture = NDArray[np.uint8]

MIN_FACE_WIDTH_PX: Final = 40
"""Below this the lips have no pixels of their own to move."""

_WORKING_SIZE_PX: Final = 2048
_FACE_CONFIDENCE: Final = 0.5
_LOST_CONFIDENCE: Final = 0.35
# Landmarks of a still picture are the mean over these crops (scale, radians): noise falls, no motion to blur.
_STILL_VARIATIONS: Final = ((1.0, 0.0), (0.9, 0.06), (0.9, -0.06), (1.1, 0.06), (1.1, -0.06))


class FaceFinder:
    """Faces and their landmarks, in pictures of any size; holds the networks, so make one and keep it.

    Not safe to share between threads.

    Raises:
        Unavailable: ``weights_missing``.
    """

    def __init__(self) -> None:
        self._detector = FaceDetector()
        self._landmarker = Landmarker()

    def find(self, picture_rgb: Picture) -> list[FaceBox]:
        """The faces from left to right, in pixels of ``picture_rgb`` (uint8, (height, width, 3))."""
        small, scale = bounded(picture_rgb, _WORKING_SIZE_PX)
        verified = []
        for box in self._detector.candidates(small):
            face = self._verified(small, box)
            if face is not None:
                verified.append(_scaled(face, 1 / scale))
        return sorted(distinct(verified), key=lambda box: box.left + box.width / 2)

    def landmarks(self, picture_rgb: Picture, box: FaceBox) -> FaceLandmarks:
        """The mesh of the face in ``box``, averaged over several crops."""
        crop = crop_of_box(box)
        for _ in range(2):
            points, _ = self._landmarker.points(picture_rgb, crop)
            crop = crop_of_points(points)
        return self._averaged(picture_rgb, crop)

    def track(self, picture_rgb: Picture, previous: FaceLandmarks) -> FaceLandmarks | None:
        """The same face in the next video frame, or None when it is not there any more."""
        crop = crop_of_points(previous.points)
        points, confidence = self._landmarker.points(picture_rgb, crop)
        if confidence < _LOST_CONFIDENCE or not _plausible(points, crop):
            return None
        return landmarks_of(points, confidence)

    def _averaged(self, picture_rgb: Picture, crop: Crop) -> FaceLandmarks:
        runs = [self._landmarker.points(picture_rgb, crop.varied(*variation)) for variation in _STILL_VARIATIONS]
        points = np.mean([points for points, _ in runs], axis=0).astype(np.float32)
        return landmarks_of(points, float(np.mean([confidence for _, confidence in runs])))

    def _verified(self, picture_rgb: Picture, box: FaceBox) -> FaceBox | None:
        """The candidate as the mesh sees it, or None when the mesh sees no face."""
        crop = crop_of_box(box)
        points, _ = self._landmarker.points(picture_rgb, crop)
        crop = crop_of_points(points)
        points, confidence = self._landmarker.points(picture_rgb, crop)
        if confidence < _FACE_CONFIDENCE or not _plausible(points, crop):
            return None
        low, high = points[:, :2].min(0), points[:, :2].max(0)
        keypoints = np.stack(
            [
                points[[33, 133], :2].mean(0),
                points[[362, 263], :2].mean(0),
                points[1, :2],
                points[[13, 14], :2].mean(0),
                points[234, :2],
                points[454, :2],
            ]
        )
        return FaceBox(
            left=float(low[0]),
            top=float(low[1]),
            width=float(high[0] - low[0]),
            height=float(high[1] - low[1]),
            confidence=min(1.0, box.confidence),
            keypoints=keypoints.astype(np.float32),
        )


def choose_face(faces: Sequence[FaceBox], face: int | None, *, param: str = "presenter") -> int:
    """The index of the face that is meant: ``face`` itself, or the largest when it is None.

    ``param`` is the request's field that named the picture.

    Raises:
        ContentRejected: ``face_not_found`` (no face at all), ``face_index`` (fewer faces than that) or
            ``face_too_small``.
    """
    if not faces:
        raise ContentRejected(
            "No face was found in the picture; use one in which the face is seen from the front and well lit.",
            code="face_not_found",
            param=param,
        )
    if face is not None and not 0 <= face < len(faces):
        raise ContentRejected(
            f"Face {face} was asked for, but {len(faces)} found: the index counts from the left, starting at 0.",
            code="face_index",
            param=f"{param}.face",
        )
    index = face if face is not None else max(range(len(faces)), key=lambda i: faces[i].width * faces[i].height)
    width = faces[index].width
    if width < MIN_FACE_WIDTH_PX:
        raise ContentRejected(
            f"The face is {width:.0f} pixels wide, at least {MIN_FACE_WIDTH_PX} are needed; "
            "use a larger or closer picture.",
            code="face_too_small",
            param=param,
        )
    return index


def _plausible(points: NDArray[np.float32], crop: Crop) -> bool:
    """Whether the mesh fills its crop the way a face does, instead of shrinking or leaving it."""
    extent = points[:, :2].max(0) - points[:, :2].min(0)
    centre = points[:, :2].mean(0) - (crop.x, crop.y)
    return bool(0.3 * crop.side < extent.max() < 1.1 * crop.side and np.abs(centre).max() < 0.4 * crop.side)


def _scaled(box: FaceBox, factor: float) -> FaceBox:
    return FaceBox(
        left=box.left * factor,
        top=box.top * factor,
        width=box.width * factor,
        height=box.height * factor,
        confidence=box.confidence,
        keypoints=box.keypoints * np.float32(factor),
    )
