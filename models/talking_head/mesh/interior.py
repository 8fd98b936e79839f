"""The inside of the mouth: throat, tongue and two rows of teeth, as small textures that move with jaw and skull."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from models.talking_head.mesh.grid import Field, warped
from models.talking_head.mesh.lips import EDGE_U, LipFrame
from models.video.yuv import planes

Texture = NDArray[np.uint8]

_LEFT, _TOP, _WIDTH, _HEIGHT = -1.2, -0.8, 2.4, 1.6  # what a texture covers, in units of half a resting mouth
_MIN_SCALE, _MAX_SCALE = 64.0, 320.0  # texture pixels a unit

_TEETH_GAP: Final = (0.22, 0.65)  # lips this far apart show teeth worth keeping; further, throat and tongue

# Widths of the teeth from the middle outward as seen from the front, in the same unit (a mouth of 50 mm).
_UPPER_TEETH: Final = (0.335, 0.255, 0.245, 0.2, 0.16)
_LOWER_TEETH: Final = (0.21, 0.22, 0.23, 0.19, 0.16)


@dataclass(frozen=True, slots=True, kw_only=True)
class Palette:
    """Colours of the mouth, each (Y, U, V); kept over the frames of a video so that they do not flicker."""

    throat: Field
    tongue: Field
    teeth: Field


@dataclass(frozen=True, slots=True, kw_only=True)
class Interior:
    """Textures (h, w, 4) of Y, U, V and alpha; ``to_texture`` leads from (u in units, v) to texture pixels.

    Attributes:
        seen_teeth: Whether the source shows teeth: their colour, in a still their look too, has its shadow in it.
        softness_px: How blurred the picture is around the mouth, so that nothing drawn is sharper than the face.
    """

    palette: Palette
    upper: Texture
    lower: Texture
    tongue: Texture
    scale: float
    seen_teeth: bool
    softness_px: float

    def to_texture(self) -> NDArray[np.float64]:
        """Affine (2, 3) from the mouth's upright unit axes to texture pixels."""
        return np.array([[self.scale, 0, -_LEFT * self.scale - 0.5], [0, self.scale, -_TOP * self.scale - 0.5]])


