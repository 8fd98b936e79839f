"""Follows one face through the frames of a video, and keeps its landmarks from trembling."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.perception.face import FaceBox, FaceLandmarks
from models.perception.faces import MIN_FACE_WIDTH_PX, FaceFinder
from models.perception.landmarker import landmarks_of

Picture = NDArray[np.uint8]
Points = NDArray[np.float32]

_SEARCH_EVERY_S: Final = 0.2  # while no face is there: a search costs as much as ten tracked frames
_CUT: Final = 0.35  # face widths from one frame to the next
_SAME_PLACE: Final = 1.5  # a face found again within this many face widths of the lost one is the same


class LandmarkSmoother:
    """One Euro filter on every point: still faces do not tremble, moving ones do not lag.

    Casiez, Roussel and Vogel 2012. Speeds are measured in face widths, so that the filter acts alike at any size.
    """

    def __init__(self, *, min_cutoff_hz: float = 1.5, beta: float = 14.0, speed_cutoff_hz: float = 3.0) -> None:
        self._min_cutoff_hz = min_cutoff_hz
        self._beta = beta
        self._speed_cutoff_hz = speed_cutoff_hz
        self._points: Points | None = None
        self._speed: Points | None = None
        self._time_s = 0.0

    def reset(self) -> None:
        """Forget the past: the next points are taken as they are."""
        self._points = None

    def __call__(self, points: Points, time_s: float) -> Points:
        """The points (n, 3) at ``time_s``, smoothed by those before."""
        elapsed_s = time_s - self._time_s
        self._time_s = time_s
        if self._points is None or self._speed is None or elapsed_s <= 0:
            self._points, self._speed = points, np.zeros_like(points)
            return points
        width = max(float(np.linalg.norm(points[454, :2] - points[234, :2])), 1.0)
        speed = (points - self._points) / np.float32(elapsed_s * width)
        self._speed = self._speed + _gain(elapsed_s, self._speed_cutoff_hz) * (speed - self._speed)
        magnitude = np.linalg.norm(self._speed[:, :2], axis=1, keepdims=True)
        gain = _gain(elapsed_s, self._min_cutoff_hz + self._beta * magnitude)
        self._points = np.asarray(self._points + gain * (points - self._points), np.float32)
        return self._points


def _gain(elapsed_s: float, cutoff_hz: NDArray[np.float32] | float) -> NDArray[np.float32]:
    phase = 2 * np.pi * elapsed_s * np.asarray(cutoff_hz)
    return np.asarray(phase / (phase + 1), np.float32)


class FaceTracker:
    """The landmarks of one face, frame by frame; None where the face is not to be seen.

    Args:
        finder: Shared with whoever chose the face.
        box: The chosen face in the first frame that shows it; None takes the largest face that appears.
    """

    def __init__(self, finder: FaceFinder, box: FaceBox | None = None) -> None:
        self._finder = finder
        self._box = box
        self._current: FaceLandmarks | None = None
        self._last: FaceLandmarks | None = None
        self._smoother = LandmarkSmoother()
        self._searched_s = -_SEARCH_EVERY_S

    def update(self, picture_rgb: Picture, time_s: float) -> FaceLandmarks | None:
        """The smoothed landmarks in the frame at ``time_s``; a lost face is searched for again."""
        found = self._finder.track(picture_rgb, self._current) if self._current is not None else None
        if found is None:
            found = self._search(picture_rgb, time_s)
        self._current = found
        if found is None:
            return None
        if self._last is not None and _jumped(self._last, found):
            self._smoother.reset()  # a cut: nobody moves that fast
        self._last = found
        return landmarks_of(self._smoother(found.points, time_s), found.confidence)

    def _search(self, picture_rgb: Picture, time_s: float) -> FaceLandmarks | None:
        if self._current is None and time_s - self._searched_s < _SEARCH_EVERY_S:
            return None
        self._searched_s = time_s
        self._smoother.reset()
        box = self._box if self._box is not None else self._best(self._finder.find(picture_rgb))
        self._box = None
        if box is None:
            return None
        return self._finder.landmarks(picture_rgb, box)

    def _best(self, boxes: list[FaceBox]) -> FaceBox | None:
        """The face nearest to where the lost one was, else the largest."""
        large = [box for box in boxes if box.width >= MIN_FACE_WIDTH_PX]
        if not large:
            return None
        if self._last is None:
            return max(large, key=lambda box: box.width * box.height)
        place = self._last.points[:, :2].mean(0)
        reach = _SAME_PLACE * self._last.width
        nearest = min(large, key=lambda box: _distance(box, place))
        return nearest if _distance(nearest, place) < reach or len(large) == 1 else None


def _jumped(before: FaceLandmarks, after: FaceLandmarks) -> bool:
    moved = np.linalg.norm(after.points[:, :2].mean(0) - before.points[:, :2].mean(0))
    return bool(moved > _CUT * before.width or not 0.7 < after.width / max(before.width, 1.0) < 1.4)


def _distance(box: FaceBox, place: NDArray[np.float32]) -> float:
    return float(np.hypot(box.left + box.width / 2 - place[0], box.top + box.height / 2 - place[1]))
