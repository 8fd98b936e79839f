"""The 33 points of a body: BlazePose's detector and landmark network (Bazarevsky et al. 2020), decoded here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.perception.bounded import bounded
from models.perception.detector import anchors, tile_corners
from models.perception.face import FaceBox
from models.perception.landmarker import Crop, cut
from models.perception.tflite import TfliteModel

Picture = NDArray[np.uint8]
Points = NDArray[np.float32]

_WORKING_SIZE_PX: Final = 2048
_DETECTOR_LAYERS: Final = ((8, 2), (16, 2), (32, 6))
_MIN_SCORE: Final = 0.4
_SIZE: Final = 256
_MARGIN: Final = 1.25  # the landmark network was trained on squares of 1.25 times the body's circle
_PRESENT: Final = 0.5
_HEATMAP_REACH: Final = 3  # cells; MediaPipe refines a point inside a window of 7
_HEATMAP_SURE: Final = 0.5
_MOST_PEOPLE: Final = 8
_MIN_TILE_PX: Final = 160
_FACE_REACHES: Final = (10.0, 5.0)  # sides in face widths of the squares searched for a face's body
_MOST_TRIED: Final = 3  # bodies near a face
# Mean distance of a body's eyes, nose and mouth from the face's, in face widths.
_ON_FACE: Final = 0.12
_NEAR_FACE: Final = 0.35


class BodyPoint(IntEnum):
    """Index of each point; left and right are the person's own."""

    NOSE = 0
    LEFT_EYE_INNER = 1
    LEFT_EYE = 2
    LEFT_EYE_OUTER = 3
    RIGHT_EYE_INNER = 4
    RIGHT_EYE = 5
    RIGHT_EYE_OUTER = 6
    LEFT_EAR = 7
    RIGHT_EAR = 8
    MOUTH_LEFT = 9
    MOUTH_RIGHT = 10
    LEFT_SHOULDER = 11
    RIGHT_SHOULDER = 12
    LEFT_ELBOW = 13
    RIGHT_ELBOW = 14
    LEFT_WRIST = 15
    RIGHT_WRIST = 16
    LEFT_PINKY = 17
    RIGHT_PINKY = 18
    LEFT_INDEX = 19
    RIGHT_INDEX = 20
    LEFT_THUMB = 21
    RIGHT_THUMB = 22
    LEFT_HIP = 23
    RIGHT_HIP = 24
    LEFT_KNEE = 25
    RIGHT_KNEE = 26
    LEFT_ANKLE = 27
    RIGHT_ANKLE = 28
    LEFT_HEEL = 29
    RIGHT_HEEL = 30
    LEFT_FOOT_INDEX = 31
    RIGHT_FOOT_INDEX = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyPose:
    """Where the body's points are, in pixels of the picture; points outside the picture are estimated too.

    Attributes:
        points: float32 (33, 3): x and y in pixels, z in the same scale with the hips' middle at 0, smaller is nearer.
            ``BodyPoint`` names the rows.
        visibility: float32 (33,), 0 to 1: that the point is in the picture and nothing hides it.
        presence: float32 (33,), 0 to 1: that the point is inside the picture.
        confidence: That a body is there at all, 0 to 1.
        crop: The square that the network looked at.
        outline: float32 (256, 256), 0 to 1: this person and no other, seen in ``crop``.
    """

    points: Points
    visibility: NDArray[np.float32]
    presence: NDArray[np.float32]
    confidence: float
    crop: Crop
    outline: NDArray[np.float32]

    def at(self, point: BodyPoint) -> NDArray[np.float32]:
        """Its x and y."""
        return self.points[point, :2]

    def sees(self, *points: BodyPoint, at_least: float = 0.5) -> bool:
        """Whether all of ``points`` are visible."""
        return bool(self.visibility[list(points)].min() >= at_least)

    @property
    def shoulder_width(self) -> float:
        """Pixels between the shoulder joints."""
        return float(np.linalg.norm(self.at(BodyPoint.LEFT_SHOULDER) - self.at(BodyPoint.RIGHT_SHOULDER)))

    @property
    def faces_away(self) -> bool:
        """Whether the back is turned: the left shoulder then lies left in the picture."""
        return bool(self.points[BodyPoint.LEFT_SHOULDER, 0] < self.points[BodyPoint.RIGHT_SHOULDER, 0])

    def person(self, width: int, height: int) -> NDArray[np.float32]:
        """``outline`` laid into a picture of that size, float32 (height, width); 0 outside the crop.

        It is coarse (a cell is 1/256 of the body's square): for telling people apart, not for edges.
        """
        import cv2

        matrix = _matrix_from(self.crop)
        return np.asarray(cv2.warpAffine(self.outline, matrix, (width, height), flags=cv2.INTER_LINEAR), np.float32)


