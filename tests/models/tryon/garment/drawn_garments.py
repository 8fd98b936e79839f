"""Garments drawn as flat shapes whose points are known, plain or carrying a ChArUco board."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Point = tuple[float, float]

# Points of the picture's right half, the garment's middle at x = 0 and its height from 0 to 1; the left is its mirror.
_TEE: Final[dict[str, Point]] = {
    "neck_back": (0, 0.03),
    "collar": (0.12, 0.0),
    "shoulder": (0.28, 0.06),
    "cuff_outer": (0.46, 0.30),
    "cuff_inner": (0.37, 0.38),
    "armpit": (0.29, 0.30),
    "hem": (0.29, 1.0),
    "hem_middle": (0, 1.0),
}
_SHAPES: Final[dict[str, dict[str, Point]]] = {
    "tee": _TEE,
    "long_sleeve": _TEE | {"cuff_outer": (0.55, 0.84), "cuff_inner": (0.45, 0.88), "armpit": (0.29, 0.36)},
    "tank": {
        "neck_back": (0, 0.16),
        "collar": (0.13, 0.0),
        "shoulder": (0.22, 0.02),
        "armhole": (0.20, 0.2),
        "armpit": (0.30, 0.33),
        "hem": (0.30, 1.0),
        "hem_middle": (0, 1.0),
    },
    "dress": {
        "neck_back": (0, 0.02),
        "collar": (0.07, 0.0),
        "shoulder": (0.16, 0.03),
        "cuff_outer": (0.26, 0.15),
        "cuff_inner": (0.21, 0.19),
        "armpit": (0.165, 0.16),
        "waist": (0.15, 0.40),
        "hem": (0.33, 1.0),
        "hem_middle": (0, 1.0),
    },
    "skirt": {"top": (0, 0.0), "waist": (0.28, 0.0), "hem": (0.42, 1.0), "hem_middle": (0, 1.0)},
    "trousers": {
        "top": (0, 0.0),
        "waist": (0.20, 0.0),
        "hip": (0.25, 0.18),
        "leg_outer": (0.24, 1.0),
        "leg_inner": (0.06, 1.0),
        "crotch": (0, 0.32),
    },
}
KINDS: Final = tuple(_SHAPES)
_TORSO: Final = {"tee": 0.27, "long_sleeve": 0.27, "tank": 0.2, "dress": 0.14, "skirt": 0.27, "trousers": 0.0}
_SQUARES: Final = (7, 9)


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnGarment:
    """A product photo of a drawn garment.

    Attributes:
        rgb: uint8 (h, w, 3).
        mask: bool (h, w).
        landmarks: By name, wearer's sides of a front view, pixels.
        board: The ``cv2.aruco.CharucoBoard`` printed on it, if any.
        board_box: left, top, right, bottom of the print in pixels.
    """

    rgb: NDArray[np.uint8]
    mask: NDArray[np.bool_]
    landmarks: dict[str, Point]
    board: Any = None
    board_box: tuple[int, int, int, int] | None = None

    @property
    def rgba(self) -> NDArray[np.uint8]:
        """The garment cut out by its mask."""
        return np.dstack([self.rgb, self.mask.astype(np.uint8) * 255])


def drawn_garment(
    kind: str,
    *,
    height: int = 800,
    color: tuple[int, int, int] = (180, 40, 50),
    ground: tuple[int, int, int] = (236, 236, 232),
    margin: float = 0.1,
    with_board: bool = False,
    noise: float = 1.0,
) -> DrawnGarment:
    """One of ``KINDS``, ``height`` px tall, with ``margin`` of its height free round it."""
    import cv2

    half = _SHAPES[kind]
    reach = max(abs(x) for x, _ in half.values())
    width = round(2 * height * (reach + margin))
    middle, top = width / 2, margin * height

    def place(point: Point, side: int) -> Point:
        return middle + side * point[0] * height, top + point[1] * height

    right = [place(point, +1) for point in half.values()]
    left = [place(point, -1) for point in half.values() if point[0]]
    polygon = np.asarray([*right, *left[::-1]], np.float32)
    large = np.zeros((round(height * (1 + 2 * margin)), width), np.uint8)
    cv2.fillPoly(large, [np.round(polygon * 16).astype(np.int32)], 255, lineType=cv2.LINE_AA, shift=4)
    cover = large[:, :, None] / 255.0
    cloth = np.empty((*large.shape, 3), np.float64)
    cloth[:] = color
    board = box = None
    if with_board:
        board, box = _print_board(cloth, kind, height, middle, top)
    grain = np.random.default_rng(7).normal(0, noise, large.shape)[:, :, None]
    rgb = np.clip(cloth * cover + np.asarray(ground) * (1 - cover) + grain, 0, 255).astype(np.uint8)
    landmarks = {name: place(point, 1) for name, point in half.items() if not point[0]}
    for side, sign in (("left", +1), ("right", -1)):
        for name, point in half.items():
            if point[0]:
                stem, _, edge = name.partition("_")
                landmarks[f"{stem}_{side}" + (f"_{edge}" if edge else "")] = place(point, sign)
    return DrawnGarment(rgb=rgb, mask=large > 127, landmarks=landmarks, board=board, board_box=box)


def _print_board(
    cloth: NDArray[np.float64], kind: str, height: int, middle: float, top: float
) -> tuple[Any, tuple[int, int, int, int]]:
    """Prints a board as large as the torso, or as a leg of trousers, holds; white with black markers."""
    import cv2

    board = cv2.aruco.CharucoBoard(_SQUARES, 1.0, 0.75, cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_4X4_50))
    half = _TORSO[kind] * height
    if kind == "trousers":
        left, right, first = middle + 0.075 * height, middle + 0.235 * height, 0.36
    else:
        left, right, first = middle - 0.92 * half, middle + 0.92 * half, {"skirt": 0.1, "dress": 0.1}.get(kind, 0.2)
    square = int((right - left) / _SQUARES[0])
    size = (square * _SQUARES[0], square * _SQUARES[1])
    picture = board.generateImage(size, marginSize=0, borderBits=1)
    x, y = round((left + right - size[0]) / 2), round(top + first * height)
    cloth[y : y + size[1], x : x + size[0]] = np.where(picture > 127, 245, 20)[:, :, None]
    return board, (x, y, x + size[0], y + size[1])


def seen_corners(rgb: NDArray[np.uint8], board: Any) -> dict[int, Point]:
    """Inner corners of the board that OpenCV finds in a picture, by their number."""
    import cv2

    grey = cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY)
    corners, numbers, _, _ = cv2.aruco.CharucoDetector(board).detectBoard(grey)
    if numbers is None:
        return {}
    return {
        int(number): (float(x), float(y))
        for number, (x, y) in zip(numbers.ravel(), corners.reshape(-1, 2), strict=True)
    }


def seen_markers(rgb: NDArray[np.uint8]) -> dict[int, NDArray[np.float32]]:
    """Markers that decode in a picture: their four corners, float32 (4, 2), by number."""
    import cv2

    dictionary = cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_4X4_50)
    corners, numbers, _ = cv2.aruco.ArucoDetector(dictionary).detectMarkers(cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY))
    if numbers is None:
        return {}
    return {
        int(number): np.asarray(four, np.float32).reshape(4, 2)
        for number, four in zip(numbers.ravel(), corners, strict=True)
    }


def anisotropy(four: NDArray[np.float32]) -> float:
    """How much more a printed square is stretched one way than the other: 1 is a square, whatever its size or turn."""
    first = (four[1] - four[0] + four[2] - four[3]) / 2
    second = (four[3] - four[0] + four[2] - four[1]) / 2
    stretches = np.linalg.svd(np.stack([first, second], axis=1), compute_uv=False)
    return float(stretches[0] / stretches[1])
