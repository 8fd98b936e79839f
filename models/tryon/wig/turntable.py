"""A wig on a head that turns: views from the sides, and a film that goes from one side to the other and back.

Head and wig are turned as surfaces in space about the neck; shoulders and background keep still, as when a person looks
to the side. What comes into view is taken from beside it, what was hidden behind the head is filled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.tryon.region import Overlay
from models.tryon.wig.depth import Grid, HeadShape, head_heights, wig_heights
from models.tryon.wig.head_mask import HeadMask
from models.tryon.wig.light import contact_shadow
from models.tryon.wig.turning import Lookup, Outline, outline_of, turned
from models.tryon.wig.worn import WornWig

Picture = NDArray[np.uint8]
Matte = NDArray[np.float32]
Points = NDArray[np.float32]

CONVINCING_YAW_DEG: Final = 30.0
"""Beyond this a view shows too much of what the portrait does not."""

_BEND: Final = (0.05, 1.3, 0.45)  # hair turns wholly down to the first below the chin, by the third from the second on
_SHADOW_STEP: Final = 4
_CURTAIN: Final = 0.75  # face widths to each side
_NAPE_HANGING: Final = 0.15  # face widths below the ears' lower ends to which the head's back shows hair
_NAPE_PINNED: Final = -0.15
_NAPE_LIGHT: Final = 1.7  # against the dark inner back
_STRAND_CONTRAST: Final = 0.12
_SHADES: Final = (1.5, 10.0)  # cells; what is larger than the first is evened out over the second
_HEAD_STRETCH: Final = 0.3
_HEAD_BLUR: Final = 0.1
_HAIR_STRETCH: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnedView:
    """A turned head with a wig.

    Attributes:
        overlay: Everything that lies over the portrait's window.
        parts: As ``WornWig.parts``: where the picture was replaced, the person, the wig, its back; float32 (h, w).
    """

    overlay: Overlay
    parts: tuple[Matte, Matte, Matte, Matte]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnedHair:
    """A turned wig alone, of the size of the worn one: its front, and its inner back, which goes behind the person."""

    wig_rgba: Picture
    behind_rgba: Picture


class Turntable:
    """A worn wig, ready to be seen from any side; everything in the window of the worn wig's own size."""

    def __init__(self, worn: WornWig) -> None:
        sitter = worn.sitter
        height, width = worn.person_alpha.shape
        self._worn = worn
        self.shape = HeadShape.of(sitter.points)
        self._grid = Grid.for_face(self.shape.face_width, width, height)
        head = HeadMask(sitter.points, sitter.picture_rgb)
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
            blur=_HEAD_BLUR * self.shape.face_width,
        )
        self._wig = _Layer(self._grid, self.shape, worn.wig_rgba, hair, hull, least_slope=_HAIR_STRETCH)
        self._behind = _curtain(worn, self.shape)
        self._nape_rgb = _strands(worn.behind_rgba[..., :3], self.shape)
        under = (self._grid.y - np.float32(head.lobe)) / np.float32(self.shape.face_width)
        # Pinned-up hair begins higher behind the ears than hanging hair lets see.
        hair_rows = np.flatnonzero((wig_alpha > 0.5).any(1))
        hangs = len(hair_rows) > 0 and hair_rows[-1] > head.lobe
        begins = _NAPE_HANGING if hangs else _NAPE_PINNED
        self._nape_rows = np.clip((begins - under) / 0.1, 0, 1)[:, None].astype(np.float32)
        self._still_rgb, self._still_alpha = self._without_head(head)

    def view(self, yaw_deg: float) -> TurnedView:
        """The head turned by so much.

        Positive turns the face to the picture's right.
        """
        yaw = float(np.radians(yaw_deg))
        height, width = self._worn.person_alpha.shape
        whole = np.full(self._grid.shape[0], yaw, np.float32)
        head_rgb, head_alpha, lookup = self._head.seen(whole)
        nape = self._grid.fine(lookup.back * self._nape_rows)
        wig_rgb, wig_alpha, behind = self._turned_hair(whole)
        person = np.asarray(np.maximum(self._neck_alpha, head_alpha), np.float32)
        shadow = _shadow(wig_alpha, self.moved_points(yaw)) * person
        behind_alpha = np.asarray(np.divide(behind[..., 3], 255, dtype=np.float32) * (1 - self._neck_alpha), np.float32)
        shade = np.asarray(np.clip(shadow - 0.012, 0, 1), np.float32)
        overlay = stacked(
            height,
            width,
            (
                (self._still_rgb, self._still_alpha),
                (behind[..., :3], behind_alpha),
                (head_rgb, head_alpha),
                (self._nape_rgb, nape * head_alpha),
                (None, shade),
                (wig_rgb, wig_alpha),
            ),
        )
        return TurnedView(overlay=overlay, parts=(self._still_alpha, person, wig_alpha, behind_alpha))

    def hair(self, yaw: float) -> TurnedHair:
        """The wig alone, turned by ``yaw`` radians; for a head that turns by itself."""
        rgb, alpha, behind = self._turned_hair(np.full(self._grid.shape[0], yaw, np.float32))
        return TurnedHair(wig_rgba=np.dstack([rgb, _bytes(255 * alpha)]), behind_rgba=behind)

    def moved_points(self, yaw: float) -> Points:
        """The face's mesh on the head turned by ``yaw`` radians, (468, 3); x alone is moved."""
        points = self._worn.sitter.points.copy()
        depth = points[[234, 454], 2].mean() - points[:, 2] - self.shape.z
        points[:, 0] = self.shape.x + (points[:, 0] - self.shape.x) * np.cos(yaw) + depth * np.sin(yaw)
        return points

    def _turned_hair(self, whole: Matte) -> tuple[Picture, Matte, Picture]:
        """Colour and opacity of the wig, and its inner back, turned by the angles ``whole`` (rows,) at the head."""
        y = (self._grid.y - np.float32(self.shape.chin[1])) / np.float32(self.shape.face_width)
        start, end, least = _BEND
        bend = np.interp(y, [start, end], [1, least]).astype(np.float32)
        rgb, alpha, lookup = self._wig.seen(whole * bend)
        return rgb, alpha, self._wig.at_edge(self._behind, lookup)

    def _without_head(self, head: HeadMask) -> tuple[Picture, Matte]:
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