class PoseFinder:
    """Bodies and their points, in pictures of any size; holds the networks, so make one and keep it.

    Not safe to share between threads.

    Raises:
        Unavailable: ``weights_missing``.
    """

    def __init__(self) -> None:
        self._detector = TfliteModel("pose-detection")
        self._anchors = anchors(self._detector.input_size[0], _DETECTOR_LAYERS)
        self._landmarks = TfliteModel("pose-landmarks")

    def find(self, picture_rgb: Picture, face: FaceBox | None = None) -> BodyPose | None:
        """The body of ``face``, else the largest one (uint8 (height, width, 3)); None when there is no body."""
        small, scale = bounded(picture_rgb, _WORKING_SIZE_PX)
        pose = self._largest(small) if face is None else self._of_face(small, face, scale)
        return pose if pose is None or scale == 1.0 else _scaled(pose, 1 / scale)

    def _largest(self, picture_rgb: Picture) -> BodyPose | None:
        for boxes in self._searches(picture_rgb):
            for crop, _ in sorted(boxes, key=lambda found: -found[0].side):
                poses = self._looks(picture_rgb, crop)
                if poses:
                    return max(poses, key=lambda pose: pose.confidence + 1e-3 * pose.crop.side / crop.side)
        return None

    def _searches(self, picture_rgb: Picture) -> Iterator[list[tuple[Crop, float]]]:
        """What the detector finds in the whole picture, then, for the small, in overlapping quarters of it."""
        height, width = picture_rgb.shape[:2]
        yield self._detect(picture_rgb, (0, 0))
        tile = max(height, width) // 2
        if tile >= _MIN_TILE_PX:
            corners = tile_corners(width, height, tile)
            yield [found for x, y in corners for found in self._detect(picture_rgb[y : y + tile, x : x + tile], (x, y))]

    def _of_face(self, picture_rgb: Picture, face: FaceBox, scale: float) -> BodyPose | None:
        """The body whose eyes, nose and mouth lie on the face's; the whole picture is searched, then round the face."""
        keypoints, width = face.keypoints[:4] * np.float32(scale), face.width * scale
        nose = keypoints[2]
        best: tuple[float, BodyPose] | None = None
        for boxes in self._searches_round(picture_rgb, nose, width):
            for crop, _ in sorted(boxes, key=lambda found: _distance(found[0], nose))[:_MOST_TRIED]:
                for pose in self._looks(picture_rgb, crop):
                    error = _off_face(pose, keypoints) / width
                    if best is None or error < best[0]:
                        best = error, pose
                if best is not None and best[0] < _ON_FACE:
                    return best[1]
        return best[1] if best is not None and best[0] < _NEAR_FACE else None

    def _searches_round(
        self, picture_rgb: Picture, nose: Points, face_width: float
    ) -> Iterator[list[tuple[Crop, float]]]:
        yield self._detect(picture_rgb, (0, 0))
        for reach in _FACE_REACHES:
            # A body is up to eight heads high; the face sits at the top of the square.
            left = max(0, int(nose[0] - reach * face_width / 2))
            top = max(0, int(nose[1] - 1.5 * face_width))
            side = max(2, int(reach * face_width))
            yield self._detect(picture_rgb[top : top + side, left : left + side], (left, top))
        # Too close for the detector: the hips of a standing body are three and a half faces below its nose.
        down = np.array([0, face_width], np.float32)
        yield [(_crop_of(nose + reach * down, nose - 1.2 * down), 0.0) for reach in (3.6, 2.4)]

    def _detect(self, picture_rgb: Picture, offset: tuple[int, int]) -> list[tuple[Crop, float]]:
        """Squares of likely bodies, each once, best first, with scores; moved by ``offset``."""
        import cv2

        size = self._detector.input_size[0]
        height, width = picture_rgb.shape[:2]
        scale = size / max(height, width)
        inner = (max(1, round(width * scale)), max(1, round(height * scale)))
        left, top = (size - inner[0]) // 2, (size - inner[1]) // 2
        canvas = np.zeros((size, size, 3), np.float32)
        method = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
        canvas[top : top + inner[1], left : left + inner[0]] = cv2.resize(picture_rgb, inner, interpolation=method)
        regressed, logits = self._detector(canvas / 127.5 - 1)
        scores = 1 / (1 + np.exp(-np.clip(logits[0, :, 0], -60, 60)))
        best: list[tuple[Crop, float]] = []
        for index in np.argsort(-scores):
            if scores[index] < _MIN_SCORE or len(best) == _MOST_PEOPLE:
                break
            points = regressed[0, index, 4:8].reshape(2, 2) + self._anchors[index] - (left, top)
            hips, top_of_circle = points / scale + offset
            crop = _crop_of(hips, top_of_circle)
            if all(_distance(crop, (other.x, other.y)) > 0.15 * other.side for other, _ in best):
                best.append((crop, float(scores[index])))
        return best

    def _looks(self, picture_rgb: Picture, crop: Crop) -> list[BodyPose]:
        """The bodies seen in the crop and in the one that its points then suggest, as in a video; the later first."""
        poses: list[BodyPose] = []
        for _ in range(2):
            raw, flag, outline, scores = self._look(picture_rgb, crop)
            if flag < _PRESENT:
                break
            pose = BodyPose(
                points=raw[:33].astype(np.float32),
                visibility=scores[:33, 0],
                presence=scores[:33, 1],
                confidence=flag,
                crop=crop,
                outline=outline,
            )
            poses.insert(0, pose)
            crop = _crop_of(raw[33, :2], raw[34, :2])
        return poses

    def _look(self, picture_rgb: Picture, crop: Crop) -> tuple[Points, float, NDArray[np.float32], NDArray[np.float32]]:
        """Points (39, 3) in pixels, that a body is there, its outline in the crop, visibility and presence (39, 2)."""
        import cv2

        view, matrix = cut(picture_rgb, crop, _SIZE)
        outputs = self._landmarks(np.divide(view, 255, dtype=np.float32))
        values, flag, outline, heatmap = outputs[0].reshape(39, 5), outputs[1], outputs[2][0, ..., 0], outputs[3][0]
        points = _refined(values[:, :3], heatmap)
        inverse = cv2.invertAffineTransform(matrix)
        points[:, :2] = points[:, :2] @ inverse[:, :2].T + inverse[:, 2]
        points[:, 2] *= crop.side / _SIZE
        scores = 1 / (1 + np.exp(-np.clip(values[:, 3:], -60, 60)))
        mask = 1 / (1 + np.exp(-np.clip(outline, -60, 60)))
        return points, float(flag.ravel()[0]), mask.astype(np.float32), scores.astype(np.float32)