def build_interior(frame: LipFrame, source: NDArray[np.uint8], previous: Interior | None, *, moving: bool) -> Interior:
    """The mouth of the face in ``source`` (I420); a smiling still lends its own upper teeth.

    In a video they would come and go with its own smile: there the first frame's textures serve throughout.
    """
    if moving and previous is not None:
        return previous
    scale = float(np.clip(1.6 * frame.unit_px, _MIN_SCALE, _MAX_SCALE))
    colours = _palette(frame, source)
    x, y = _axes(scale)
    own = _shows_teeth(frame) and not moving
    edge: Field = 0.08 - 0.09 * x**2
    if own:  # the drawn row behind the own teeth ends where they end
        lower = np.interp(_to_u(frame, x), EDGE_U, frame.lower) - frame.meeting[len(EDGE_U) // 2]
        edge = np.maximum(np.asarray(lower, np.float32) - np.float32(0.05), -0.1)
    upper = _teeth_row(colours.teeth, x, y, _UPPER_TEETH, edge=edge, crown=-0.5, facing=1)
    if own:
        upper = _with_own_teeth(upper, frame, source, scale)
    lower = _teeth_row(colours.teeth * (0.93, 1, 1), x, y, _LOWER_TEETH, edge=-0.05 - 0.05 * x**2, crown=0.5, facing=-1)
    softness_px = _softness(frame, source)
    sigma = softness_px * scale / frame.unit_px
    soft = [
        np.asarray(cv2.GaussianBlur(texture, (0, 0), sigma), np.uint8) if sigma > 0.3 else texture
        for texture in (upper, lower, _tongue(colours.tongue, x, y))
    ]
    return Interior(
        palette=colours,
        upper=soft[0],
        lower=soft[1],
        tongue=soft[2],
        scale=scale,
        seen_teeth=_shows_teeth(frame),
        softness_px=softness_px,
    )


def _softness(frame: LipFrame, source: NDArray[np.uint8]) -> float:
    """Standard deviation of the blur that an enlarged or unsharp picture shows, pixels, 0 to 1.4.

    Fine detail over detail twice as coarse: .75 and more on sharp portraits, .5 to .65 on enlarged ones.
    """
    reach = 1.6 * frame.unit_px
    luma = planes(source).y
    x0, y0 = (max(0, int(value - reach)) for value in frame.origin)
    part = luma[y0 : int(frame.origin[1] + reach), x0 : int(frame.origin[0] + reach)].astype(np.float32)
    if min(part.shape) < 12:
        return 0.0
    fine, coarse = (np.asarray(cv2.GaussianBlur(part, (0, 0), sigma)) for sigma in (0.8, 1.6))
    ratio = float(np.abs(part - fine).mean() / max(np.abs(fine - coarse).mean(), 1e-3))
    return 1.4 * float(np.clip((0.75 - ratio) / 0.2, 0, 1))


def _shows_teeth(frame: LipFrame) -> bool:
    return frame.openness > 0.5 and _TEETH_GAP[0] < frame.gap < _TEETH_GAP[1]


def _to_u(frame: LipFrame, x: Field) -> Field:
    """The mouth's own u of a place ``x`` units from its middle."""
    return np.asarray(x * np.float32(frame.unit_px / np.linalg.norm(frame.across)), np.float32)


def _axes(scale: float) -> tuple[Field, Field]:
    columns, rows = int(_WIDTH * scale), int(_HEIGHT * scale)
    x = (np.arange(columns, dtype=np.float32) + 0.5) / scale + _LEFT
    y = (np.arange(rows, dtype=np.float32) + 0.5) / scale + _TOP
    return np.meshgrid(x, y)


def _palette(frame: LipFrame, source: NDArray[np.uint8]) -> Palette:
    """Colours that fit the picture: lips give the flesh, the brighter part of the face gives the light on the teeth."""
    u = np.linspace(-0.7, 0.7, 29, dtype=np.float32)
    below = np.interp(u, EDGE_U, frame.lower).astype(np.float32)
    lips = np.concatenate([_colours(source, frame.to_pixels(u, below + offset)) for offset in (0.1, 0.16, 0.22)])
    lip = np.median(lips, 0)
    u, v = (
        axis.ravel().astype(np.float32) for axis in np.meshgrid(np.linspace(-1.6, 1.6, 25), np.linspace(-2.2, -0.5, 15))
    )
    face = _colours(source, frame.to_pixels(u, v))
    bright = float(np.percentile(face[:, 0], 75))
    skin = np.median(face, 0)
    light = float(np.clip(16 + 0.98 * (bright - 16), 100, 205))
    grey = np.array([0, 128, 128])
    if _shows_teeth(frame):
        teeth = _own_teeth_colour(frame, source)
    else:
        teeth = np.array([light, *(128 + 0.22 * (skin[1:] - 128))])
    flesh = np.clip(lip - grey, (0, -16, -30), (255, 16, 26))  # painted lips do not paint the tongue
    return Palette(
        throat=(grey + flesh * (0.12, 0.5, 0.55) + (12, 0, 0)).astype(np.float32),
        tongue=(grey + flesh * (0.66, 0.8, 0.85)).astype(np.float32),
        teeth=teeth.astype(np.float32),
    )


def _colours(source: NDArray[np.uint8], points: Field) -> Field:
    """Y, U and V of the frame at pixels (n, 2) or (h, w, 2), as (..., 3)."""
    y, u, v = planes(source)
    places = points if points.ndim == 3 else points[None]
    half = (places - np.float32(0.5)) * np.float32(0.5)
    picked = [warped(plane, where) for plane, where in ((y, places), (u, half), (v, half))]
    return np.dstack(picked).reshape(*points.shape[:-1], 3).astype(np.float32)


def _own_teeth_colour(frame: LipFrame, source: NDArray[np.uint8]) -> Field:
    u = np.linspace(-0.6, 0.6, 25, dtype=np.float32)
    upper, lower = np.interp(u, EDGE_U, frame.upper), np.interp(u, EDGE_U, frame.lower)
    shares = np.linspace(0.15, 0.85, 9)
    colours = np.concatenate(
        [_colours(source, frame.to_pixels(u, (upper + share * (lower - upper)).astype(np.float32))) for share in shares]
    )
    bright = colours[colours[:, 0] >= np.percentile(colours[:, 0], 80)]
    return np.array([np.percentile(colours[:, 0], 92), *np.median(bright[:, 1:], 0)], np.float32)


def _teeth_row(
    colour: Field, x: Field, y: Field, widths: tuple[float, ...], *, edge: Field, crown: float, facing: int
) -> Texture:
    """One row of teeth that ends at ``edge``; ``facing`` 1 for teeth that hang, -1 for teeth that stand."""
    bounds = np.concatenate([[0.0], np.cumsum(widths)])
    middle = np.abs(x)
    index = np.clip(np.searchsorted(bounds, middle, side="right") - 1, 0, len(widths) - 1)
    left, width = bounds[index], np.asarray(widths)[index]
    inside = np.clip((middle - left) / width, 0, 1) * 2 - 1  # -1 to 1 across the tooth
    lateral = (index == 1) * 0.03 * (facing == 1)
    canine = (index == 2) * 0.03 * (1 - np.abs(inside))
    corner = 0.03 * np.abs(inside) ** 5 + lateral - canine
    depth = facing * (edge - y) - corner  # positive inside the tooth, from its free edge
    softness = np.float32(0.04)
    alpha = np.clip(depth / softness + 0.5, 0, 1) * np.clip((bounds[-1] - middle) / 0.05, 0, 1)
    gap = np.exp(-(((1 - np.abs(inside)) * width / 2 / 0.014) ** 2)) * np.clip(1.1 - depth / 0.5, 0.3, 1)
    arch = 1 - 0.42 * np.clip(middle / 1.0, 0, 1.1) ** 2
    bevel = 1 - 0.10 * np.exp(-((depth / 0.04) ** 2)) - 0.10 * np.clip(depth / abs(crown), 0, 1) ** 2
    round_ = 1 - 0.05 * np.abs(inside) ** 3
    tone = arch * bevel * round_ * (1 - 0.16 * gap)
    texture = np.empty((*x.shape, 4), np.float32)
    texture[..., 0] = 16 + (colour[0] - 16) * tone
    texture[..., 1] = 128 + (colour[1] - 128) * (1 + 0.3 * (1 - tone))
    texture[..., 2] = 128 + (colour[2] - 128) * (1 + 0.3 * (1 - tone)) + 3 * gap
    texture[..., 3] = alpha * 255
    return np.clip(texture, 0, 255).astype(np.uint8)


def _tongue(colour: Field, x: Field, y: Field) -> Texture:
    surface = -0.24 + 0.34 * x**2 + 0.03 * np.exp(-((x / 0.08) ** 2))
    depth = y - surface
    alpha = np.clip(depth / 0.05 + 0.5, 0, 1) * np.clip((0.85 - np.abs(x)) / 0.2, 0, 1)
    tone = (0.45 + 0.55 * np.clip(depth / 0.3, 0, 1)) * (1 - 0.3 * x**2) * (1 - 0.1 * np.exp(-((x / 0.05) ** 2)))
    texture = np.empty((*x.shape, 4), np.float32)
    texture[..., 0] = 16 + (colour[0] - 16) * tone
    texture[..., 1:3] = 128 + (colour[1:] - 128) * (0.7 + 0.3 * tone[..., None])
    texture[..., 3] = alpha * 255
    return np.clip(texture, 0, 255).astype(np.uint8)


def _with_own_teeth(drawn: Texture, frame: LipFrame, source: NDArray[np.uint8], scale: float) -> Texture:
    """The source's own teeth over the drawn row: what is seen between its lips, softened toward their edges."""
    rows, columns = drawn.shape[:2]
    x, y = _axes(scale)
    middle = np.float32(frame.meeting[len(frame.meeting) // 2])
    u, v = _to_u(frame, x).ravel(), (y + middle).ravel()
    own = _colours(source, frame.to_pixels(u, v).reshape(rows, columns, 2))
    upper, lower = np.interp(u, EDGE_U, frame.upper), np.interp(u, EDGE_U, frame.lower)
    inside = np.minimum(v - upper, lower - v) - 0.07
    weight = np.clip(inside / 0.05, 0, 1) * np.clip((0.92 - np.abs(u)) / 0.1, 0, 1)
    weight = np.asarray(cv2.GaussianBlur(weight.reshape(rows, columns).astype(np.float32), (0, 0), 0.012 * scale))
    result = drawn.astype(np.float32)
    result[..., :3] += (own - result[..., :3]) * weight[..., None]
    result[..., 3] = np.maximum(result[..., 3], 255 * weight)
    return np.clip(result, 0, 255).astype(np.uint8)
