"""A wig on a head that turns: views from the sides, and a film that goes from one side to the other and back.

Head and wig are turned as surfaces in space about the neck; shoulders and background keep still, as when a person looks
to the side. What comes into view is mirrored from beside it, what was hidden behind the head is filled.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.talking_head.mesh.topology import FACE_OVAL
from models.tryon.region import Overlay
from models.tryon.wig.depth import Grid, HeadShape, head_heights, wig_heights
from models.tryon.wig.light import contact_shadow
from models.tryon.wig.turning import Lookup, Outline, outline_of, turned
from models.tryon.wig.worn import WornWig

Picture = NDArray[np.uint8]
Matte = NDArray[np.float32]
Points = NDArray[np.float32]
Mask = NDArray[np.bool_]

CONVINCING_YAW_DEG: Final = 30.0
"""Beyond this a view shows too much of what the portrait does not."""

_BEND: Final = (0.05, 1.3, 0.45)  # hair turns wholly down to the first below the chin, by the third from the second on
_SHADOW_STEP: Final = 4
_NECK: Final = 0.36  # half of it, in face widths
_HEAD_STRETCH: Final = 0.3
_HEAD_MIRROR: Final = 0.04
_HAIR_STRETCH: Final = 0.55


class Turntable:
    """A worn wig, ready to be seen from any side; everything in the window of the worn wig's own size."""

    def __init__(self, worn: WornWig) -> None:
        sitter = worn.sitter
        height, width = worn.person_alpha.shape
        self._worn = worn
        self.shape = HeadShape.of(sitter.points)
        self._grid = Grid.for_face(self.shape.face_width, width, height)
        head = _HeadMask(sitter.points, width, height)
        self._head_alpha = np.asarray(worn.person_alpha * head.soft, np.float32)
        heights = head_heights(self._grid, self.shape, sitter.points, self._head_alpha)
        wig_alpha = np.divide(worn.wig_rgba[..., 3], 255, dtype=np.float32)
        hair = wig_heights(self._grid, self.shape, heights, self._head_alpha, worn.person_alpha, wig_alpha)
        outline = outline_of(self._grid, self._head_alpha * head.above_lobes, self.shape, depth=1.15)
        under = np.clip((head.lobe - self._grid.y) / (0.2 * self.shape.face_width) + 0.5, 0, 1)
        outline = replace(outline, back=np.asarray(outline.back * under, np.float32))  # the jaw has no back
        hull = outline_of(self._grid, wig_alpha, self.shape, least=outline, depth=1.15)
        self._head = _Layer(
            self._grid,
            self.shape,
            np.dstack([sitter.person_rgb, _bytes(255 * self._head_alpha)]),
            heights,
            outline,
            least_slope=np.where(self._grid.y < head.lobe, _HEAD_STRETCH, 0.0).astype(np.float32),
            mirror=_HEAD_MIRROR * self.shape.face_width,
        )
        self._wig = _Layer(
            self._grid, self.shape, worn.wig_rgba, hair, hull, least_slope=_HAIR_STRETCH, mirror=self.shape.face_width
        )
        self._behind = _curtain(worn)
        self._still_rgb, self._still_alpha = self._without_head(head)

    def view(self, yaw_deg: float) -> Overlay:
        """Everything that lies over the portrait's window when the head is turned by so much.

        Positive turns the face to the picture's right.
        """
        yaw = float(np.radians(yaw_deg))
        height, width = self._worn.person_alpha.shape
        whole = np.full(self._grid.shape[0], yaw, np.float32)
        head_rgb, head_alpha, _ = self._head.seen(whole)
        y = (self._grid.y - np.float32(self.shape.chin[1])) / np.float32(self.shape.face_width)
        start, end, least = _BEND
        bend = np.interp(y, [start, end], [1, least]).astype(np.float32)
        wig_rgb, wig_alpha, lookup = self._wig.seen(whole * bend)
        behind = self._wig.at_edge(self._behind, lookup)
        person = np.maximum(self._neck_alpha, head_alpha)
        shadow = _shadow(wig_alpha, self._moved_points(yaw)) * person
        behind_alpha = np.divide(behind[..., 3], 255, dtype=np.float32) * (1 - self._neck_alpha)
        return (
            Overlay.nothing(height, width)
            .over(self._still_rgb, self._still_alpha)
            .over(behind[..., :3], behind_alpha)
            .over(head_rgb, head_alpha)
            .over(np.zeros(3, np.float32), np.asarray(np.clip(shadow - 0.012, 0, 1), np.float32))
            .over(wig_rgb, wig_alpha)
        )

    def _moved_points(self, yaw: float) -> Points:
        points = self._worn.sitter.points.copy()
        depth = points[[234, 454], 2].mean() - points[:, 2] - self.shape.z
        points[:, 0] = self.shape.x + (points[:, 0] - self.shape.x) * np.cos(yaw) + depth * np.sin(yaw)
        return points

    def _without_head(self, head: _HeadMask) -> tuple[Picture, Matte]:
        """Background, neck and shoulders as they are behind the head, and where they replace the picture."""
        import cv2

        worn = self._worn
        sitter = worn.sitter
        neck_rgb, neck_alpha = head.continued(sitter.person_rgb, worn.person_alpha)
        alpha = neck_alpha[..., None]
        plate = sitter.plate_rgb.astype(np.float32)
        still = plate + alpha * (neck_rgb.astype(np.float32) - plate)
        reach = max(2, round(0.05 * self.shape.face_width))
        disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * reach + 1,) * 2)
        of_head = cv2.dilate((self._head_alpha > 0.02).astype(np.float32), disc)
        of_head = cv2.GaussianBlur(of_head, (0, 0), reach / 3)
        self._neck_alpha = neck_alpha
        where = np.maximum(np.maximum(of_head, worn.removed), 0)
        return np.asarray(np.clip(still, 0, 255), np.uint8), np.asarray(np.clip(where, 0, 1), np.float32)