def _refined(points: Points, heatmap: NDArray[np.float32]) -> Points:
    """Points in the network's pixels, moved to the middle of their heat where it is sure (as MediaPipe does)."""
    refined = points.copy()
    cells = heatmap.shape[0]
    for index, (x, y) in enumerate(points[:, :2] * (cells / _SIZE)):
        column, row = int(x), int(y)
        if not (0 <= column < cells and 0 <= row < cells):
            continue
        rows = slice(max(0, row - _HEATMAP_REACH), row + _HEATMAP_REACH + 1)
        columns = slice(max(0, column - _HEATMAP_REACH), column + _HEATMAP_REACH + 1)
        heat = 1 / (1 + np.exp(-np.clip(heatmap[rows, columns, index], -60, 60)))
        if heat.max() >= _HEATMAP_SURE:
            down, across = np.mgrid[
                rows.start : rows.start + heat.shape[0], columns.start : columns.start + heat.shape[1]
            ]
            refined[index, :2] = np.array([(across * heat).sum(), (down * heat).sum()]) / heat.sum() * (_SIZE / cells)
    return refined


def _off_face(pose: BodyPose, keypoints: Points) -> float:
    """Mean distance of eyes, nose and mouth from the face's (right eye, left eye, nose, mouth), pixels."""
    mouth = pose.points[[BodyPoint.MOUTH_LEFT, BodyPoint.MOUTH_RIGHT], :2].mean(0)
    own = np.stack([pose.at(BodyPoint.RIGHT_EYE), pose.at(BodyPoint.LEFT_EYE), pose.at(BodyPoint.NOSE), mouth])
    return float(np.linalg.norm(own - keypoints, axis=1).mean())


def _crop_of(hips: NDArray[np.floating], top: NDArray[np.floating]) -> Crop:
    """The square round the circle whose middle and topmost point are given."""
    up = top - hips
    return Crop(
        x=float(hips[0]),
        y=float(hips[1]),
        side=2 * _MARGIN * float(np.hypot(*up)),
        angle=float(np.arctan2(up[0], -up[1])),
    )


def _distance(crop: Crop, place: Points | tuple[float, float]) -> float:
    return float(np.hypot(crop.x - place[0], crop.y - place[1]))


def _matrix_from(crop: Crop) -> NDArray[np.float64]:
    """The affine that lays a square of ``_SIZE`` back into the picture."""
    scale = crop.side / _SIZE
    cos, sin = scale * np.cos(crop.angle), scale * np.sin(crop.angle)
    half = _SIZE / 2
    return np.array([[cos, -sin, crop.x - half * (cos - sin)], [sin, cos, crop.y - half * (sin + cos)]])


def _scaled(pose: BodyPose, factor: float) -> BodyPose:
    crop = pose.crop
    return replace(
        pose,
        points=np.asarray(pose.points * factor, np.float32),
        crop=Crop(x=crop.x * factor, y=crop.y * factor, side=crop.side * factor, angle=crop.angle),
    )


@cache
def _shared() -> PoseFinder:
    return PoseFinder()


def body_pose(picture_rgb: Picture, face: FaceBox | None = None) -> BodyPose | None:
    """``PoseFinder.find`` with one set of networks for the process."""
    return _shared().find(picture_rgb, face)
