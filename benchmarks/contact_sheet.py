"""Contact sheet of rendered mouths, lids and jaws, at full size, for looking at.
Blinks: --crop eyes --poses source,blink25,blink50,blink100.

python -m benchmarks.contact_sheet --out sheet.png PICTURE... [--crop mouth|eyes|lower|face] [--poses rest,A,U]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import cv2
import numpy as np

from models.perception.face import FaceLandmarks
from models.perception.faces import FaceFinder, choose_face
from models.talking_head.mesh.engine import MeshRenderer
from models.talking_head.tracks import HeadTrack, MouthTrack
from models.video.yuv import i420_to_rgb, rgb_to_i420

# aperture, width, pucker, teeth, tongue, yaw, pitch, roll, blink, brow
POSES = {
    "source": None,
    "rest": (0, 1, 0, 0, 0),
    "M": (-0.03, 1, 0, 0, 0),
    "F": (0.02, 1, 0, 1, 0),
    "S": (0.065, 1.05, 0, 0, 0),
    "L": (0.15, 1, 0, 0, 1),
    "I": (0.11, 1.12, 0, 0, 0),
    "E": (0.22, 1.05, 0, 0, 0),
    "A": (0.36, 1, 0, 0, 0),
    "O": (0.2, 0.76, 0.6, 0, 0),
    "U": (0.09, 0.68, 1, 0, 0),
    "turn": (0.1, 1, 0, 0, 0, 0.05, 0.02, 0.02),
    "blink25": (0, 1, 0, 0, 0, 0, 0, 0, 0.25),
    "blink50": (0, 1, 0, 0, 0, 0, 0, 0, 0.5),
    "blink75": (0, 1, 0, 0, 0, 0, 0, 0, 0.75),
    "blink100": (0, 1, 0, 0, 0, 0, 0, 0, 1.0),
    "brow": (0, 1, 0, 0, 0, 0, 0, 0, 0, 1.0),
}


def tracks(poses: list[tuple[float, ...]]) -> tuple[MouthTrack, HeadTrack]:
    """One frame for each pose."""
    rows = np.zeros((len(poses), 10), np.float32)
    for row, pose in zip(rows, poses, strict=True):
        row[: len(pose)] = pose
    column = [np.ascontiguousarray(rows[:, i]) for i in range(10)]
    zero = np.zeros(len(rows), np.float32)
    mouth = MouthTrack(
        fps=25,
        aperture=column[0],
        width=column[1],
        pucker=column[2],
        teeth=column[3],
        tongue=column[4],
        closed=column[0] <= 0,
        speaking=column[0] > 0,
    )
    head = HeadTrack(
        yaw=column[5], pitch=column[6], roll=column[7], shift_x=zero, shift_y=zero, blink=column[8], brow=column[9]
    )
    return mouth, head


def head_crop(picture_rgb: np.ndarray, landmarks: FaceLandmarks, size: int) -> tuple[np.ndarray, FaceLandmarks]:
    """A square of 2.2 face widths around the head, resized; and its landmarks."""
    centre = landmarks.points[:, :2].mean(0)
    half = 1.1 * landmarks.width
    matrix = np.array([[1, 0, half - centre[0]], [0, 1, half - centre[1] + 0.1 * landmarks.width]]) * size / (2 * half)
    method = cv2.INTER_AREA if size < 2 * half else cv2.INTER_CUBIC
    big = cv2.warpAffine(
        picture_rgb, matrix * (2 * half) / size, (round(2 * half),) * 2, borderMode=cv2.BORDER_REPLICATE
    )
    scale = size / round(2 * half)
    points = landmarks.points * scale
    points[:, :2] += (matrix * (2 * half) / size)[:, 2] * scale
    return np.asarray(cv2.resize(big, (size, size), interpolation=method)), FaceLandmarks(
        points=points.astype(np.float32),
        confidence=landmarks.confidence,
        yaw=landmarks.yaw,
        pitch=landmarks.pitch,
        roll=landmarks.roll,
    )


def window(landmarks: FaceLandmarks, crop: str, size: int) -> tuple[slice, slice]:
    points, width = landmarks.points[:, :2], landmarks.width
    if crop == "face":
        return slice(0, size), slice(0, size)
    anchor, across, up, down = {
        "mouth": (points[[61, 291]].mean(0), 0.4, 0.28, 0.4),
        "eyes": (points[[33, 263]].mean(0), 0.55, 0.3, 0.25),
        "lower": (points[[61, 291]].mean(0), 0.75, 0.45, 0.8),
    }[crop]
    x0, x1 = int(anchor[0] - across * width), int(anchor[0] + across * width)
    y0, y1 = int(anchor[1] - up * width), int(anchor[1] + down * width)
    return slice(max(0, y0), min(size, y1)), slice(max(0, x0), min(size, x1))


def row(picture: Path, poses: list[str], crop: str, size: int, zoom: int, finder: FaceFinder) -> np.ndarray:
    picture_rgb = cv2.cvtColor(cv2.imread(str(picture)), cv2.COLOR_BGR2RGB)
    faces = finder.find(picture_rgb)
    view, landmarks = head_crop(picture_rgb, finder.landmarks(picture_rgb, faces[choose_face(faces, None)]), size)
    base = rgb_to_i420(view)
    renderer = MeshRenderer()
    state = renderer.prepare(base, landmarks)
    mouth, head = tracks([POSES[name] or POSES["rest"] for name in poses])
    area = window(landmarks, crop, size)
    cells = []
    for index, name in enumerate(poses):
        frame = base.copy()
        if POSES[name] is not None:
            renderer.render(state, mouth, head, index, frame)
        cell = i420_to_rgb(frame)[area]
        cell = cv2.resize(cell, None, fx=zoom, fy=zoom, interpolation=cv2.INTER_LINEAR)
        cv2.putText(cell, name, (4, 14), cv2.FONT_HERSHEY_SIMPLEX, 0.45, (255, 255, 0), 1, cv2.LINE_AA)
        cells.append(cell)
    print(picture.name, state.warnings)
    return np.hstack(cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pictures", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--crop", default="lower", choices=["mouth", "eyes", "lower", "face"])
    parser.add_argument("--poses", default="source,rest,S,E,A,O,U,F")
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--zoom", type=int, default=1)
    arguments = parser.parse_args()
    finder = FaceFinder()
    poses = arguments.poses.split(",")
    unknown = [name for name in poses if name not in POSES]
    if unknown:
        parser.error(f"unknown pose {', '.join(unknown)}; known: {', '.join(POSES)}")
    rows = [row(path, poses, arguments.crop, arguments.size, arguments.zoom, finder) for path in arguments.pictures]
    width = max(cells.shape[1] for cells in rows)
    sheet = np.vstack([np.pad(cells, ((0, 4), (0, width - cells.shape[1]), (0, 0))) for cells in rows])
    cv2.imwrite(str(arguments.out), cv2.cvtColor(sheet, cv2.COLOR_RGB2BGR))


if __name__ == "__main__":
    main()
