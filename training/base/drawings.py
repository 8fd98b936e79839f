"""Catalogue pictures drawn by code: a garment of one colour and pattern, laid flat or worn by a person.

Drawn anti-aliased at 192 pixels and averaged to 64. Patterns begin at the garment's centre, not anywhere: a small
network learns their place, and with it the pattern. Lengths are in pixels of the finished picture; x to the right, y
down, from the garment's centre. Colours are RGB, 0 to 255.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from training.base.attributes import Attributes, caption

SIDE_PX: Final = 64
_OVER: Final = 3  # drawn so many times larger
_SIDE: Final = SIDE_PX * _OVER

Picture = NDArray[np.uint8]
Floats = NDArray[np.floating[Any]]
Outline = Sequence[tuple[float, float]]

GARMENT_RGB: Final = {
    "red": (201, 36, 44),
    "yellow": (243, 203, 48),
    "green": (40, 138, 68),
    "blue": (38, 84, 192),
    "purple": (122, 58, 164),
    "pink": (242, 152, 188),
    "black": (32, 32, 36),
    "white": (246, 245, 242),
}
_PALE: Final = (238, 234, 224)
_DARK: Final = (56, 60, 74)
_PATTERN_RGB: Final = {colour: _DARK if colour in ("yellow", "pink", "white") else _PALE for colour in GARMENT_RGB}
_SKIN_RGB: Final = ((244, 208, 180), (228, 182, 146), (196, 144, 106), (146, 98, 68), (98, 64, 46))
_HAIR_RGB: Final = ((40, 32, 30), (84, 54, 36), (140, 96, 56), (190, 150, 92), (120, 120, 124))

_HALVES: Final[dict[str, Outline]] = {  # right halves, from the top's middle to the bottom's middle
    "T-shirt": ((0, -13), (4.5, -15), (9, -14.5), (20, -6), (16, 1), (11, -3), (11, 17), (0, 17.5)),
    "dress": ((0, -16), (3.5, -17.5), (4, -23), (7, -23), (8.5, -14), (7.5, -4), (18, 22), (0, 23.5)),
    "trousers": ((0, -23), (9, -23), (11, -13), (12, 24), (4.5, 24), (1.2, -8), (0, -9)),
    "coat": ((0, -16), (4.5, -19), (9, -18), (14, -14), (19, 7), (14, 9), (11, -5), (13, 22), (0, 22)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnSet:
    """Drawings, uint8 (N, 64, 64, 3), with their captions and attributes."""

    pictures: Picture
    captions: tuple[str, ...]
    attributes: tuple[Attributes, ...]

    def labels(self) -> NDArray[np.int64]:
        """(N, 4): each attribute's place among its choices."""
        return np.array([one.labels() for one in self.attributes], np.int64)


def draw_set(num_pictures: int, combinations: Sequence[Attributes], seed: int) -> DrawnSet:
    """That many drawings, each combination as often as every other, in random order; one seed, one set."""
    random = np.random.default_rng(seed)
    order = [combinations[i % len(combinations)] for i in range(num_pictures)]
    random.shuffle(order)
    pictures = np.empty((num_pictures, SIDE_PX, SIDE_PX, 3), np.uint8)
    captions = []
    for index, one in enumerate(order):
        pictures[index] = draw(one, random)
        captions.append(caption(one, random))
    return DrawnSet(pictures=pictures, captions=tuple(captions), attributes=tuple(order))


def draw(one: Attributes, random: np.random.Generator) -> Picture:
    """A picture uint8 (64, 64, 3) of the attributes; place, size, person, light and background are random's."""
    canvas = _Canvas(one, random)
    canvas.background(random)
    if one.presentation == "worn":
        canvas.person(random)
    else:
        canvas.shadow()
    canvas.garment(random)
    return canvas.finished()


