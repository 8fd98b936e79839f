"""Lips as an independent detector sees them: dlib's 68 points, which share nothing with the mesh of the product."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models import weights

Curve = NDArray[np.float64]
Box = tuple[int, int, int, int]

_DETECT_EVERY = 5  # frames; heads move slowly
_LONGEST_SIDE = 1024
_FACE_PIXELS = 400
_SHIFT = 0.03  # of the face


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenLips:
    """One value a frame.

    Attributes:
        gap: Distance of the inner lips in median mouth widths.
        width: Distance of the corners in eye distances.
    """

    gap: Curve
    width: Curve


def seen_lips(pictures: Iterable[NDArray[np.uint8]]) -> SeenLips:
    """The lips in each RGB picture.

    Raises:
        LookupError: There is no face that dlib's detector finds.
    """
    gaps, corners, eyes = [], [], []
    box: Box | None = None
    for index, picture in enumerate(pictures):
        picture = _bounded(picture)
        if index % _DETECT_EVERY == 0 or box is None:
            box = _face(picture, box)
        points = _points(picture, box)
        gaps.append(np.mean([np.linalg.norm(points[top] - points[low]) for top, low in ((61, 67), (62, 66), (63, 65))]))
        corners.append(np.linalg.norm(points[54] - points[48]))
        eyes.append(np.linalg.norm(points[45] - points[36]))
    distance = np.array(eyes)
    mouth = float(np.median(np.array(corners) / distance))  # in eye distances, so that a nearing head does not count
    return SeenLips(gap=np.array(gaps) / distance / mouth, width=np.array(corners) / distance)


def pictures_of(video: Path) -> Iterable[NDArray[np.uint8]]:
    """The decoded frames of a file, RGB."""
    import av

    with av.open(str(video)) as container:
        for frame in container.decode(video=0):
            yield frame.to_ndarray(format="rgb24")


def best_lag(seen: Curve, planned: Curve, *, fps: float, reach_s: float) -> tuple[float, float]:
    """Lag in seconds (positive: seen after planned) and correlation where the two fit best, to a fifth of a frame."""
    lags = np.arange(-round(reach_s * fps * 5), round(reach_s * fps * 5) + 1) / 5
    scores = [correlation(seen, planned, lag) for lag in lags]
    best = int(np.argmax(scores))
    return float(lags[best]) / fps, scores[best]


def correlation(seen: Curve, planned: Curve, lag: float = 0.0) -> float:
    """Pearson's r of ``seen[i]`` with ``planned[i - lag]``, over the frames that both have; ``lag`` in frames."""
    at = np.arange(len(seen)) - lag
    inside = (at >= 0) & (at <= len(planned) - 1)
    shifted = np.interp(at[inside], np.arange(len(planned)), planned)
    return float(np.corrcoef(seen[inside], shifted)[0, 1])


def _face(picture: NDArray[np.uint8], previous: Box | None) -> Box:
    """The surest face; in a film, the one that is where the last one was."""
    detector, _ = _dlib()
    for upsampling in (0, 1):
        found, scores, _ = detector.run(picture, upsampling, 0.0)
        boxes = [(one.left(), one.top(), one.right(), one.bottom()) for one in found]
        if previous is not None:
            near = [box for box in boxes if np.abs(np.subtract(box, previous)).max() < (previous[2] - previous[0]) / 3]
            if near:
                return min(near, key=lambda box: np.abs(np.subtract(box, previous)).max())
        elif boxes:
            return boxes[int(np.argmax(scores))]
    if previous is None:
        raise LookupError("dlib finds no face")
    return previous


def _points(picture: NDArray[np.uint8], box: Box) -> Curve:
    """The 68 points (68, 2) in pixels.

    The predictor answers in whole pixels and jitters with the box: it is asked about an enlarged face, in nine boxes.
    """
    import cv2
    import dlib

    _, predictor = _dlib()
    left, top, right, bottom = box
    size = right - left
    x0, y0 = max(left - size // 2, 0), max(top - size // 2, 0)
    scale = _FACE_PIXELS / size
    cut = np.ascontiguousarray(picture[y0 : bottom + size // 2, x0 : right + size // 2])
    cut = cv2.resize(cut, None, fx=scale, fy=scale, interpolation=cv2.INTER_CUBIC)
    asked = []
    for dx in (-_SHIFT, 0, _SHIFT):
        for dy in (-_SHIFT, 0, _SHIFT):
            sides = [
                (left - x0 + dx * size),
                (top - y0 + dy * size),
                (right - x0 + dx * size),
                (bottom - y0 + dy * size),
            ]
            shape = predictor(cut, dlib.rectangle(*(round(side * scale) for side in sides)))
            asked.append([(part.x, part.y) for part in shape.parts()])
    return np.mean(asked, axis=0) / scale + (x0, y0)


@cache
def _dlib() -> tuple[Any, Any]:
    import dlib

    return dlib.get_frontal_face_detector(), dlib.shape_predictor(str(weights.path("dlib-68")))


def _bounded(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    import cv2

    scale = _LONGEST_SIDE / max(picture.shape)
    if scale >= 1:
        return np.ascontiguousarray(picture)
    return np.ascontiguousarray(cv2.resize(picture, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA))