class _Layer:
    """A picture with heights; see ``turning``."""

    def __init__(
        self,
        grid: Grid,
        shape: HeadShape,
        rgba: Picture,
        heights: Matte,
        outline: Outline,
        *,
        least_slope: Matte | float,
        mirror: float,
    ) -> None:
        self._grid, self._shape, self._heights, self._outline = grid, shape, heights, outline
        self._least_slope, self._mirror = least_slope, mirror
        self._rgba = np.ascontiguousarray(rgba)
        self._alpha = np.ascontiguousarray(rgba[..., 3])

    def seen(self, angles: Matte) -> tuple[Picture, Matte, Lookup]:
        """Colour, opacity 0 to 1, and the lookup, when row by row of the grid turned by ``angles``."""
        import cv2

        lookup = turned(
            self._grid,
            self._shape,
            self._heights,
            self._outline,
            angles,
            least_slope=self._least_slope,
            mirror=self._mirror,
        )
        texture, edge, inside, y = (
            self._grid.fine(part) for part in (lookup.texture, lookup.edge, lookup.inside, lookup.y)
        )
        rgba = cv2.remap(self._rgba, texture, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        outer = cv2.remap(self._alpha, edge, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT)
        alpha = outer + inside * (rgba[..., 3].astype(np.float32) - outer)
        return np.asarray(rgba[..., :3], np.uint8), np.asarray(alpha * np.float32(1 / 255), np.float32), lookup

    def at_edge(self, rgba: Picture, lookup: Lookup) -> Picture:
        """Another picture, taken along with the outline alone."""
        import cv2

        edge, y = self._grid.fine(lookup.edge), self._grid.fine(lookup.y)
        return np.asarray(cv2.remap(rgba, edge, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT), np.uint8)


class _HeadMask:
    """Which part of the person turns: the head down to the jaw, with the ears; and what is below it."""

    def __init__(self, points: Points, width: int, height: int) -> None:
        import cv2

        oval = points[list(FACE_OVAL), :2]
        centre = oval.mean(0)
        self._face_width = float(np.linalg.norm(points[454, :2] - points[234, :2]))
        grown = centre + (oval - centre) * np.array([1.06, 1.03], np.float32)
        # Down to the jaw's line, and on to both sides at the height of the ears' lower end.
        lower = grown[grown[:, 1] > centre[1]]
        lower = lower[np.argsort(lower[:, 0])]
        self._neck_x = 0.6 * points[[234, 454], 0].mean() + 0.4 * points[152, 0]
        columns = np.arange(width, dtype=np.float32)
        line = np.interp(columns, lower[:, 0], lower[:, 1])
        self.lobe = lobe = float(points[[58, 288], 1].mean())
        line = np.where((columns < lower[0, 0]) | (columns > lower[-1, 0]), np.maximum(line, lobe), line)
        self._line = cv2.GaussianBlur(line.astype(np.float32)[None], (0, 0), 0.02 * self._face_width)[0]
        rows = np.arange(height, dtype=np.float32)[:, None]
        self._rows = rows
        soft = max(1.0, 0.012 * self._face_width)
        self.soft: Matte = np.asarray(np.clip((self._line[None] - rows) / soft + 0.5, 0, 1), np.float32)
        self.above_lobes: Matte = np.asarray(rows < lobe, np.float32)
        self.hard: Mask = np.asarray(rows < self._line[None])

    def continued(self, rgb: Picture, alpha: Matte) -> tuple[Picture, Matte]:
        """The person without head: what is just below the jaw goes on upwards behind it, and ends at the ears."""
        import cv2

        height, width = alpha.shape
        start = np.clip(self._line + 0.05 * self._face_width, 0, height - 1)
        above = self._rows < start[None]
        y = np.broadcast_to(start[None].astype(np.float32), (3, width))
        x = np.ascontiguousarray(np.broadcast_to(np.arange(width, dtype=np.float32)[None], y.shape))
        strip_rgb, strip_alpha = (
            cv2.remap(part, x, np.ascontiguousarray(y), cv2.INTER_LINEAR)[:1] for part in (rgb, alpha)
        )
        strip_rgb = cv2.blur(strip_rgb, (max(3, round(0.05 * self._face_width)) | 1, 1))
        columns = np.arange(width, dtype=np.float32)
        aside = np.abs(columns - self._neck_x) / self._face_width
        neck = strip_alpha * np.clip((_NECK - aside) / 0.012, 0, 1)[None]
        out = np.where(above[..., None], strip_rgb, rgb)
        return np.asarray(out, np.uint8), np.asarray(np.where(above, neck, alpha), np.float32)


def _curtain(worn: WornWig) -> Picture:
    """The wig's dark inner back, closed behind its own front."""
    out = worn.behind_rgba.copy()
    strength = out[..., 3].max(1)[:, None]
    either = np.maximum(out[..., 3], worn.wig_rgba[..., 3])
    from_left = np.maximum.accumulate(either, axis=1)
    from_right = np.maximum.accumulate(either[:, ::-1], axis=1)[:, ::-1]
    out[..., 3] = np.minimum(np.minimum(from_left, from_right), strength)
    return np.asarray(out, np.uint8)


def _shadow(wig_alpha: Matte, points: Points) -> Matte:
    import cv2

    height, width = wig_alpha.shape
    size = (max(1, width // _SHADOW_STEP), max(1, height // _SHADOW_STEP))
    small = np.asarray(cv2.resize(wig_alpha, size, interpolation=cv2.INTER_AREA), np.float32)
    shadow = contact_shadow(small, points / np.float32(_SHADOW_STEP))
    return np.asarray(cv2.resize(shadow, (width, height), interpolation=cv2.INTER_LINEAR), np.float32)


def _bytes(values: NDArray[np.floating]) -> Picture:
    return np.asarray(np.clip(np.rint(values), 0, 255), np.uint8)
