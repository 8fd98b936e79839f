"""What a product photo shows besides the product: the ground it lies on, a wall, a hanger, soft shadows.

A mixture of colours seen along the photo's border says what is background, each colour believed only as far from its
part of the border as from the border itself: a dark strip of deck at the bottom does not make a dark vest background.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

WORKING_SIDE_PX: Final = 768
_EDGE: Final = 0.006  # of the long side: surely background
_MIXTURE: Final = 5
_MIN_SHARE: Final = 0.02  # of the border, for a colour of the mixture
_SAMPLES: Final = 6000
_AWAY: Final = 12.0  # units of distance per long side that a colour is away from its own part of the border
_NEAR: Final = 0.06  # of the long side, free of that
_SHADOW_SLOPE: Final = (2.2, 7.0)  # L per 3 px: on the plain background, inside a shadow
_SHADOW_DEPTH: Final = 50.0
_SHADOW_CHROMA: Final = 3.0
_EVEN_SLOPES: Final = (2.0, 1.5, 1.5)  # of L, a, b per 3 px
_LEAK: Final = 0.12  # of the likely garment: more, and the even ground has run into it
_MIN_WALL: Final = 0.01  # of the picture
_HANGER_PX: Final = 28
_MIN_OPENING: Final = 0.001  # of the likely garment
_SAME_WALL: Final = 20.0  # of L, a or b
_DARKEST: Final = 0.25  # of the ground's light: the core of a shadow is not darker
_ROUGH: Final = 2.5  # mean of the Laplacian of L: cloth is rougher than a shadow
_MOST_SHADOW: Final = 0.06  # of the cut: more is grey cloth


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


def ground_and_shadow(lab: NDArray[np.float32], ground: NDArray[np.float32]) -> NDArray[np.bool_]:
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


def cast_shadow(lab: NDArray[np.float32], ground: NDArray[np.float32], cut: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The dark core of a shadow at a cut's rim: the background's hue, smooth, of a light the cloth itself has not."""
    import cv2

    heart = cv2.erode(cut.astype(np.uint8), np.ones((25, 25), np.uint8)) > 0
    if heart.sum() < 100:
        return np.zeros(cut.shape, np.bool_)
    samples = lab[heart][:: max(1, int(heart.sum()) // 4000)]
    darker = (lab[:, :, 0] < ground[0] - 3) & (lab[:, :, 0] > _DARKEST * ground[0])
    hue = np.hypot(lab[:, :, 1] - ground[1], lab[:, :, 2] - ground[2]) < _SHADOW_CHROMA + 1
    light = np.ascontiguousarray(lab[:, :, 0])
    rough = cv2.GaussianBlur(np.abs(cv2.Laplacian(light, cv2.CV_32F)), (0, 0), 2.0)
    possible = cut & darker & hue & (rough < _ROUGH)
    # Against the cloth's own colours: grey cloth keeps its rim.
    bins = np.histogramdd(samples, bins=(20, 16, 16), range=((0, 100), (-64, 64), (-64, 64)))[0]
    common = cv2.dilate((bins > 0.004 * len(samples)).astype(np.uint8).reshape(20, -1), np.ones((3, 1), np.uint8))
    common = common.reshape(bins.shape)
    at = np.clip(((lab - (0, -64, -64)) / (5, 8, 8)).astype(int), 0, (19, 15, 15))
    possible &= common[at[:, :, 0], at[:, :, 1], at[:, :, 2]] == 0
    possible = cv2.morphologyEx(possible.astype(np.uint8), cv2.MORPH_OPEN, np.ones((3, 3), np.uint8)) > 0
    _, labels = cv2.connectedComponents(possible.astype(np.uint8), connectivity=8)
    rim = possible & (cv2.dilate((~cut).astype(np.uint8), np.ones((5, 5), np.uint8)) > 0)
    joined = np.unique(labels[rim])
    shadow = np.isin(labels, joined[joined > 0])
    if shadow.sum() > _MOST_SHADOW * cut.sum():
        return np.zeros(cut.shape, np.bool_)
    return np.asarray(cv2.dilate(shadow.astype(np.uint8), np.ones((3, 3), np.uint8)) > 0, np.bool_)


def evenly_lit_ground(lab: NDArray[np.float32], likely: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """A wall that grows lighter towards its middle: what even slopes join to the frame, if it leaves the garment be."""
    import cv2

    steep = np.zeros(likely.shape, np.bool_)
    for index, gentle in enumerate(_EVEN_SLOPES):
        plane = cv2.GaussianBlur(np.ascontiguousarray(lab[:, :, index]), (0, 0), 1.0)
        steep |= cv2.morphologyEx(plane, cv2.MORPH_GRADIENT, np.ones((3, 3), np.uint8)) > gentle
    wide = cv2.erode((~steep).astype(np.uint8), np.ones((5, 5), np.uint8))
    _, labels = cv2.connectedComponents(wide, connectivity=4)
    joined = np.unique(labels[border(likely.shape, _EDGE) & (wide > 0)])
    sizes = np.bincount(labels.ravel())
    even = np.isin(labels, [index for index in joined if index and sizes[index] > _MIN_WALL * labels.size])
    even |= _behind_hanger(lab, np.asarray(labels, np.int32), even, likely)
    even = np.asarray(cv2.dilate(even.astype(np.uint8), np.ones((5, 5), np.uint8)) > 0, np.bool_)
    if (even & likely).sum() > _LEAK * likely.sum():
        return np.zeros(likely.shape, np.bool_)
    return even


def _behind_hanger(
    lab: NDArray[np.float32], labels: NDArray[np.int32], ground: NDArray[np.bool_], likely: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """The wall seen through a neck opening, which only a hanger's thin lines part from the wall round the garment."""
    rows, columns = np.nonzero(likely)
    added = np.zeros(likely.shape, np.bool_)
    if not len(rows) or not ground.any():
        return added
    top, bottom, left, right = rows.min(), rows.max(), columns.min(), columns.max()
    zone = np.zeros(likely.shape, np.bool_)
    zone[
        : round(top + 0.3 * (bottom - top)), round(left + 0.2 * (right - left)) : round(right - 0.2 * (right - left))
    ] = True
    inside, everywhere = np.bincount(labels[zone], minlength=int(labels.max()) + 1), np.bincount(labels.ravel())
    least = _MIN_OPENING * float(likely.sum())
    known = {int(index) for index in np.unique(labels[ground])}
    rest = [index for index in np.flatnonzero((inside == everywhere) & (everywhere >= least)) if index not in known]
    found = True
    while found:
        found = False
        wall = ground | added
        near = _away_from(wall) <= _HANGER_PX
        for index in rest:
            part = (labels == index) & near
            if added[labels == index].any() or not part.any():
                continue
            beside = wall & (_away_from(part) <= _HANGER_PX)
            if np.abs(np.median(lab[part], axis=0) - np.median(lab[beside], axis=0)).max() < _SAME_WALL:
                added |= labels == index
                found = True
                break
    return added


def _away_from(mask: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Pixels to the nearest one of ``mask``."""
    import cv2

    return np.asarray(cv2.distanceTransform((~mask).astype(np.uint8), cv2.DIST_L2, 5), np.float32)