class _Canvas:
    """A picture in the making, ``_OVER`` times as large, and where the garment's centre lies in it."""

    def __init__(self, one: Attributes, random: np.random.Generator) -> None:
        self.one = one
        worn = one.presentation == "worn"
        self.scale = random.uniform(0.84, 0.92) if worn else random.uniform(1.0, 1.12)
        self.angle = 0.0 if worn else np.deg2rad(random.uniform(-5, 5))
        down = {"T-shirt": 7.0, "dress": 5.0, "trousers": 4.0, "coat": 6.0}[one.category] if worn else 0.0
        self.centre = np.array([32 + random.uniform(-2, 2), 32 + down + random.uniform(-1.5, 1.5)])
        self.rgb: Floats = np.empty((_SIDE, _SIDE, 3), np.float32)

    def background(self, random: np.random.Generator) -> None:
        light = random.uniform(172, 208)
        tint = random.uniform(-10, 10, 3)
        slope = np.linspace(random.uniform(-6, 6), random.uniform(-14, -2), _SIDE, dtype=np.float32)
        self.rgb[:] = np.asarray(light + tint, np.float32) + slope[:, None, None]

    def fill(self, outline: Outline, rgb: Sequence[float], strength: float = 1.0) -> None:
        self.blend(self.mask(outline) * strength, np.asarray(rgb, np.float32))

    def circle(self, x: float, y: float, radius_x: float, radius_y: float, rgb: Sequence[float]) -> None:
        turn = np.linspace(0, 2 * np.pi, 24, endpoint=False)
        self.fill(list(zip(x + radius_x * np.cos(turn), y + radius_y * np.sin(turn), strict=True)), rgb)

    def blend(self, mask: Floats, rgb: Floats) -> None:
        """Lay a colour (3,) or picture (192, 192, 3) over what is there, as much of it as ``mask`` says."""
        rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
        if len(rows):
            box = (slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1))
            below = self.rgb[box]
            below += mask[box][..., None] * ((rgb if rgb.ndim == 1 else rgb[box]) - below)

    def mask(self, outline: Outline) -> Floats:
        """1 inside, 0 outside, (192, 192)."""
        import cv2

        mask = np.zeros((_SIDE, _SIDE), np.uint8)
        cv2.fillPoly(mask, [self._drawn(outline)], 255, cv2.LINE_AA, shift=4)
        return np.asarray(mask, np.float32) / 255

    def _drawn(self, points: Outline) -> NDArray[np.int32]:
        """As OpenCV takes them: sixteenths of the large picture's pixels, from the first pixel's centre."""
        placed = self.placed(np.asarray(points, np.float64)) * _OVER - 0.5
        return np.rint(placed * 16).astype(np.int32)

    def placed(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Where points of the garment lie in the finished picture."""
        cos, sin = np.cos(self.angle), np.sin(self.angle)
        return np.asarray(self.scale * points @ np.array([[cos, sin], [-sin, cos]]) + self.centre)

    def from_centre(self) -> tuple[Floats, Floats]:
        """Each pixel's x and y from the garment's centre, in the garment's own directions and lengths."""
        axis = (np.arange(_SIDE, dtype=np.float32) + 0.5) / _OVER
        x, y = np.meshgrid(axis - np.float32(self.centre[0]), axis - np.float32(self.centre[1]))
        cos, sin = np.float32(np.cos(self.angle) / self.scale), np.float32(np.sin(self.angle) / self.scale)
        return x * cos + y * sin, y * cos - x * sin

    def shadow(self) -> None:
        import cv2

        outline = [(x + 1.2, y + 1.8) for x, y in _whole(self.one.category)]
        self.blend(0.35 * np.asarray(cv2.GaussianBlur(self.mask(outline), (0, 0), 4.5)), np.full(3, 60, np.float32))

    def person(self, random: np.random.Generator) -> None:
        skin = np.array(_SKIN_RGB[int(random.integers(len(_SKIN_RGB)))]) + random.uniform(-6, 6)
        hair = _HAIR_RGB[int(random.integers(len(_HAIR_RGB)))]
        long_hair = bool(random.random() < 0.5)
        _PERSONS[self.one.category](self, skin, hair, long_hair)

    def head(self, chin: float, skin: Any, hair: Any, long_hair: bool) -> None:
        """Head and neck above the garment; ``chin`` is the chin's y."""
        if long_hair:
            self.circle(0, chin - 4.5, 7.4, 9.5, hair)
        self.fill(_both(((0, chin - 4), (2.6, chin - 4), (3.2, chin + 6), (0, chin + 7))), skin * 0.93)
        self.circle(0, chin - 6.5, 6.6, 7.4, hair)
        self.circle(0, chin - 5.2, 5.2, 6.2, skin)

    def garment(self, random: np.random.Generator) -> None:
        base = np.array(GARMENT_RGB[self.one.colour], np.float32) + random.uniform(-8, 8, 3).astype(np.float32)
        accent = np.array(_PATTERN_RGB[self.one.colour], np.float32) + np.float32(random.uniform(-6, 6))
        x, y = self.from_centre()
        share = _pattern(self.one.pattern, x, y)[..., None]
        light = 1 + np.float32(random.uniform(-0.08, 0.08)) * x / 16 - 0.02 * y / 16 - 0.06 * (np.abs(x) / 16) ** 2
        cloth = (base + share * (accent - base)) * light[..., None]
        mask = self.mask(_whole(self.one.category))
        self.blend(mask, cloth)
        edge = base * 0.62 if base.mean() > 60 else base + 42
        for line in _LINES[self.one.category]:
            self.line(line, edge)
        self.line([*_whole(self.one.category), _whole(self.one.category)[0]], edge)

    def line(self, points: Outline, rgb: Floats) -> None:
        import cv2

        mask = np.zeros((_SIDE, _SIDE), np.uint8)
        cv2.polylines(mask, [self._drawn(points)], False, 255, 2, cv2.LINE_AA, shift=4)
        self.blend(np.asarray(mask, np.float32) / 255, rgb)

    def finished(self) -> Picture:
        small = self.rgb.reshape(SIDE_PX, _OVER, SIDE_PX, _OVER, 3).mean((1, 3))
        return np.asarray(np.clip(np.rint(small), 0, 255), np.uint8)


def _whole(category: str) -> Outline:
    return _both(_HALVES[category])


def _both(half: Outline) -> Outline:
    return [*half, *((-x, y) for x, y in reversed(half) if x)]


def _pattern(pattern: str, x: Floats, y: Floats) -> Floats:
    """How much of the second colour is where, 0 to 1, at points from the garment's centre; more of the first colour."""
    if pattern == "striped":
        return np.asarray(np.abs((y + 4) % 8 - 4) < 1.7, np.float32)
    if pattern == "dotted":
        column = np.round(x / 7)
        row = np.round((y - 4 * (column % 2)) / 8)
        return np.asarray(np.hypot(x - 7 * column, y - 4 * (column % 2) - 8 * row) < 2.3, np.float32)
    if pattern == "checked":
        across, down = (np.abs((one + 4.5) % 9 - 4.5) < 1.9 for one in (x, y))
        return np.asarray(0.5 * across + 0.5 * down, np.float32)
    return np.zeros_like(x)


def _in_shirt(canvas: _Canvas, skin: Any, hair: Any, long_hair: bool) -> None:
    canvas.fill(_both(((0, 14), (10.5, 14), (12, 34), (0, 34))), (70, 78, 96))
    for side in (-1, 1):
        arm = ((12, -4), (17, -4), (19.5, 8), (19, 20), (15.5, 20), (15.5, 8))
        canvas.fill([(side * x, y) for x, y in arm], skin)
    canvas.head(-18, skin, hair, long_hair)


def _in_dress(canvas: _Canvas, skin: Any, hair: Any, long_hair: bool) -> None:
    for side in (-1, 1):
        arm = ((6, -23), (10, -21), (13.5, -8), (14.5, 6), (11.5, 6), (10, -6), (6, -14))
        canvas.fill([(side * x, y) for x, y in arm], skin)
        leg = ((2, 18), (7, 18), (6, 40), (3, 40))
        canvas.fill([(side * x, y) for x, y in leg], skin)
    canvas.fill(_both(((0, -24), (6, -23.5), (6, -10), (0, -10))), skin)
    canvas.head(-26, skin, hair, long_hair)


def _in_trousers(canvas: _Canvas, skin: Any, hair: Any, long_hair: bool) -> None:
    for side in (-1, 1):
        arm = ((10, -36), (14, -34), (17.5, -18), (16.5, -8), (13.5, -8), (13.5, -18))
        canvas.fill([(side * x, y) for x, y in arm], skin)
        canvas.fill([(side * x, y) for x, y in ((4.5, 23), (12, 23), (14, 28), (4.5, 28))], (66, 54, 48))
    canvas.fill(_both(((0, -40), (11, -38), (10, -21), (0, -21))), (150, 152, 158))
    canvas.head(-42, skin, hair, long_hair)


def _in_coat(canvas: _Canvas, skin: Any, hair: Any, long_hair: bool) -> None:
    for side in (-1, 1):
        canvas.fill([(side * x, y) for x, y in ((2, 20), (9, 20), (8, 40), (3, 40))], (70, 78, 96))
        canvas.circle(side * 16.8, 9.5, 2.6, 3.2, skin)
    canvas.head(-21.5, skin, hair, long_hair)


_PERSONS: Final[dict[str, Callable[[_Canvas, Any, Any, bool], None]]] = {
    "T-shirt": _in_shirt,
    "dress": _in_dress,
    "trousers": _in_trousers,
    "coat": _in_coat,
}
_LINES: Final[dict[str, Sequence[Outline]]] = {
    "T-shirt": (((-4.5, -15), (-2.5, -12), (2.5, -12), (4.5, -15)),),
    "dress": (((-7.5, -4), (7.5, -4)),),
    "trousers": (((-9.4, -20.5), (9.4, -20.5)),),
    "coat": (((-4.5, -19), (0, -7), (0, 22)), ((4.5, -19), (0, -7)), ((3, -1), (3, 0)), ((3, 7), (3, 8))),
}
