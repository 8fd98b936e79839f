"""Corrects a person's masks by colour: which cloth a pixel belongs to, and hair longer than was looked for."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.tryon.garment.figure import Figure
from models.tryon.garment.warp import Colours, Mask

_SHADES: Final = 3  # of cloth
_HAIR_SHADES: Final = 4
_NEAR: Final = 0.12  # of the span: how far from the lower clothes a pixel may have been taken for the upper ones
_CLEARLY: Final = 7.0  # LAB: nearer by this much to the other cloth
_CLEARLY_BY_HUE: Final = 3.0
_DARKEST: Final = 9.0  # L: below it there is no hue
_EVEN: Final = 0.01  # of the span
_GUESS: Final = 0.06  # of the span: a hem that goes up and down by more is no hem
_ALIKE: Final = 9.0  # LAB distance below which two cloths are one, and where one ends is a guess
_LOCK: Final = 13.0  # LAB distance to a shade of the hair of what may be hair
_APART: Final = 6.0  # LAB: nearer to the hair than to cloth and to skin by this much
_JOINED: Final = 0.4  # of the span: a gap that a ponytail may have to the hair on the head
_LONGEST: Final = 1.5  # of the span below the shoulders
_LEAST: Final = 0.06  # of the span squared
_MOST: Final = 0.6
_SAMPLES: Final = 3000


def told_apart(rgb: NDArray[np.uint8], upper: Mask, lower: Mask, figure: Figure) -> tuple[Mask, Mask]:
    """Upper and lower clothes where each pixel near both belongs to the cloth whose colour it has."""
    import cv2

    size = max(3, round(2 * _NEAR * figure.span) | 1)
    kernel = np.ones((size, size), np.uint8)
    disputed = (upper > 0.3) & (cv2.dilate((lower > 0.5).astype(np.uint8), kernel) > 0)
    rows, columns = np.nonzero(disputed)
    if not len(rows):
        return upper, lower
    deep = np.ones((2 * max(2, round(0.03 * figure.span)) + 1,) * 2, np.uint8)
    sure_lower = cv2.erode((lower > 0.9).astype(np.uint8), deep) > 0
    shades = [_shades(rgb, mask, _SHADES) for mask in ((upper > 0.9) & ~disputed, sure_lower)]
    if any(shade is None for shade in shades):
        return upper, lower
    of_upper, of_lower = (shade for shade in shades if shade is not None)
    if float(_distance(of_lower, of_upper).max()) < _ALIKE:
        upper, lower = _level(upper, lower, figure)
    colour = _lab(rgb[rows, columns])
    share = np.zeros(upper.shape, np.float32)
    share[rows, columns] = _nearer(colour, of_upper, of_lower, _CLEARLY)
    # In the shade of a hand or a hem, hue says more than brightness.
    part = np.s_[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]
    even = cv2.GaussianBlur(np.ascontiguousarray(rgb[part]), (0, 0), max(0.8, _EVEN * figure.span))
    colour = _lab(np.asarray(even[rows - rows.min(), columns - columns.min()], np.uint8))
    by_hue = _nearer(_hue(colour), _hue(of_upper), _hue(of_lower), _CLEARLY_BY_HUE) * (colour[:, 0] > _DARKEST)
    share[rows, columns] = np.maximum(share[rows, columns], by_hue)
    share = np.where(disputed, cv2.medianBlur(share, 5), 0).astype(np.float32)
    return upper * (1 - share), np.maximum(lower, upper * share)


def _nearer(colour: Colours, upper: Colours, lower: Colours, clearly: float) -> NDArray[np.float32]:
    """0 to 1: how surely colours (n, 3) are of the lower cloth, by distance."""
    to_upper, to_lower = _distance(colour, upper), _distance(colour, lower)
    return np.asarray(np.clip((to_upper - to_lower - clearly) / 4 + 0.5, 0, 1), np.float32)


def _hue(lab: Colours) -> Colours:
    """What of a colour stays in the shade: chroma as a share of brightness, of LAB's size."""
    return np.asarray(50 * lab[..., 1:] / (lab[..., :1] + 12), np.float32)


def _level(upper: Mask, lower: Mask, figure: Figure) -> tuple[Mask, Mask]:
    """Clothes that look alike, parted by a level line where the guess has it on average."""
    solid = lower > 0.5
    columns = np.flatnonzero(solid.any(0))
    first = solid[:, columns].argmax(0)
    met = upper[np.maximum(first - 2, 0), columns] > 0.3
    if met.sum() < 0.1 * figure.span:
        return upper, lower
    along = figure.locate(np.stack([columns[met], first[met]], 1).astype(np.float32))
    if float(np.std(along[:, 1])) < _GUESS * figure.span:
        return upper, lower
    height, width = upper.shape
    y, x = np.ogrid[0:height, 0:width]
    down = (x - figure.origin[0]) * figure.down[0] + (y - figure.origin[1]) * figure.down[1]
    below = np.clip(down - float(np.median(along[:, 1])) + 0.5, 0, 1)
    both = np.minimum(upper + lower, 1)
    return np.asarray(both * (1 - below), np.float32), np.asarray(both * below, np.float32)


