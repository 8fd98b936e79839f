"""Candidate faces: BlazeFace's two packaged detectors, their anchors decoded here (Bazarevsky et al. 2019)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.perception.face import FaceBox
from models.perception.tflite import TfliteModel

Picture = NDArray[np.uint8]

_MIN_SCORE: Final = 0.4
_TILE_OVERLAP: Final = 0.35
_MIN_TILE_PX: Final = 160
_LARGE_FACE: Final = 0.15  # of the picture's long side: with one of these, quarter tiles are not searched


def anchors(size: int, layers: Sequence[tuple[int, int]]) -> NDArray[np.float32]:
    """Anchor centres in pixels of the model's input; ``layers`` are (stride, anchors in each cell)."""
    centres = []
    for stride, repeats in layers:
        cells = size // stride
        rows, columns = np.divmod(np.arange(cells * cells).repeat(repeats), cells)
        centres.append(np.stack([columns + 0.5, rows + 0.5], 1) * stride)
    return np.concatenate(centres).astype(np.float32)


@dataclass(frozen=True, slots=True)
class _Network:
    model: TfliteModel
    anchors: NDArray[np.float32]


class FaceDetector:
    """Finds faces in pictures of up to a few thousand pixels a side."""

    def __init__(self) -> None:
        self._short = _Network(TfliteModel("face-detection-short"), anchors(128, [(8, 2), (16, 6)]))
        self._full = _Network(TfliteModel("face-detection-full"), anchors(192, [(4, 1)]))

    def candidates(self, picture_rgb: Picture) -> list[FaceBox]:
        """Boxes of likely faces, best first, each face once; small faces are searched for in overlapping tiles."""
        height, width = picture_rgb.shape[:2]
        long_side = max(height, width)
        boxes = self._run(self._short, picture_rgb) + self._run(self._full, picture_rgb)
        for parts in (2, 4):
            if parts == 4 and any(box.width > _LARGE_FACE * long_side for box in boxes):
                break
            tile = long_side // parts
            if tile < _MIN_TILE_PX:
                break
            for x, y in tile_corners(width, height, tile):
                found = self._run(self._full, picture_rgb[y : y + tile, x : x + tile])
                boxes += [_moved(box, x, y) for box in found]
        return distinct(boxes)

    def _run(self, network: _Network, picture_rgb: Picture) -> list[FaceBox]:
        import cv2

        size = network.model.input_size[0]
        height, width = picture_rgb.shape[:2]
        scale = size / max(height, width)
        inner = (max(1, round(width * scale)), max(1, round(height * scale)))
        canvas = np.zeros((size, size, 3), np.float32)
        left, top = (size - inner[0]) // 2, (size - inner[1]) // 2
        method = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
        canvas[top : top + inner[1], left : left + inner[0]] = cv2.resize(picture_rgb, inner, interpolation=method)
        outputs = network.model(canvas / 127.5 - 1)
        regressed, logits = outputs[0][0], outputs[1][0, :, 0]
        scores = 1 / (1 + np.exp(-np.clip(logits.astype(np.float32), -60, 60)))
        offset = np.array([left, top], np.float32)
        boxes = []
        for index in np.flatnonzero(scores > _MIN_SCORE):
            points = regressed[index].reshape(8, 2).copy()
            points[[0, 2, 3, 4, 5, 6, 7]] += network.anchors[index] - offset
            points /= scale
            corner = points[0] - points[1] / 2
            boxes.append(
                FaceBox(
                    left=float(corner[0]),
                    top=float(corner[1]),
                    width=float(points[1, 0]),
                    height=float(points[1, 1]),
                    confidence=float(scores[index]),
                    keypoints=points[2:],
                )
            )
        return distinct(boxes)


def distinct(boxes: Sequence[FaceBox]) -> list[FaceBox]:
    """``boxes`` without those that cover much the same face as a more confident one."""
    kept: list[FaceBox] = []
    for box in sorted(boxes, key=lambda box: -box.confidence):
        if all(_overlap(box, other) < 0.4 for other in kept):
            kept.append(box)
    return kept


def _overlap(one: FaceBox, other: FaceBox) -> float:
    """Intersection over the smaller box, so that a box inside another counts as the same face."""
    across = min(one.left + one.width, other.left + other.width) - max(one.left, other.left)
    down = min(one.top + one.height, other.top + other.height) - max(one.top, other.top)
    smaller = min(one.width * one.height, other.width * other.height)
    return max(across, 0.0) * max(down, 0.0) / max(smaller, 1e-6)


def tile_corners(width: int, height: int, tile: int) -> Iterator[tuple[int, int]]:
    for y in _starts(height, tile):
        for x in _starts(width, tile):
            yield x, y


def _starts(length: int, tile: int) -> list[int]:
    if length <= tile:
        return [0]
    count = int(np.ceil((length - tile) / (tile * (1 - _TILE_OVERLAP)))) + 1
    return [round(start) for start in np.linspace(0, length - tile, count)]


def _moved(box: FaceBox, x: int, y: int) -> FaceBox:
    return FaceBox(
        left=box.left + x,
        top=box.top + y,
        width=box.width,
        height=box.height,
        confidence=box.confidence,
        keypoints=box.keypoints + np.array([x, y], np.float32),
    )
