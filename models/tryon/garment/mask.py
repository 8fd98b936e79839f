"""Cuts a garment out of its product photo: studio flats, white on white, and photos taken on a floor or a door.

Colours of the photo's border say what is background (``ground``). GrabCut (Rother et al., SIGGRAPH 2004)
draws the edge; where the background is plain it sees colours stretched about the background's own, so that white on
white has an edge.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.tryon.garment.ground import (
    WORKING_SIDE_PX,
    border,
    border_distance,
    cast_shadow,
    evenly_lit_ground,
    ground_and_shadow,
    smoothed_lab,
)
from models.tryon.garment.snapping import snapped

_RING: Final = 0.025  # of the long side: what counts as the border
_EDGE: Final = 0.006  # of the long side: surely background
_PLAIN_SPREAD: Final = (4.0, 2.5)  # robust deviations of L and of a, b up to which a background is plain
_FAINT: Final = 9.0  # deviations: a garment less far from a plain ground is white on white
_WIDE: Final = (14.0, 8.0, 8.0)  # differences of L, a, b that are seen well; more where the garment is darker
_NARROW: Final = (2.5, 8.0, 8.0)
_BLURS: Final = ((0, 0.8), (1, 6.0), (2, 6.0))  # px for L, a, b: JPEG keeps hue in blocks of 16 px
_MIN_THRESHOLD: Final = 2.0
_THREAD: Final = 0.013  # of the garment's height: thinner is a hanger or a cord
_DEEP_PX: Final = 12
_GROUND: Final = 3.0  # LAB distance to a plain ground's colour, of what is ground
_CUT_OFF: Final = 25.0  # LAB distance to a plain ground; its own shades and vignettes are nearer
_KEPT_HOLE: Final = 0.004  # of the garment: smaller ones are studs, buttons and labels
_KEPT_PART: Final = 0.04  # of the largest part: smaller ones are dirt


@dataclass(frozen=True, slots=True, kw_only=True)
class GarmentMask:
    """Which pixels of a photo show the garment.

    Attributes:
        mask: bool (h, w) at the size of the picture given.
        plain: Whether the background is one even colour, as in a studio.
        contrast: How far the garment's typical colour is from the nearest background colour, in deviations; below
            about 2 the mask is a guess.
        faint: Whether the garment is nearly of the background's colour, as white on white.
        parts: Areas of the connected parts that could each be a garment, the largest first, in pixels.
    """

    mask: NDArray[np.bool_]
    plain: bool
    contrast: float
    faint: bool
    parts: tuple[int, ...]


def find_garment(rgb: NDArray[np.uint8]) -> GarmentMask:
    """The garment in ``rgb``, uint8 (h, w, 3) upright sRGB; an empty mask where nothing stands out."""
    import cv2

    height, width = rgb.shape[:2]
    scale = WORKING_SIDE_PX / max(height, width)
    size = (max(8, round(width * scale)), max(8, round(height * scale)))
    small = np.asarray(cv2.resize(rgb, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC), np.uint8)
    lab = smoothed_lab(small)
    ring = border(lab.shape[:2], _RING)
    ground = np.median(lab[ring], axis=0)
    spread = 1.48 * np.median(np.abs(lab[ring] - ground), axis=0)
    plain = bool(spread[0] < _PLAIN_SPREAD[0] and spread[1:].max() < _PLAIN_SPREAD[1])
    like_ground = np.linalg.norm(lab - ground, axis=2) < _GROUND
    frame = border(ring.shape, _EDGE)
    if plain:
        # What stands out from a plain ground at the frame itself is a garment that the frame cuts.
        cut_off = np.linalg.norm(lab - ground, axis=2) > _CUT_OFF
        ring, frame = ring & ~cut_off, frame & ~cut_off
        lab = _even_chroma(lab)
    distance = border_distance(lab, ring, plain=plain)
    threshold = _threshold(distance)
    shadow = ground_and_shadow(lab, ground) if plain else np.zeros(ring.shape, np.bool_)
    likely = distance > threshold
    if not plain:
        shadow = evenly_lit_ground(lab, likely)
    outside = shadow | frame
    if plain:
        outside |= _slits(like_ground, outside)
    depth = 0.6 * float(np.median(np.abs(lab[likely][:, 0] - ground[0]))) if likely.any() else 0.0
    seen = _stretched(lab, ground, (max(_WIDE[0], depth), *_WIDE[1:])) if plain else small
    cut = _grab(seen, likely, outside, _heart(likely, outside) if plain else None)
    if plain:
        cut &= ~cast_shadow(lab, ground, cut)
    cleaned, parts = _garment_parts(cut)
    contrast = float(np.median(distance[cleaned])) if cleaned.any() else 0.0
    faint = plain and 0 < contrast < _FAINT
    if faint:
        cleaned, parts = _garment_parts(_faint(small, lab, ground, outside))
    full = cv2.resize(cleaned.astype(np.float32), (width, height), interpolation=cv2.INTER_LINEAR) > 0.5
    area = (width * height) / (size[0] * size[1])
    return GarmentMask(
        mask=np.asarray(full, np.bool_),
        plain=plain,
        contrast=contrast,
        faint=faint,
        parts=tuple(round(part * area) for part in parts),
    )


def _even_chroma(lab: NDArray[np.float32]) -> NDArray[np.float32]:
    """Chroma without JPEG's coarse steps: on near white they are as high as the garment's own contrast."""
    import cv2

    lab = lab.copy()
    for index in (1, 2):
        plane = np.ascontiguousarray(lab[:, :, index])
        lab[:, :, index] = cv2.bilateralFilter(cv2.GaussianBlur(plane, (0, 0), 2.0), 0, 3, 5)
    return lab


def _threshold(distance: NDArray[np.float32]) -> float:
    """Otsu's split, a little towards the background, never within the background's own noise."""
    import cv2

    levels = np.clip(distance * 12, 0, 255).astype(np.uint8)
    split, _ = cv2.threshold(levels, 0, 255, cv2.THRESH_BINARY + cv2.THRESH_OTSU)
    return max(0.7 * split / 12, _MIN_THRESHOLD)


def _faint(
    rgb: NDArray[np.uint8], lab: NDArray[np.float32], ground: NDArray[np.float32], outside: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """White on white: a hue of one step, evened over JPEG's blocks, says where; brightness alone draws the edge."""
    import cv2

    raw = cv2.cvtColor(np.divide(rgb, 255, dtype=np.float32), cv2.COLOR_RGB2LAB)
    planes = [cv2.GaussianBlur(np.ascontiguousarray(raw[:, :, index]), (0, 0), width) for index, width in _BLURS]
    seen = np.asarray(np.dstack(planes), np.float32)
    lighter = seen[:, :, 0] - ground[0]
    hue = np.hypot(seen[:, :, 1] - ground[1], seen[:, :, 2] - ground[2])
    shaded = outside & (lab[:, :, 0] < ground[0] - 3)
    evidence = hue / 1.5 + np.maximum(lighter - 0.7, 0)
    sure = shaded | border(outside.shape, _EDGE) | (outside & (hue < 0.6) & (lighter < 0.7))
    cut, _ = _garment_parts(_grab(_stretched(seen, ground, _NARROW), evidence > 1, sure))
    light = np.tanh(lighter / _NARROW[0])
    return snapped(snapped(cut, light), light, reach=5)