def with_long_hair(rgb: NDArray[np.uint8], hair: Mask, upper: Mask, skin: Mask, person: Mask, figure: Figure) -> Mask:
    """Hair and the rest of a ponytail or of locks over the clothes, where their colour says so plainly."""
    import cv2

    span = figure.span
    top, bottom = _rows(hair, figure)
    if bottom <= top:
        return hair
    part = np.s_[top:bottom]
    shades = _shades(rgb[part], hair[part] > 0.9, _HAIR_SHADES)
    cloth = _shades(rgb, (upper > 0.9) & (np.arange(len(upper))[:, None] > bottom - 0.5 * span), _SHADES)
    bare = _shades(rgb[part], (skin[part] > 0.9) & (hair[part] < 0.05), _SHADES)
    if shades is None or cloth is None or bare is None:
        return hair
    lab = cv2.GaussianBlur(_lab(rgb[part]), (0, 0), max(0.8, 0.006 * span))
    flat = lab.reshape(-1, 3)
    own = _distance(flat, shades)
    other = np.minimum(_distance(flat, cloth), _distance(flat, bare))
    like = ((own < _LOCK) & (own + _APART < other)).reshape(lab.shape[:2]) & (person[part] > 0.5)
    size = max(3, round(0.06 * span) | 1)
    like_u8 = cv2.morphologyEx(like.astype(np.uint8), cv2.MORPH_CLOSE, np.ones((size, size), np.uint8))
    like_u8 = cv2.morphologyEx(like_u8, cv2.MORPH_OPEN, np.ones((3, 3), np.uint8))
    _, labels, stats, _ = cv2.connectedComponentsWithStats(like_u8, connectivity=8)
    gap = max(3, round(2 * _JOINED * span) | 1)
    joined = np.unique(labels[cv2.dilate((hair[part] > 0.6).astype(np.uint8), np.ones((gap, gap), np.uint8)) > 0])
    new = np.isin(labels, [i for i in joined if i and stats[i, cv2.CC_STAT_AREA] > _LEAST * span**2])
    if not new.any() or (new & (hair[part] < 0.3)).sum() > _MOST * span**2:
        return hair
    out = hair.copy()
    soft = cv2.GaussianBlur(new.astype(np.float32), (0, 0), max(0.7, 0.006 * span))
    out[part] = np.maximum(out[part], soft * person[part])
    return out


def _rows(hair: Mask, figure: Figure) -> tuple[int, int]:
    rows = np.flatnonzero((hair > 0.6).any(1))
    if len(rows) < 8:
        return 0, 0
    return int(rows[0]), int(min(len(hair), figure.origin[1] + _LONGEST * figure.span))


def _lab(rgb: NDArray[np.uint8]) -> Colours:
    import cv2

    picture = np.ascontiguousarray(rgb if rgb.ndim == 3 else rgb[None]).astype(np.float32) / 255
    lab = np.asarray(cv2.cvtColor(picture, cv2.COLOR_RGB2LAB), np.float32)
    return lab if rgb.ndim == 3 else lab[0]


def _shades(rgb: NDArray[np.uint8], mask: NDArray[np.bool_], count: int) -> Colours | None:
    """The ``count`` main colours of ``mask``, LAB (n, 3); those of few pixels left out; None with too few pixels."""
    import cv2

    pixels = rgb[mask]
    if len(pixels) < 200:
        return None
    samples = np.ascontiguousarray(_lab(pixels[:: max(1, len(pixels) // _SAMPLES)]))
    cv2.setRNGSeed(1)
    stop = (cv2.TERM_CRITERIA_EPS + cv2.TERM_CRITERIA_MAX_ITER, 12, 1.0)
    _, labels, centres = cv2.kmeans(samples, count, np.empty(0, np.int32), stop, 2, cv2.KMEANS_PP_CENTERS)
    share = np.bincount(labels.ravel(), minlength=count) / len(samples)
    return np.asarray(centres[share > 0.06], np.float32)


def _distance(colour: Colours, shades: Colours) -> NDArray[np.float32]:
    """To the nearest of ``shades``, LAB (n,)."""
    planes = [np.ascontiguousarray(colour[..., k]) for k in range(colour.shape[-1])]
    nearest: Colours | None = None
    for shade in shades:  # plane by plane: sums over a short last axis are slow
        squared = np.zeros((), np.float32)
        for plane, value in zip(planes, shade, strict=True):
            squared = squared + (plane - value) ** 2
        nearest = squared if nearest is None else np.minimum(nearest, squared)
    return np.sqrt(np.asarray(nearest, np.float32))
