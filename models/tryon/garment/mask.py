"""Cuts a garment out of its product photo: studio flats, white on white, and photos taken on a floor or a door.

A mixture of colours seen along the photo's border says what is background, each colour believed only as far from its
part of the border as from the border itself (a dark strip of deck at the bottom does not make a dark vest
background). Soft shadows are reached from outside over gentle slopes of grey. GrabCut (Rother et al., SIGGRAPH 2004)
draws the edge; where the background is plain it sees colours stretched about the background's own, so that white on
white has an edge.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

WORKING_SIDE_PX: Final = 768
_RING: Final = 0.025  # of the long side: what counts as the border
_EDGE: Final = 0.006  # of the long side: surely background
_MIXTURE: Final = 5
_MIN_SHARE: Final = 0.02  # of the border, for a colour of the mixture
_SAMPLES: Final = 6000
_AWAY: Final = 12.0  # units of distance per long side that a colour is away from its own part of the border
_NEAR: Final = 0.06  # of the long side, free of that
_PLAIN_SPREAD: Final = (4.0, 2.5)  # robust deviations of L and of a, b up to which a background is plain
_MIN_THRESHOLD: Final = 2.0
_SHADOW_SLOPE: Final = (2.2, 7.0)  # L per 3 px: on the plain background, inside a shadow
_SHADOW_DEPTH: Final = 50.0
_SHADOW_CHROMA: Final = 3.0
_THREAD: Final = 0.013  # of the garment's height: thinner is a hanger or a cord
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
        parts: Areas of the connected parts that could each be a garment, the largest first, in pixels.
    """

    mask: NDArray[np.bool_]
    plain: bool
    contrast: float
    parts: tuple[int, ...]


def find_garment(rgb: NDArray[np.uint8]) -> GarmentMask:
    """The garment in ``rgb``, uint8 (h, w, 3) upright sRGB; an empty mask where nothing stands out."""
    import cv2

    height, width = rgb.shape[:2]
    scale = min(1.0, WORKING_SIDE_PX / max(height, width))
    size = (max(8, round(width * scale)), max(8, round(height * scale)))
    small = cv2.resize(rgb, size, interpolation=cv2.INTER_AREA) if scale < 1 else np.ascontiguousarray(rgb)
    small = np.asarray(small, np.uint8)
    lab = smoothed_lab(small)
    ring = border(lab.shape[:2], _RING)
    ground = np.median(lab[ring], axis=0)
    spread = 1.48 * np.median(np.abs(lab[ring] - ground), axis=0)
    plain = bool(spread[0] < _PLAIN_SPREAD[0] and spread[1:].max() < _PLAIN_SPREAD[1])
    if plain:
        lab = _even_chroma(lab)
    distance = border_distance(lab, ring, plain=plain)
    threshold = _threshold(distance)
    shadow = _ground_and_shadow(lab, ground) if plain else np.zeros(ring.shape, np.bool_)
    seen = _stretched(lab, ground) if plain else small
    cut = _grab(seen, distance > threshold, shadow | border(ring.shape, _EDGE))
    cleaned, parts = _garment_parts(cut)
    contrast = float(np.median(distance[cleaned])) if cleaned.any() else 0.0
    full = cv2.resize(cleaned.astype(np.float32), (width, height), interpolation=cv2.INTER_LINEAR) > 0.5
    area = (width * height) / (size[0] * size[1])
    return GarmentMask(
        mask=np.asarray(full, np.bool_),
        plain=plain,
        contrast=contrast,
        parts=tuple(round(part * area) for part in parts),
    )


def smoothed_lab(rgb: NDArray[np.uint8]) -> NDArray[np.float32]:
    """CIELAB float32 (h, w, 3), L 0 to 100, with the grain taken out and the edges kept."""
    import cv2

    lab = cv2.cvtColor(np.divide(rgb, 255, dtype=np.float32), cv2.COLOR_RGB2LAB)
    planes = [cv2.bilateralFilter(np.ascontiguousarray(lab[:, :, index]), 7, 6, 3) for index in range(3)]
    return np.asarray(np.dstack(planes), np.float32)


