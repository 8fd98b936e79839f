"""Blinks: a lid of the face's own skin colour comes down over the untouched eye, a lash line at its edge.

An open eye shows almost nothing of its lid, so stretching what is there smears lashes and crease. The lid is made
instead: its colour from the skin above and below the eye, its grain from the skin below, its lash line as dark as
the lashes of the picture. The lashes leave the skin above the eye and turn over with the lid's edge; rims of glasses
stay on top.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from models.perception.face import FaceLandmarks
from models.talking_head.mesh import topology
from models.talking_head.mesh.grid import Field, warped
from models.talking_head.mesh.lashes import Lashes, bare_colour, find_lashes, wears_glasses
from models.video.yuv import Planes, planes

Frame = NDArray[np.uint8]

_EDGE_U: Final = np.linspace(-1.3, 1.3, 53).astype(np.float32)
_OVERLAP: Final = 0.06  # travel past the lower lid, in half eye widths: less leaves a white line
_LOWER_RISE: Final = 0.14  # the lower lid's part of a blink
_FOLD: Final = (0.10, 0.55)  # the made skin begins this far above the open lid's edge, above its lashes
_GRAIN_FROM: Final = 0.16  # skin grain is taken from this far below the lower lid
_GRAIN_BAND: Final = 0.28  # and over this height
_TURNED_LASHES: Final = 0.5  # length of hanging lashes, seen from the front, over that of raised ones
_BLINK_BEHIND_GLASSES: Final = 0.4  # rims hide where the lids really are: a lid all the way down would show it
_EYES: Final = (
    (topology.RIGHT_EYE_UPPER, topology.RIGHT_EYE_LOWER, topology.RIGHT_BROW),
    (topology.LEFT_EYE_UPPER, topology.LEFT_EYE_LOWER, topology.LEFT_BROW),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lid:
    """One eye: ``point = origin + u * across + v * down``, u -1 and 1 at the corners, v in the same length.

    Attributes:
        upper, lower: v of the lids' edges at ``_EDGE_U``.
        skin, fold_skin: Y, U, V of the lid and of the skin where it begins, at ``_EDGE_U``, (n, 3).
        lash: How much darker than the skin the lash line is, 0 to 1, at ``_EDGE_U``.
        fold: How far above the open lid's edge its lashes reach, in half eye widths.
        grain: The Y plane's fine detail in ``box``, float32.
        lashes: Lashes and rims in ``box``.
        bare_u, bare_v: What the U and V planes gain in ``box`` where the lashes are taken away.
        box: x0, y0, x1, y1 of the frame that a blink may change, all even.
    """

    origin: Field
    across: Field
    down: Field
    upper: Field
    lower: Field
    skin: Field
    fold_skin: Field
    lash: Field
    fold: float
    grain: Field
    lashes: Lashes
    bare_u: Field
    bare_v: Field
    box: tuple[int, int, int, int]


def find_lids(landmarks: FaceLandmarks, frame: Frame, region: tuple[int, int, int, int]) -> tuple[Lid, ...]:
    """The eyes of a face in ``frame`` (I420) that lie in ``region`` (x0, y0, x1, y1, even)."""
    glasses = _glasses(landmarks, frame)
    lids = (_lid(landmarks, frame, region, *eye, glasses=glasses) for eye in _EYES)
    return tuple(lid for lid in lids if lid is not None)


def _lid(
    landmarks: FaceLandmarks,
    frame: Frame,
    region: tuple[int, int, int, int],
    upper: tuple[int, ...],
    lower: tuple[int, ...],
    brow: tuple[int, ...],
    *,
    glasses: bool,
) -> Lid | None:
    points = landmarks.points[:, :2]
    left, right = points[upper[0]], points[upper[-1]]
    origin = ((left + right) / 2).astype(np.float32)
    across = ((right - left) / 2).astype(np.float32)
    down = np.array([-across[1], across[0]], np.float32)
    axes = np.stack([across, down])
    inverse = np.linalg.inv(axes).astype(np.float32)
    above, below = (_edge((points[list(indices)] - origin) @ inverse) for indices in (upper, lower))
    below = np.maximum(below, above)
    below += np.float32(_hidden_white(frame, below, lambda v: origin + np.stack([_EDGE_U, v], 1) @ axes))
    brow_uv = (points[list(brow)] - origin) @ inverse
    room = float(np.clip(above.min() - np.median(brow_uv[:, 1]), 0.2, 1.2))

    corners = origin + np.array([[u, v] for u in (-1.6, 1.6) for v in (above.min() - 0.7, below.max() + 0.5)]) @ axes
    low, high = np.floor(corners.min(0) / 2).astype(int) * 2, np.ceil(corners.max(0) / 2).astype(int) * 2
    x0, y0 = max(region[0], int(low[0])), max(region[1], int(low[1]))
    x1, y1 = min(region[2], int(high[0])), min(region[3], int(high[1]))
    if x0 >= x1 or y0 >= y1:
        return None
    luma = planes(frame).y[y0:y1, x0:x1].astype(np.float32)
    half_px = float(np.hypot(*across))
    grain = luma - cv2.GaussianBlur(luma, (0, 0), max(0.07 * half_px, 0.8))
    x, y = np.meshgrid(np.arange(luma.shape[1]) + x0 - origin[0], np.arange(luma.shape[0]) + y0 - origin[1])
    u, v = (np.asarray(x * row[0] + y * row[1], np.float32) for row in inverse.T)
    over_lid, under_lid = (np.asarray(edge, np.float32) for edge in (-v, v))
    over_lid += np.interp(u, _EDGE_U, above).astype(np.float32)
    under_lid -= np.interp(u, _EDGE_U, below).astype(np.float32)
    room_there = (np.interp(u, _EDGE_U, above) - np.interp(u, brow_uv[:, 0], brow_uv[:, 1])).astype(np.float32)
    eyeball = ((over_lid < 0.03) & (under_lid < 0.03)).astype(np.float32)
    outer = np.float32(-1 if upper is topology.RIGHT_EYE_UPPER else 1)
    lashes = find_lashes(luma.astype(np.uint8), outer * u, over_lid, under_lid, room_there, half_px, glasses=glasses)
    skin_below = (under_lid > _GRAIN_FROM) & (under_lid < _GRAIN_FROM + 2 * _GRAIN_BAND) & (np.abs(u) < 1)
    usual = 3 * float(np.median(np.abs(grain[skin_below]))) if skin_below.any() else 0.0
    grain = np.clip(grain, -usual, usual)  # lower lashes are no grain
    bare, bare_chroma = _without(lashes, frame, (x0, y0, x1, y1), eyeball, half_px)

    def colours(v: Field) -> Field:
        return _sampled(bare, origin + np.stack([_EDGE_U, v], 1) @ axes)

    over = np.stack([colours(above - share * room) for share in (0.45, 0.55, 0.65, 0.75)])
    under = np.stack([colours(below + depth) for depth in (0.22, 0.3, 0.4)])
    skin = _skin(over, under)
    strip = np.stack(
        [
            _sampled(frame, origin + np.stack([_EDGE_U, above + depth], 1) @ axes)[:, 0]
            for depth in np.linspace(-0.14, 0.06, 9)
        ]
    )
    ratio = (np.sort(strip, 0)[:2].mean(0) - 16) / np.maximum(skin[:, 0] - 16, 1)
    lash = _smoothed(np.clip(1 - ratio, 0.25, 0.8))

    reaches = np.arange(0.06, _FOLD[1], 0.04)
    middle = np.abs(_EDGE_U) < 0.8
    dark = [np.mean(colours(above - reach)[middle, 0] < 0.8 * skin[middle, 0]) > 0.25 for reach in reaches]
    fold = float(np.clip(reaches[dark.index(False)] if False in dark else _FOLD[1], *_FOLD))
    fold = _FOLD[0] if glasses else min(fold + 0.08, 0.7 * room)
    fold_skin = _along(np.stack([colours(above - fold - depth) for depth in (0.0, 0.06)]).mean(0))
    fold_skin += (skin - fold_skin) * np.clip(1 - (fold_skin[:, :1] - 16) / (0.72 * (skin[:, :1] - 16)), 0, 1)

    return Lid(
        origin=origin,
        across=across,
        down=down,
        upper=above,
        lower=below,
        skin=skin,
        fold_skin=fold_skin.astype(np.float32),
        lash=lash,
        fold=fold,
        grain=np.asarray(grain, np.float32),
        lashes=lashes,
        bare_u=bare_chroma[0],
        bare_v=bare_chroma[1],
        box=(x0, y0, x1, y1),
    )


def _without(
    lashes: Lashes, frame: Frame, box: tuple[int, int, int, int], eyeball: Field, half_px: float
) -> tuple[Frame, list[Field]]:
    """The frame without its upper lashes, and what U and V gained in ``box``."""
    x0, y0, x1, y1 = box
    bare = frame.copy()
    luma, *chroma = planes(bare)
    view = luma[y0:y1, x0:x1]
    view[:] = np.clip(view + lashes.bare, 0, 255).astype(np.uint8)
    gained = []
    for plane in chroma:
        view = plane[y0 // 2 : y1 // 2, x0 // 2 : x1 // 2]
        gained.append(bare_colour(view, lashes.dark, eyeball, half_px / 2))
        view[:] = np.clip(view + gained[-1], 0, 255).astype(np.uint8)
    return bare, gained


def _glasses(landmarks: FaceLandmarks, frame: Frame) -> bool:
    points = landmarks.points[:, :2]
    along, downward = np.meshgrid(np.linspace(-0.8, 0.8, 21), np.linspace(0.45, 1.7, 50))
    below, widths = [], []
    for upper, _, _ in _EYES:
        left, right = points[upper[0]], points[upper[-1]]
        across = (right - left) / 2
        down = np.array([-across[1], across[0]])
        below.append(((left + right) / 2 + along[..., None] * across + downward[..., None] * down).astype(np.float32))
        widths.append(float(np.hypot(*across)))
    return wears_glasses(planes(frame).y, below, float(np.mean(widths)))


def _edge(uv: Field) -> Field:
    """A lid's edge at ``_EDGE_U``, smooth, level beyond the corners."""
    line = np.interp(_EDGE_U, uv[:, 0], uv[:, 1])
    return _smoothed(line)