def stacked(height: int, width: int, layers: Sequence[tuple[Picture | None, Matte]]) -> Overlay:
    """What ``Overlay.over`` makes of layers from the lowest to the topmost; only where they are. None is black."""
    import cv2

    colour, alpha = np.zeros((height, width, 3), np.float32), np.zeros((height, width), np.float32)
    for rgb, opacity in layers:
        rows, columns = (np.flatnonzero((opacity > 0).any(axis)) for axis in (1, 0))
        if not len(rows):
            continue
        part = slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)
        here = np.ascontiguousarray(opacity[part], np.float32)
        rest = 1 - here
        below = np.ascontiguousarray(colour[part])
        if rgb is None:
            colour[part] = below * rest[..., None]
        else:
            colour[part] = cv2.blendLinear(below, rgb[part].astype(np.float32), rest, here)
        alpha[part] = here + alpha[part] * rest
    return Overlay(premultiplied=colour, alpha=alpha)


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
        blur: float = 0.0,
    ) -> None:
        import cv2

        self._grid, self._shape, self._heights, self._outline = grid, shape, heights, outline
        self._least_slope, self._repeats = least_slope, blur == 0
        self._rgba = self._other = np.ascontiguousarray(rgba)
        if blur > 0:  # skin that comes into view is plain
            self._other = np.asarray(cv2.GaussianBlur(self._rgba, (0, 0), sigmaX=0.3 * blur, sigmaY=blur), np.uint8)
            self._other[..., 3] = rgba[..., 3]
        else:
            self._other = _evened(self._rgba, grid)
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
            repeats=self._repeats,
        )
        texture, edge, inside, y = (
            self._grid.fine(part) for part in (lookup.texture, lookup.edge, lookup.inside, lookup.y)
        )
        rgba = cv2.remap(self._rgba, texture, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        columns = self._columns(lookup.lacks)
        if columns is not None:
            other, lacks = self._grid.fine(lookup.other)[:, columns], self._grid.fine(lookup.lacks)[:, columns]
            more = cv2.remap(
                self._other,
                np.ascontiguousarray(other),
                np.ascontiguousarray(y[:, columns]),
                cv2.INTER_LINEAR,
                borderMode=cv2.BORDER_REPLICATE,
            )
            # Where there is none beside it either, a gap is worse than a mirrored lock.
            lacks = np.ascontiguousarray(lacks * np.multiply(more[..., 3], 1 / 255, dtype=np.float32))
            rgba[:, columns] = cv2.blendLinear(rgba[:, columns].copy(), more, 1 - lacks, lacks)
        outer = cv2.remap(self._alpha, edge, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT)
        alpha = self._cut(np.asarray(outer + inside * (rgba[..., 3].astype(np.float32) - outer), np.float32), lookup)
        return np.asarray(rgba[..., :3], np.uint8), np.asarray(alpha * np.float32(1 / 255), np.float32), lookup

    def _cut(self, alpha: Matte, lookup: Lookup) -> Matte:
        """``alpha`` between ``lookup.first`` and ``lookup.last``."""
        height, width = alpha.shape
        rows = np.arange(height) / self._grid.cell
        columns = np.arange(width, dtype=np.float32)
        for end, sign in ((lookup.first, 1), (lookup.last, -1)):
            if np.isfinite(end).all():
                edge = np.interp(rows, np.arange(len(end)), end).astype(np.float32)
                alpha = alpha * np.clip(sign * (columns[None] - edge[:, None]) + 0.5, 0, 1)
        return np.asarray(alpha, np.float32)

    def _columns(self, lacks: Matte) -> slice | None:
        """The columns of the picture in which something lacks."""
        some = np.flatnonzero((lacks > 0).any(0))
        if not len(some):
            return None
        return slice(max(0, int(some[0]) - 1) * self._grid.cell, (int(some[-1]) + 1) * self._grid.cell + 1)

    def at_edge(self, rgba: Picture, lookup: Lookup) -> Picture:
        """Another picture, taken along with the outline alone."""
        import cv2

        edge, y = self._grid.fine(lookup.edge), self._grid.fine(lookup.y)
        return np.asarray(cv2.remap(rgba, edge, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT), np.uint8)


def _curtain(worn: WornWig, shape: HeadShape) -> Picture:
    """The wig's dark inner back, closed behind its own front."""
    out = worn.behind_rgba.copy()
    # It fades out below; above, as beside the forehead, the far side of the wig has an inside everywhere.
    strength = np.maximum.accumulate(out[..., 3].max(1)[::-1])[::-1][:, None]
    aside = np.abs(np.arange(out.shape[1], dtype=np.float32) - shape.x) / np.float32(shape.face_width)
    near = np.clip((_CURTAIN - aside) / 0.1, 0, 1)  # locks that fly far out have no back behind them
    either = np.maximum(out[..., 3], np.asarray(worn.wig_rgba[..., 3] * near, np.uint8))
    from_left = np.maximum.accumulate(either, axis=1)
    from_right = np.maximum.accumulate(either[:, ::-1], axis=1)[:, ::-1]
    out[..., 3] = np.minimum(np.minimum(from_left, from_right), strength)
    return np.asarray(out, np.uint8)


def _strands(dark_rgb: Picture, shape: HeadShape) -> Picture:
    """Hair in the wig's colours for where the head's back shows and the wig's photo has nothing."""
    import cv2

    height, width = dark_rgb.shape[:2]
    noise: Matte = np.random.default_rng(0).standard_normal((height, width)).astype(np.float32)
    along = max(1.0, 0.1 * shape.face_width)
    noise = np.asarray(cv2.GaussianBlur(noise, (0, 0), sigmaX=max(0.6, 0.006 * shape.face_width), sigmaY=along))
    strands = 1 + noise * (_STRAND_CONTRAST / max(float(noise.std()), 1e-6))
    return _bytes(dark_rgb * (_NAPE_LIGHT * strands)[..., None])


def _evened(rgba: Picture, grid: Grid) -> Picture:
    """Hair without its large shades: where a lock is repeated, its dark inner and light outer edge are not."""
    import cv2

    size = (grid.shape[1], grid.shape[0])
    alpha = np.multiply(rgba[..., 3:], 1 / 255, dtype=np.float32)
    weighted = cv2.resize(np.dstack([rgba[..., :3] * alpha, alpha]), size, interpolation=cv2.INTER_AREA)
    near, wide = (cv2.GaussianBlur(weighted, (0, 0), sigma) for sigma in _SHADES)
    near, wide = (part[..., :3] / np.maximum(part[..., 3:], 1e-3) for part in (near, wide))
    change = cv2.resize(wide - near, rgba.shape[1::-1], interpolation=cv2.INTER_LINEAR)
    return np.dstack([_bytes(rgba[..., :3] + change), rgba[..., 3]])


def _shadow(wig_alpha: Matte, points: Points) -> Matte:
    import cv2

    height, width = wig_alpha.shape
    size = (max(1, width // _SHADOW_STEP), max(1, height // _SHADOW_STEP))
    small = np.asarray(cv2.resize(wig_alpha, size, interpolation=cv2.INTER_AREA), np.float32)
    shadow = contact_shadow(small, points / np.float32(_SHADOW_STEP))
    return np.asarray(cv2.resize(shadow, (width, height), interpolation=cv2.INTER_LINEAR), np.float32)


def _bytes(values: NDArray[np.floating]) -> Picture:
    return np.asarray(np.clip(np.rint(values), 0, 255), np.uint8)