def border(shape: tuple[int, ...], share: float) -> NDArray[np.bool_]:
    """A frame ``share`` of the long side wide, at least 2 px."""
    inside = max(2, int(share * max(shape)))
    frame = np.ones(shape[:2], np.bool_)
    frame[inside:-inside, inside:-inside] = False
    return frame


def border_distance(lab: NDArray[np.float32], ring: NDArray[np.bool_], *, plain: bool) -> NDArray[np.float32]:
    """How far each pixel's colour is from the nearest colour of the border, in deviations, float32 (h, w)."""
    import cv2

    height, width = ring.shape
    rows, columns = np.nonzero(ring)
    picked = np.random.default_rng(0).permutation(len(rows))[:_SAMPLES]
    rows, columns = rows[picked], columns[picked]
    points = np.ascontiguousarray(lab[rows, columns])
    cv2.setRNGSeed(1)
    criteria = (cv2.TERM_CRITERIA_EPS + cv2.TERM_CRITERIA_MAX_ITER, 20, 0.5)
    _, labels, centers = cv2.kmeans(
        points, min(_MIXTURE, len(points)), np.empty((len(points), 1), np.int32), criteria, 2, cv2.KMEANS_PP_CENTERS
    )
    floor = np.diag([2.0, 1.0, 1.0] if plain else [8.0, 3.0, 3.0])
    nearest_border = cv2.distanceTransform((~ring).astype(np.uint8), cv2.DIST_L2, 5)
    distance = np.full(ring.shape, np.inf, np.float32)
    for index, center in enumerate(centers):
        own = labels.ravel() == index
        if own.sum() < max(3, _MIN_SHARE * len(points)):
            continue
        inverse = np.linalg.inv(np.cov(points[own].T) + floor).astype(np.float32)
        difference = lab - center
        squared = np.einsum("hwi,ij,hwj->hw", difference, inverse, difference)
        elsewhere = np.ones(ring.shape, np.uint8)
        elsewhere[rows[own], columns[own]] = 0
        side = max(height, width)
        away = cv2.distanceTransform(elsewhere, cv2.DIST_L2, 5) - nearest_border - _NEAR * side
        color = np.sqrt(np.maximum(squared, 0)) + _AWAY * np.maximum(away, 0) / side
        np.minimum(distance, color, out=distance)
    return distance


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


def _ground_and_shadow(lab: NDArray[np.float32], ground: NDArray[np.float32]) -> NDArray[np.bool_]:
    """What can be reached from the frame over gentle slopes of the background's hue: the ground and soft shadows."""
    import cv2

    light = cv2.GaussianBlur(np.ascontiguousarray(lab[:, :, 0]), (0, 0), 1.0)
    slope = cv2.morphologyEx(light, cv2.MORPH_GRADIENT, np.ones((3, 3), np.uint8))
    lighter = light - ground[0]
    chroma = np.hypot(lab[:, :, 1] - ground[1], lab[:, :, 2] - ground[2])
    gentle = np.where(lighter < -2, _SHADOW_SLOPE[1], _SHADOW_SLOPE[0]) * max(1.0, WORKING_SIDE_PX / max(light.shape))
    passable = (slope < gentle) & (chroma < _SHADOW_CHROMA) & (lighter < 1.2) & (lighter > -_SHADOW_DEPTH)
    _, labels = cv2.connectedComponents(passable.astype(np.uint8), connectivity=4)
    outside = np.unique(labels[border(passable.shape, 0.0) & passable])
    return np.isin(labels, outside[outside > 0])


def _stretched(lab: NDArray[np.float32], ground: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Colours about the background's own, small differences made large: uint8 (h, w, 3)."""
    scale = np.asarray([14, 8, 8], np.float32)
    return np.asarray(np.tanh((lab - ground) / scale) * 127 + 128, np.uint8)


def _grab(
    seen: NDArray[np.uint8], garment: NDArray[np.bool_], background: NDArray[np.bool_], iterations: int = 4
) -> NDArray[np.bool_]:
    import cv2

    state = np.full(garment.shape, cv2.GC_PR_BGD, np.uint8)
    state[garment] = cv2.GC_PR_FGD
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
