"""A wig on a sitter: the layers, in order, and what they make of the picture."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.tryon.region import Overlay
from models.tryon.wig.fit import Placement, fit_wig
from models.tryon.wig.light import FaceLight, contact_shadow, face_light, lit
from models.tryon.wig.own_hair import BareSitter

Picture = NDArray[np.uint8]
Matte = NDArray[np.float32]
Points = NDArray[np.float32]

_SPAN: Final = 2.0  # radians to each side of straight up
_DIRECTIONS: Final = np.linspace(-_SPAN, _SPAN, 121)  # in which the wig's outline is looked for
_NUM_STEPS: Final = 160  # along each
_REACH: Final = 2.2  # face widths
_TEMPLES: Final = 1.35  # radians: below, what is beside a face is hair in the dark
_WIDEST: Final = 0.85  # face widths from the eyes' middle up to which an opening shows a head
_HEAD: Final = 1.25  # face widths from between the eyes within which all of a head lies
_NAPE_SHADE: Final = 0.35  # of the hair's own colour: what hangs behind the neck gets little light
_INSET: Final = 0.02  # face widths by which the bald head stays inside the wig


@dataclass(frozen=True, slots=True, kw_only=True)
class WornWig:
    """A wig on a sitter, layer by layer; all of the picture's size, colours sRGB, alphas straight.

    From behind to the front: ``sitter.plate_rgb``, ``behind_rgba``, the person (``sitter.person_rgb`` with
    ``person_alpha``), the shadow on the person, ``wig_rgba``.

    Attributes:
        sitter: Who wears it, hair taken away; ``sitter.points`` is the head's mesh.
        placement: The wig's way onto the head; ``placement.worn`` lays any picture of the wig's size on it.
        wig_rgba: uint8 (h, w, 4); the wig, lit as the sitter is, in front of face and shoulders.
        behind_rgba: uint8 (h, w, 4); the wig's inner back, seen beside the neck, behind the person.
        person_alpha: float32 (h, w); the person without hair, without what of a high skull the wig does not hide.
        shadow: float32 (h, w); opacity of the wig's shadow on the person.
        removed: float32 (h, w); where plate and person replace the picture.
    """

    sitter: BareSitter
    placement: Placement
    wig_rgba: Picture
    behind_rgba: Picture
    person_alpha: Matte
    shadow: Matte
    removed: Matte

    @property
    def parts(self) -> tuple[Matte, Matte, Matte, Matte]:
        """Changed region, person, wig and its back, each float32 (h, w), 0 to 1."""
        wig, behind = (np.divide(layer[..., 3], 255, dtype=np.float32) for layer in (self.wig_rgba, self.behind_rgba))
        return self.removed, self.person_alpha, wig, behind

    def overlay(self) -> Overlay:
        """Everything that lies over the picture."""
        height, width = self.person_alpha.shape
        alpha = self.person_alpha[..., None]
        plate = self.sitter.plate_rgb.astype(np.float32)
        bare = plate + alpha * (self.sitter.person_rgb.astype(np.float32) - plate)
        wig_alpha = np.divide(self.wig_rgba[..., 3], 255, dtype=np.float32)
        behind = np.divide(self.behind_rgba[..., 3], 255, dtype=np.float32) * (1 - self.person_alpha)
        return (
            Overlay.nothing(height, width)
            .over(bare, self.removed)
            .over(self.behind_rgba[..., :3], behind)
            .over(np.zeros(3, np.float32), self.shadow)
            .over(self.wig_rgba[..., :3], wig_alpha)
        )

    def with_wig(self, wig_rgba: Picture) -> WornWig:
        """The same with another colour: ``wig_rgba`` replaces the one that is worn, of the same shape."""
        return replace(self, wig_rgba=wig_rgba, behind_rgba=_behind(wig_rgba, self.sitter.points))


def wear(
    sitter: BareSitter,
    wig_rgba: Picture,
    wig_points: Points,
    wig_light: FaceLight | None,
    *,
    placement: Placement | None = None,
) -> WornWig:
    """The sitter with the wig on.

    Args:
        wig_rgba: The wig's own picture, straight alpha, with the mesh ``wig_points`` of the head in it.
        wig_light: How the face in the wig's photo was lit.
        placement: Of the same wig on the same sitter, if it is known already.
    """
    height, width = sitter.person_alpha.shape
    if placement is None:
        placement = fit_wig(wig_points, sitter.points, width, height)
    worn = lit(placement.worn(wig_rgba), sitter.points, face_light(sitter.picture_rgb, sitter.points), wig_light)
    alpha = np.divide(worn[..., 3], 255, dtype=np.float32)
    outline = _Outline.of(alpha, sitter.points, sitter.face_width)
    cut = outline.beyond()
    sitter, filled = _with_temples(sitter, outline.opening())
    person_alpha = np.asarray(sitter.person_alpha * (1 - cut), np.float32)
    shadow = contact_shadow(alpha, sitter.points) * person_alpha
    # Beyond the wig's reach a shadow is a change that nobody sees: those pixels stay the picture's own.
    shadow = np.asarray(np.clip(shadow - 0.012, 0, 1), np.float32)
    removed = np.maximum.reduce([sitter.removed, np.where(sitter.person_alpha > 0.02, cut, 0), filled])
    return WornWig(
        sitter=sitter,
        placement=placement,
        wig_rgba=worn,
        behind_rgba=_behind(worn, sitter.points),
        person_alpha=person_alpha,
        shadow=shadow,
        removed=np.asarray(removed, np.float32),
    )


@dataclass(frozen=True, slots=True)
class _Outline:
    """Where a wig begins and ends, direction by direction from between the eyes, and each pixel's place by that."""

    inner: Matte  # radius of each direction, pixels
    outer: Matte
    reach: float
    radius: Matte  # of each pixel
    angle: Matte  # of each pixel, 0 straight up, positive to the picture's right
    below: Matte  # of each pixel, how far below the eyes, in the head's own direction
    face_width: float

    @classmethod
    def of(cls, wig_alpha: Matte, points: Points, face_width: float) -> _Outline:
        import cv2

        centre = points[[168, 9], :2].mean(0)
        across = points[454, :2] - points[234, :2]
        cos, sin = across / max(float(np.linalg.norm(across)), 1e-6)
        reach = _REACH * face_width
        radii = np.linspace(0, reach, _NUM_STEPS)
        right, up = np.sin(_DIRECTIONS)[:, None] * radii, -np.cos(_DIRECTIONS)[:, None] * radii
        x, y = centre[0] + right * cos - up * sin, centre[1] + right * sin + up * cos
        seen = cv2.remap(wig_alpha, x.astype(np.float32), y.astype(np.float32), cv2.INTER_LINEAR)
        solid = seen > 0.6
        has = solid.sum(1) > 0.08 * face_width / (reach / _NUM_STEPS)
        outer = np.where(has, radii[_NUM_STEPS - 1 - solid[:, ::-1].argmax(1)] - _INSET * face_width, reach)
        inner = np.where(solid.any(1), radii[solid.argmax(1)] + _INSET * face_width, 0)
        height, width = wig_alpha.shape
        dx, dy = np.meshgrid(
            np.arange(width, dtype=np.float32) - centre[0], np.arange(height, dtype=np.float32) - centre[1]
        )
        to_right, down = dx * cos + dy * sin, dy * cos - dx * sin
        return cls(
            inner=_smooth(inner),
            outer=_smooth(outer),
            reach=reach,
            radius=np.hypot(dx, dy).astype(np.float32),
            angle=np.arctan2(to_right, -down).astype(np.float32),
            below=down.astype(np.float32),
            face_width=face_width,
        )

    def beyond(self) -> Matte:
        """1 where the head would stand out of the wig, as a skull larger than the wig's own does, or an ear."""
        limit = np.interp(self.angle, _DIRECTIONS, self.outer, left=self.reach, right=self.reach)
        soft = max(1.0, 0.012 * self.face_width)
        over = np.clip((self.radius - limit) / soft + 0.5, 0, 1)
        # Down to the ears' lower end: they are hidden by a wig that lies over them, and stay where it ends above them.
        fade = np.clip((_SPAN - np.abs(self.angle)) / 0.2, 0, 1)
        fade *= np.clip((0.45 * self.face_width - self.below) / (0.08 * self.face_width), 0, 1)
        fade *= np.clip((_HEAD * self.face_width - self.radius) / (0.1 * self.face_width), 0, 1)
        return np.asarray(over * fade, np.float32)

    def opening(self) -> Matte:
        """1 in the wig's opening above the eyes and a little below its edge: forehead and temples show there."""
        limit = np.interp(self.angle, _DIRECTIONS, self.inner, left=0, right=0) + 0.02 * self.face_width
        limit = np.minimum(limit, _WIDEST * self.face_width)
        soft = max(1.0, 0.02 * self.face_width)
        inside = np.clip((limit - self.radius) / soft + 0.5, 0, 1)
        return np.asarray(inside * np.clip((_TEMPLES - np.abs(self.angle)) / 0.25, 0, 1), np.float32)


