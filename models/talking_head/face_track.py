"""One face through a whole video: its landmarks in every source frame."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.perception.face import FaceLandmarks
from models.perception.faces import FaceFinder, choose_face
from models.perception.tracking import FaceTracker

_SEARCH_EVERY_S: Final = 0.1  # until the first face appears
_LOOK_BACK_FRAMES: Final = 12  # at least the frames between two searches, at 60 fps


@dataclass(frozen=True, slots=True, kw_only=True)
class FaceTrack:
    """One face in a video.

    Attributes:
        landmarks: Per frame; None where the face is not seen.
        num_faces: Faces in the frame in which it was first found.
        face: Its index there, from left to right.
    """

    landmarks: tuple[FaceLandmarks | None, ...]
    num_faces: int
    face: int

    @property
    def num_faceless(self) -> int:
        return sum(1 for landmarks in self.landmarks if landmarks is None)

    def middle(self) -> FaceLandmarks:
        """The landmarks of the frame whose face is nearest the median place: where to aim the film's crop."""
        seen = [landmarks for landmarks in self.landmarks if landmarks is not None]
        centres = np.array([landmarks.points[:, :2].mean(axis=0) for landmarks in seen])
        return seen[int(np.argmin(np.linalg.norm(centres - np.median(centres, axis=0), axis=1)))]


def track_face(
    finder: FaceFinder,
    pictures: Iterable[tuple[NDArray[np.uint8], float]],
    face: int | None,
    *,
    check_canceled: Callable[[], None],
) -> FaceTrack:
    """The chosen face in each of ``pictures``, given with their times in seconds.

    Raises:
        ContentRejected: ``face_not_found`` when no frame shows one, ``face_index``, ``face_too_small``.
    """
    landmarks: list[FaceLandmarks | None] = []
    tracker: FaceTracker | None = None
    num_faces = chosen = 0
    searched_s = -_SEARCH_EVERY_S
    unseen: deque[NDArray[np.uint8]] = deque(maxlen=_LOOK_BACK_FRAMES)
    for picture, time_s in pictures:
        check_canceled()
        if tracker is None and time_s - searched_s >= _SEARCH_EVERY_S:
            searched_s = time_s
            boxes = finder.find(picture)
            if boxes:
                num_faces, chosen = len(boxes), choose_face(boxes, face)
                tracker = FaceTracker(finder, boxes[chosen])
        landmarks.append(tracker.update(picture, time_s) if tracker is not None else None)
        if landmarks[-1] is None:
            unseen.append(picture)
        else:
            _look_back(finder, unseen, landmarks)
            unseen.clear()
    if tracker is None:
        choose_face([], face)  # raises face_not_found
    return FaceTrack(landmarks=tuple(landmarks), num_faces=num_faces, face=chosen)


def require_face(
    finder: FaceFinder,
    pictures: Iterable[tuple[NDArray[np.uint8], float]],
    face: int | None,
    *,
    check_canceled: Callable[[], None],
) -> None:
    """Return at the first of ``pictures`` that shows a face; searched as ``track_face`` does.

    Raises:
        ContentRejected: ``face_not_found`` when no frame shows one, ``face_index``, ``face_too_small``.
    """
    searched_s = -_SEARCH_EVERY_S
    for picture, time_s in pictures:
        check_canceled()
        if time_s - searched_s >= _SEARCH_EVERY_S:
            searched_s = time_s
            boxes = finder.find(picture)
            if boxes:
                choose_face(boxes, face)
                return
    choose_face([], face)  # raises face_not_found


def _look_back(finder: FaceFinder, unseen: deque[NDArray[np.uint8]], landmarks: list[FaceLandmarks | None]) -> None:
    """Fill in the frames before a face was found: searches are seldom, so it came up to a few frames earlier."""
    current = landmarks[-1]
    for distance, picture in enumerate(reversed(unseen), 2):
        current = finder.track(picture, current) if current is not None else None
        if current is None:
            return
        landmarks[-distance] = current
