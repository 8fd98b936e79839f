"""Mends what a product photo cut off: a flat crown, a straight side, locks that end at a shoulder.

Only the hair's own pixels are used, stretched a little towards the missing edge; nothing is painted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.uint8]
Matte = NDArray[np.float32]
Points = NDArray[np.float32]

_SOLID: Final = 128
_MOST: Final = 0.26  # of half the cut: a crown is no higher
_LEAST_SIDE: Final = 0.05  # of half the cut: even a straight side is rounded
_DEPTH: Final = 2.6  # how far in the stretch reaches, in heights of what is missing
_SOFT_CROWN: Final = 0.08  # of half the cut: over it a crown's hairs end
_UNEVEN: Final = 0.03  # of a crown's height, from place to place
_THIN: Final = 0.25  # of half the cut: over it what the frame cut beside the crown thins out
_GLINT: Final = 0.85  # of what is lighter than hair in a crown that was cut
_TIPS: Final = 0.20  # face widths by which locks go on below a shoulder that hid them
_LOCK: Final = 0.05
_TIPS_DEPTH: Final = 0.45


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameCut:
    """A run of the photo's edge that hair touches.

    Attributes:
        edge: ``top``, ``left``, ``right`` or ``bottom``.
        start, end: First and last pixel along the edge, in the cutout.
    """

    edge: str
    start: int
    end: int

    @property
    def length(self) -> int:
        return self.end - self.start + 1


def frame_cuts(alpha: NDArray[np.uint8], edges: frozenset[str]) -> tuple[FrameCut, ...]:
    """What of each of these edges of ``alpha`` (h, w) hair touches: the longest run, on top from end to end."""
    lines = {
        "top": alpha[:2].max(0),
        "bottom": alpha[-2:].max(0),
        "left": alpha[:, :2].max(1),
        "right": alpha[:, -2:].max(1),
    }
    cuts = []
    for edge, line in lines.items():
        if edge not in edges:
            continue
        padded = np.concatenate([[False], line > _SOLID, [False]])
        change = np.flatnonzero(padded[1:] != padded[:-1])
        runs = list(zip(change[::2], change[1::2] - 1, strict=True))
        if runs:
            # Of a crown that is gone two sides are left: they count as one cut from end to end.
            start, end = (runs[0][0], runs[-1][1]) if edge == "top" else max(runs, key=lambda run: run[1] - run[0])
            cuts.append(FrameCut(edge=edge, start=int(start), end=int(end)))
    return tuple(cuts)


def mended(rgba: Picture, points: Points, cuts: tuple[FrameCut, ...]) -> tuple[Picture, Points]:
    """The wig with crown and sides rounded where the frame cut them, and its mesh in the larger picture."""
    for cut in cuts:
        if cut.edge == "bottom":
            continue
        turned = {"top": 0, "left": 3, "right": 1}[cut.edge]
        view = np.ascontiguousarray(np.rot90(rgba, turned))
        height = rgba.shape[0]
        span = (cut.start, cut.end)
        if cut.edge == "left":  # a turn to the right puts the left edge on top, read from below
            span = (height - 1 - cut.end, height - 1 - cut.start)
        view, added = _rounded(view, span, is_side=cut.edge != "top")
        rgba = np.ascontiguousarray(np.rot90(view, -turned))
        shift = {"top": (0, added), "left": (added, 0), "right": (0, 0)}[cut.edge]
        points = points + np.array([*shift, 0], np.float32)
    return rgba, points


def _rounded(rgba: Picture, span: tuple[int, int], *, is_side: bool) -> tuple[Picture, int]:
    """The top edge between the two columns drawn up into an arch; how many rows came on top."""
    start, end = span
    half = (end - start + 1) / 2
    height, width = rgba.shape[:2]
    alpha = rgba[..., 3]
    # The arch goes on as the outline beside the cut comes in.
    rows = max(3, min(height // 3, round(0.6 * half)))
    slopes = []
    for outline in (_first(alpha[:rows]), width - 1 - _first(alpha[:rows, ::-1])):
        run = np.polyfit(np.arange(rows), outline, 1)[0]
        slopes.append(1 / max(abs(float(run)), 0.35))
    arch = min(half * float(np.mean(slopes)) / 2, _MOST * half)
    arch = max(arch, _LEAST_SIDE * half) if is_side else arch
    added = int(np.ceil(arch * (1 if is_side else 1 + 3 * _UNEVEN))) + 2
    columns = np.arange(width)
    u = np.clip((columns - (start + end) / 2) / max(half, 1), -1, 1)
    uneven = 1 if is_side else 1 + _UNEVEN * _smooth_noise(width, 0.12 * half, np.random.default_rng(0))
    lift = (arch * (1 - u**2) * uneven).astype(np.float32)
    depth = min(height * 0.6, max(_DEPTH * arch, 4.0))
    y = np.arange(height + added, dtype=np.float32)[:, None] - added
    inside = (y + lift) / (depth + lift) * depth
    source_y = np.where(y < depth, inside, y).astype(np.float32)
    source_x = np.broadcast_to(columns.astype(np.float32), source_y.shape)
    stretched = _remapped(rgba, np.ascontiguousarray(source_x), source_y)
    above = y < -lift[None] + 1.5
    softened = np.where(lift[None] > 0.5, np.clip((y + lift[None]) / 3, 0, 1), 1)
    if not is_side:
        # Hair ends softly; beside the arch what the frame cut thins out.
        ramp = (
            _SOFT_CROWN + np.minimum(0.8 * np.maximum(np.abs(columns - (start + end) / 2) / half - 1, 0), _THIN)
        ) * half
        softened = np.clip((y + lift[None]) / np.maximum(ramp, 3.0)[None], 0, 1)
        softened = softened * (2 - softened)
    stretched[..., 3] = np.where(above, 0, stretched[..., 3] * softened).astype(np.uint8)
    if not is_side:
        stretched = _without_glints(stretched, added, depth, half)
    return stretched, added


def _without_glints(rgba: Picture, added: int, depth: float, half: float) -> Picture:
    """A crown as dark as the hair below it: between the strands that the frame cut, its own ground was nearest."""
    import cv2

    height = rgba.shape[0]
    band = min(height, added + int(np.ceil(depth)))
    lab = cv2.cvtColor(np.divide(rgba[..., :3], 255, dtype=np.float32), cv2.COLOR_RGB2LAB)
    weight = (rgba[..., 3] > _SOLID).astype(np.float32)
    below = slice(band, min(height, 2 * band))
    if weight[below].sum() < 50:
        return rgba
    hair = np.sort(lab[below, :, 0][weight[below] > 0])
    most = float(hair[int(0.85 * (len(hair) - 1))])
    over = np.maximum(lab[..., 0] - most, 0)
    fade = np.clip((band - np.arange(height, dtype=np.float32)) / max(0.5 * band, 1), 0, 1)[:, None]
    sigma = max(0.7, 0.006 * half)
    excess = cv2.GaussianBlur(np.asarray(over * fade, np.float32), (0, 0), sigma)
    lab[..., 0] -= np.minimum(_GLINT * np.maximum(excess, 0), lab[..., 0])
    out = rgba.copy()
    out[..., :3] = np.clip(np.rint(cv2.cvtColor(lab, cv2.COLOR_LAB2RGB) * 255), 0, 255).astype(np.uint8)
    return out


def tapered(rgba: Picture, points: Points, body: NDArray[np.bool_], generator: np.random.Generator) -> Picture:
    """Locks that end where the photo's own shoulders hid them, with ends of their own.

    Args:
        body: Where the photo shows the body and no hair, (h, w).
    """
    import cv2
    from scipy.ndimage import median_filter

    height, width = rgba.shape[:2]
    face_width = float(np.linalg.norm(points[454, :2] - points[234, :2]))
    solid = rgba[..., 3] > _SOLID
    from_row = int(points[152, 1] - 0.05 * face_width)
    if from_row >= height - 2:
        return rgba
    has = solid[max(from_row, 0) :].any(0)
    bottom = np.where(has, height - 1 - solid[::-1].argmax(0), 0)
    below = np.minimum(bottom + max(2, round(0.035 * face_width)), height - 1)
    columns = np.arange(width)
    # One strand that ends elsewhere than those beside it would be torn off them: locks are stretched as a whole.
    lock = max(3, round(_LOCK * face_width)) | 1
    hidden = median_filter(has & (body[below, columns] | (bottom >= height - 2)), lock) & has
    bottom = median_filter(bottom.astype(np.float32), lock)
    if not hidden.any():
        return rgba
    # Strands of different length: noise as fine as a lock and as fine as a strand, smooth from column to column.
    noise = sum(
        weight * _smooth_noise(width, share * face_width, generator) for share, weight in ((0.06, 0.55), (0.012, 0.45))
    )
    length = np.where(hidden, np.clip(1 + 0.5 * np.asarray(noise), 0.25, 1.9), 0) * _TIPS * face_width
    # Towards the ends of the hidden stretch the added length dwindles: a step would be a notch.
    ramp = cv2.GaussianBlur(hidden.astype(np.float32)[None], (0, 0), max(0.8, 0.03 * face_width))[0]
    length = np.asarray(length * hidden * np.clip(2 * ramp - 1, 0, 1), np.float32)
    depth = _TIPS_DEPTH * face_width
    added = int(np.ceil(length.max())) + 2
    y = np.arange(height + added, dtype=np.float32)[:, None]
    start = bottom[None] - depth
    stretch = np.clip((y - start) / (depth + length[None]), 0, None)
    source_y = np.where((y > start) & (length[None] > 0.3), start + stretch * depth, y).astype(np.float32)
    source_x = np.ascontiguousarray(np.broadcast_to(columns.astype(np.float32), source_y.shape))
    result = _remapped(rgba, source_x, source_y)
    tip = bottom[None] + length[None]
    fade = np.clip((tip - y) / np.maximum(0.8 * length[None], 1), 0, 1)
    fade = np.where(length[None] > 0.3, fade * fade * (3 - 2 * fade), 1)
    result[..., 3] = np.rint(result[..., 3] * fade).astype(np.uint8)
    return result


def _smooth_noise(length: int, sigma: float, generator: np.random.Generator) -> Matte:
    import cv2

    noise = cv2.GaussianBlur(generator.standard_normal((1, length)).astype(np.float32), (0, 0), max(sigma, 0.6))[0]
    return np.asarray(noise / max(float(noise.std()), 1e-6), np.float32)


def _first(alpha: NDArray[np.uint8]) -> NDArray[np.int64]:
    """The first solid column of each row; the middle where a row has none."""
    solid = alpha > _SOLID
    return np.asarray(np.where(solid.any(1), solid.argmax(1), alpha.shape[1] // 2), np.int64)


def _remapped(rgba: Picture, x: Matte, y: Matte) -> Picture:
    import cv2

    alpha = rgba[..., 3:].astype(np.float32)
    premultiplied = np.dstack([rgba[..., :3] * (alpha / 255), alpha]).astype(np.float32)
    moved = cv2.remap(premultiplied, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT)
    straight = moved[..., :3] * 255 / np.maximum(moved[..., 3:], 1)
    return np.asarray(np.clip(np.rint(np.dstack([straight, moved[..., 3]])), 0, 255), np.uint8)