def _smoothed(line: NDArray[np.floating]) -> Field:
    window = np.hanning(9)[1:-1] / np.hanning(9)[1:-1].sum()
    return np.convolve(np.pad(line, 3, mode="edge"), window, "valid").astype(np.float32)


def _skin(over: Field, under: Field) -> Field:
    """Colour of the lid along the eye: skin above and below it without the darkest third, where brows are."""
    both = np.concatenate([over, under])
    order = np.argsort(both[..., 0], 0)[len(both) // 3 :]
    return _along(np.take_along_axis(both, order[..., None], 0).mean(0))


def _along(colours: Field) -> Field:
    """Colours along the eye without detail."""
    return np.stack([_smoothed(_smoothed(colours[:, channel])) for channel in range(3)], 1)


def _hidden_white(frame: Frame, below: Field, to_pixels: Callable[[Field], NDArray[np.floating]]) -> float:
    """How far under the mesh's lower lid the eye still goes on: drawn eyes are larger than the mesh believes."""
    middle = np.abs(_EDGE_U) < 0.7
    skin = _sampled(frame, to_pixels(below + 0.45))[middle]
    for depth in np.arange(0.0, 0.28, 0.04):
        colour = _sampled(frame, to_pixels(below + depth))[middle]
        other = np.abs(colour - skin) > (0.16 * skin[:, :1].mean() + 8, 9, 9)
        if np.mean(other.any(1)) < 0.45:
            return float(depth)
    return 0.0


def _sampled(frame: Frame, points: NDArray[np.floating]) -> Field:
    y, u, v = planes(frame)
    half = (points - 0.5) / 2
    pairs = ((y, points), (u, half), (v, half))
    return np.stack([warped(plane, where[None].astype(np.float32))[0] for plane, where in pairs], 1).astype(np.float32)


def close_lid(lid: Lid, blink: float, places: Field, source: Frame, out: Frame) -> None:
    """Draw the lid, closed by ``blink`` (0 to 1), into ``lid.box`` of ``out``.

    ``places`` (h, w, 2) are the source pixels that the rest of the face shows in the box.
    """
    if lid.lashes.rims is not None:
        blink = min(blink, _BLINK_BEHIND_GLASSES)
    x0, y0, x1, y1 = lid.box
    inverse = np.linalg.inv(np.stack([lid.across, lid.down], 1)).astype(np.float32)
    dx, dy = places[..., 0] - lid.origin[0], places[..., 1] - lid.origin[1]
    u = inverse[0, 0] * dx + inverse[0, 1] * dy
    v = inverse[1, 0] * dx + inverse[1, 1] * dy
    upper, lower, lash = (np.interp(u, _EDGE_U, line).astype(np.float32) for line in (lid.upper, lid.lower, lid.lash))
    opening = np.maximum(lower - upper, 0)
    rise = np.float32(_LOWER_RISE * blink) * opening
    corner = np.clip((1.04 - np.abs(u)) / 0.2, 0, 1)
    edge = upper + np.float32(blink) * (opening - rise + np.float32(_OVERLAP) * corner)
    px = np.float32(np.hypot(*lid.down))
    shown = corner * np.float32(min(1.0, blink / 0.25))

    fold = upper - np.float32(lid.fold)
    within = (places - np.array([x0, y0])).astype(np.float32)
    lid_alpha = np.clip((edge - v) * px + 0.5, 0, 1) * _ramp((v - fold) / np.float32(0.2)) * shown
    if lid.lashes.rims is not None:
        lid_alpha *= 1 - warped(lid.lashes.rims, within)
    height = np.maximum(edge - fold, np.float32(0.05))
    along = np.clip((v - fold) / height, 0, 1)
    tone = 0.97 + 0.03 * np.sin(np.pi * along) - 0.08 * u**2 - 0.08 * _ramp((along - 0.55) / np.float32(0.45))
    line = lash * np.exp(-(((v - edge + 0.02) / np.float32(0.055)) ** 2)) * (1 - 0.5 * np.abs(u) ** 3)
    below_edge = np.clip((v - edge) * px + 0.5, 0, 1)
    hang = line * below_edge * shown * 0.7
    lash_v = upper - (edge - v) / _lash_length(blink)
    lash_places = within + (lash_v - v)[..., None] * lid.down
    strokes = warped(lid.lashes.dark, lash_places.astype(np.float32)) * np.float32(min(1.0, blink / 0.25))

    under = np.maximum(v - lower + rise, 0)
    low_places = places + (rise * np.exp(-((under / np.float32(0.35)) ** 2)))[..., None] * lid.down
    low_alpha = np.clip((v - lower + rise) * px + 0.5, 0, 1) * corner

    # The band of skin below the eye, up and down again for lids taller than it.
    band = np.float32(_GRAIN_BAND)
    grain_v = lower + np.float32(_GRAIN_FROM) + band - np.abs(np.mod(edge - v, 2 * band) - band)
    grain_places = lid.origin + u[..., None] * lid.across + grain_v[..., None] * lid.down
    grain = warped(lid.grain, (grain_places - np.array([x0, y0])).astype(np.float32))
    fold_skin, lid_skin = (_looked_up(colours, u) for colours in (lid.fold_skin, lid.skin))
    blend = _ramp(along / np.float32(0.75))[..., None]
    skin = fold_skin + (lid_skin - fold_skin) * blend
    lid_luma = 16 + (skin[..., 0] - 16) * tone * (1 - line) + 0.8 * np.clip(grain, -14, 14) * (1 - line)

    given, target = planes(source), planes(out)
    view = target.y[y0:y1, x0:x1]
    luma = view.astype(np.float32)
    luma += warped(lid.lashes.bare, within) * np.float32(min(1.0, blink / 0.25))
    luma += (warped(given.y, low_places, cubic=True) - luma) * low_alpha
    luma = 16 + (luma - 16) * (1 - hang)
    luma += (lid_luma - luma) * lid_alpha
    luma = 16 + (luma - 16) * (1 - strokes)
    np.copyto(view, np.clip(luma + 0.5, 0, 255), casting="unsafe")

    _colour(lid, blink, (given, target), (low_places, low_alpha), (skin[..., 1:], lid_alpha), (within, strokes))


def _lash_length(blink: float) -> np.float32:
    """Of the upper lashes as seen from the front: 1 raised, below 0 hanging, never quite 0."""
    turned = np.cos(np.pi * blink)
    return np.float32(max(turned, 0.12) if turned > 0 else min(turned * _TURNED_LASHES, -0.12))


def _colour(
    lid: Lid,
    blink: float,
    frames: tuple[Planes, Planes],
    low: tuple[Field, Field],
    closed: tuple[Field, Field],
    lashes: tuple[Field, Field],
) -> None:
    """U and V of ``close_lid``.

    ``frames`` are source and target; the pairs say where the lower lid is taken from, the lid's colour and where the
    lashes' maps are taken from, each with its alpha, at the Y plane's size.
    """
    x0, y0, x1, y1 = lid.box
    size = ((x1 - x0) // 2, (y1 - y0) // 2)

    def halved(values: Field) -> Field:
        return np.asarray(cv2.resize(values, size, interpolation=cv2.INTER_AREA), np.float32)

    low_places, within = ((halved(places) - np.float32(0.5)) * np.float32(0.5) for places in (low[0], lashes[0]))
    low_alpha, lid_alpha, strokes = (halved(alpha.astype(np.float32)) for alpha in (low[1], closed[1], lashes[1]))
    colour = halved(closed[0])
    source, target = frames
    for channel, bare in enumerate((lid.bare_u, lid.bare_v)):
        view = target[1 + channel][y0 // 2 : y1 // 2, x0 // 2 : x1 // 2]
        value = view.astype(np.float32)
        value += warped(bare, within) * np.float32(min(1.0, blink / 0.25))
        value += (warped(source[1 + channel], low_places) - value) * low_alpha
        value += (colour[..., channel] - value) * lid_alpha
        value += (128 - value) * strokes  # lashes are black in any light
        np.copyto(view, value + 0.5, casting="unsafe")


def _looked_up(colours: Field, u: Field) -> Field:
    """``colours`` at ``_EDGE_U``, between its entries too, for every ``u``: (h, w, 3)."""
    place = np.clip((u - _EDGE_U[0]) * np.float32((len(_EDGE_U) - 1) / np.ptp(_EDGE_U)), 0, len(_EDGE_U) - 1.001)
    index = place.astype(np.int32)
    part = (place - index)[..., None]
    return np.asarray(colours[index] * (1 - part) + colours[index + 1] * part, np.float32)


def _ramp(value: Field) -> Field:
    value = np.clip(value, 0, 1)
    return np.asarray(value * value * (3 - 2 * value), np.float32)