def _smooth(values: NDArray[np.floating]) -> Matte:
    return np.convolve(np.pad(values, 2, mode="edge"), np.ones(5) / 5, mode="valid").astype(np.float32)


def _with_temples(sitter: BareSitter, opening: Matte) -> tuple[BareSitter, Matte]:
    """The sitter with skin up to the edge of a wig whose opening is wider than the head, and where that was put."""
    gap = np.clip(opening - sitter.person_alpha, 0, 1)
    if float(gap.max(initial=0.0)) < 0.05:
        return sitter, np.zeros_like(opening)
    there = np.where(sitter.person_alpha < 0.98, opening, 0)[..., None]
    person = sitter.person_rgb + there * (sitter.skin_rgb.astype(np.float32) - sitter.person_rgb)
    extended = replace(
        sitter,
        person_rgb=np.clip(np.rint(person), 0, 255).astype(np.uint8),
        person_alpha=np.maximum(sitter.person_alpha, opening),
    )
    return extended, np.asarray(np.where(gap > 0.02, opening, 0), np.float32)


def _behind(wig_rgba: Picture, points: Points) -> Picture:
    """The inner back of the wig, dark, behind the person: between its left and right part beside temples and neck."""
    import cv2

    height, width = wig_rgba.shape[:2]
    solid = wig_rgba[..., 3] > 140
    chin, top = points[152, :2], points[10, :2]
    face_height = float(np.linalg.norm(chin - top))
    centre = points[[234, 454], :2].mean(0)
    columns = np.arange(width)
    left_side, right_side = solid & (columns < centre[0]), solid & (columns >= centre[0])
    both = left_side.any(1) & right_side.any(1)
    # The inner edges: of the left part the rightmost pixel, of the right part the leftmost.
    left = np.where(both, width - 1 - left_side[:, ::-1].argmax(1), 0)
    right = np.where(both, right_side.argmax(1), 0)
    between = both[:, None] & (columns >= left[:, None] - 2) & (columns <= right[:, None] + 2)
    rows = np.arange(height)
    ends = int(np.flatnonzero(both).max()) if both.any() else 0
    # Below hanging hair it gets lost in the shade; above the ears it only closes the gap between hair and head.
    reach = float(np.clip((ends - centre[1]) / max(0.5 * face_height, 1), 0.1, 1)) * 0.25 * face_height
    fade = np.clip((ends - rows) / max(reach, 1), 0, 1)
    fade = fade * np.clip((rows - top[1]) / max(0.35 * face_height, 1), 0, 1)
    out = np.zeros_like(wig_rgba)
    if not between.any():
        return out
    # Its colour is that of the hair's own dark strands nearby.
    weight = solid.astype(np.float32)
    sigma = max(1.0, 0.12 * face_height)
    small = max(1, int(sigma / 3))
    size = (max(1, width // small), max(1, height // small))
    mass = cv2.resize(weight, size, interpolation=cv2.INTER_AREA)
    colour = cv2.resize(wig_rgba[..., :3] * weight[..., None], size, interpolation=cv2.INTER_AREA)
    mass, colour = (cv2.GaussianBlur(part, (0, 0), 3.0) for part in (mass, colour))
    mean = cv2.resize(colour / np.maximum(mass, 1e-4)[..., None], (width, height), interpolation=cv2.INTER_LINEAR)
    out[..., :3] = np.clip(np.rint(mean * _NAPE_SHADE), 0, 255).astype(np.uint8)
    alpha = cv2.GaussianBlur(between.astype(np.float32), (0, 0), max(0.7, 0.01 * face_height)) * fade[:, None]
    out[..., 3] = np.clip(np.rint(alpha * 255), 0, 255).astype(np.uint8)
    return out