def _stretched(
    lab: NDArray[np.float32], ground: NDArray[np.float32], scale: tuple[float, float, float]
) -> NDArray[np.uint8]:
    """Colours about the background's own, differences up to ``scale`` made large: uint8 (h, w, 3)."""
    return np.asarray(np.tanh((lab - ground) / np.asarray(scale, np.float32)) * 127 + 128, np.uint8)


def _slits(like_ground: NDArray[np.bool_], outside: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Ground between two edges too near each other for a gentle slope: below an armpit, between the legs."""
    import cv2

    _, labels = cv2.connectedComponents((like_ground | outside).astype(np.uint8), connectivity=4)
    joined = np.unique(labels[outside])
    return np.isin(labels, joined[joined > 0])


def _heart(likely: NDArray[np.bool_], outside: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """What lies well inside: white prints on a dark garment are no background."""
    import cv2

    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (7, 7))
    closed = cv2.morphologyEx((likely & ~outside).astype(np.uint8), cv2.MORPH_CLOSE, disc)
    inside = cv2.erode(closed, cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (_DEEP_PX * 2 + 1,) * 2))
    return np.asarray((inside > 0) & ~outside, np.bool_)


def _grab(
    seen: NDArray[np.uint8],
    garment: NDArray[np.bool_],
    background: NDArray[np.bool_],
    heart: NDArray[np.bool_] | None = None,
    iterations: int = 4,
) -> NDArray[np.bool_]:
    import cv2

    state = np.full(garment.shape, cv2.GC_PR_BGD, np.uint8)
    state[garment] = cv2.GC_PR_FGD
    if heart is not None:
        state[heart] = cv2.GC_FGD
    state[background] = cv2.GC_BGD
    if not (state == cv2.GC_PR_FGD).any():
        return np.zeros(garment.shape, np.bool_)
    cv2.setRNGSeed(1)
    ground, cloth = np.zeros((1, 65)), np.zeros((1, 65))
    picture = np.ascontiguousarray(seen)
    cv2.grabCut(picture, state, None, ground, cloth, iterations, cv2.GC_INIT_WITH_MASK)  # type: ignore[call-overload]
    return np.asarray((state == cv2.GC_FGD) | (state == cv2.GC_PR_FGD), np.bool_)


def _without_threads(garment: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Without long thin things that stick out, as a hanger's hook and a cord do; ends of detail are kept."""
    import cv2

    rows = np.flatnonzero(garment.any(1))
    width = max(3, round(_THREAD * (rows[-1] - rows[0])) | 1)
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (width, width))
    body = cv2.morphologyEx(garment.astype(np.uint8), cv2.MORPH_OPEN, disc)
    count, labels, stats, _ = cv2.connectedComponentsWithStats(body, connectivity=8)
    if count < 2:
        return garment
    main = (labels == 1 + int(np.argmax(stats[1:, cv2.CC_STAT_AREA]))).astype(np.uint8)
    return garment & (cv2.dilate(main, cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * width - 1,) * 2)) > 0)


def _garment_parts(cut: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], tuple[int, ...]]:
    """The largest part, with its small holes filled, and the areas of all parts of a garment's size."""
    import cv2

    thin = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (3, 3))
    opened = cv2.morphologyEx(cut.astype(np.uint8), cv2.MORPH_OPEN, thin)
    count, labels, stats, _ = cv2.connectedComponentsWithStats(opened, connectivity=8)
    if count < 2:
        return np.zeros(cut.shape, np.bool_), ()
    areas = stats[1:, cv2.CC_STAT_AREA]
    order = np.argsort(-areas)
    parts = tuple(int(areas[index]) for index in order if areas[index] >= _KEPT_PART * areas[order[0]])
    garment = _without_threads(labels == 1 + order[0])
    count, holes, stats, _ = cv2.connectedComponentsWithStats((~garment).astype(np.uint8), connectivity=4)
    outside = set(np.unique(holes[border(cut.shape, 0.0)]).tolist())
    for index in range(1, count):
        if index not in outside and stats[index, cv2.CC_STAT_AREA] < _KEPT_HOLE * parts[0]:
            garment |= holes == index
    return garment, parts
