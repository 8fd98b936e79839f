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
_FAINT: Final = 9.0  # deviations: a garment less far from a plain ground is white on white
_WIDE: Final = (14.0, 8.0, 8.0)  # differences of L, a, b that are seen well; more where the garment is darker
_NARROW: Final = (2.5, 8.0, 8.0)
_BLURS: Final = ((0, 0.8), (1, 6.0), (2, 6.0))  # px for L, a, b: JPEG keeps hue in blocks of 16 px
_MIN_THRESHOLD: Final = 2.0
_SHADOW_SLOPE: Final = (2.2, 7.0)  # L per 3 px: on the plain background, inside a shadow
_SHADOW_DEPTH: Final = 50.0
_SHADOW_CHROMA: Final = 3.0
_THREAD: Final = 0.013  # of the garment's height: thinner is a hanger or a cord
_EVEN_SLOPES: Final = (2.0, 1.5, 1.5)  # of L, a, b per 3 px
_LEAK: Final = 0.12  # of the likely garment: more, and the even ground has run into it
_MIN_WALL: Final = 0.01  # of the picture
_HANGER_PX: Final = 28
_MIN_OPENING: Final = 0.001  # of the likely garment
_SAME_WALL: Final = 20.0  # of L, a or b
_DEEP_PX: Final = 12
_DARKEST: Final = 0.25  # of the ground's light: the core of a shadow is not darker
_ROUGH: Final = 2.5  # mean of the Laplacian of L: cloth is rougher than a shadow
_MOST_SHADOW: Final = 0.06  # of the cut: more is grey cloth
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
    if plain:
        lab = _even_chroma(lab)
    distance = border_distance(lab, ring, plain=plain)
    threshold = _threshold(distance)
    shadow = _ground_and_shadow(lab, ground) if plain else np.zeros(ring.shape, np.bool_)
    likely = distance > threshold
    if not plain:
        shadow = _evenly_lit_ground(lab, likely)
    outside = shadow | border(ring.shape, _EDGE)
    depth = 0.6 * float(np.median(np.abs(lab[likely][:, 0] - ground[0]))) if likely.any() else 0.0
    seen = _stretched(lab, ground, (max(_WIDE[0], depth), *_WIDE[1:])) if plain else small
    cut = _grab(seen, likely, outside, _heart(likely, outside) if plain else None)
    if plain:
        cut &= ~_cast_shadow(lab, ground, cut)
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


def snapped(mask: NDArray[np.bool_], light: NDArray[np.float32], reach: int = 9) -> NDArray[np.bool_]:
    """A mask whose outline is drawn to the strongest edge of ``light`` within ``reach`` px, as one smooth curve.

    The offsets along the outline are chosen together by dynamic programming (Amini et al., "Using dynamic programming
    for solving variational problems in vision", 1990).
    """
    import cv2
    from scipy.ndimage import gaussian_filter1d

    smooth = cv2.GaussianBlur(mask.astype(np.float32), (0, 0), 2.0) > 0.5
    contours, _ = cv2.findContours(smooth.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    if not contours:
        return mask
    curve = gaussian_filter1d(max(contours, key=cv2.contourArea)[::2, 0].astype(np.float32), 3, axis=0, mode="wrap")
    along = np.roll(curve, -2, axis=0) - np.roll(curve, 2, axis=0)
    normal = np.stack([-along[:, 1], along[:, 0]], axis=1) / np.maximum(np.hypot(*along.T), 1e-6)[:, None]
    offsets = np.arange(-reach, reach + 1, dtype=np.float32)
    places = curve[:, None] + offsets[None, :, None] * normal[:, None]
    inner, outer = (
        cv2.remap(
            light.astype(np.float32),
            np.ascontiguousarray(places[:, :, 0] + way * normal[:, None, 0], np.float32),
            np.ascontiguousarray(places[:, :, 1] + way * normal[:, None, 1], np.float32),
            cv2.INTER_LINEAR,
        )
        for way in (-1.0, 1.0)
    )
    edge = np.asarray(outer - inner, np.float32)
    # Lighter inside than outside all round, or darker all round: a shadow's outer edge is the other way round.
    edge *= np.sign(edge[:, reach - 2 : reach + 3].sum())
    chosen = _cheapest_path(-np.maximum(edge, 0), 0.02)
    moved = gaussian_filter1d(curve + offsets[chosen][:, None] * normal, 1.0, axis=0, mode="wrap")
    out = np.zeros(mask.shape, np.uint8)
    cv2.fillPoly(out, [np.round(moved * 8).astype(np.int32)], 1, shift=3)
    return np.asarray(out > 0, np.bool_)


def _cheapest_path(cost: NDArray[np.float32], stiffness: float) -> NDArray[np.intp]:
    """One column per row of ``cost``, cheap and with small steps from row to row; the ends meet nearly."""
    count, width = cost.shape
    steps = stiffness * (np.arange(width)[:, None] - np.arange(width)[None]) ** 2
    around = np.concatenate([cost[-count // 8 :], cost, cost[: count // 8]])  # so that the seam is inside
    total, came = np.zeros_like(around), np.zeros(around.shape, np.intp)
    total[0] = around[0]
    for row in range(1, len(around)):
        ways = total[row - 1][None] + steps
        came[row] = ways.argmin(1)
        total[row] = around[row] + ways.min(1)
    path = np.zeros(len(around), np.intp)
    path[-1] = int(total[-1].argmin())
    for row in range(len(around) - 1, 0, -1):
        path[row - 1] = came[row, path[row]]
    start = len(cost[-count // 8 :])
    return path[start : start + count]


def _stretched(
    lab: NDArray[np.float32], ground: NDArray[np.float32], scale: tuple[float, float, float]
) -> NDArray[np.uint8]:
    """Colours about the background's own, differences up to ``scale`` made large: uint8 (h, w, 3)."""
    return np.asarray(np.tanh((lab - ground) / np.asarray(scale, np.float32)) * 127 + 128, np.uint8)


def _cast_shadow(lab: NDArray[np.float32], ground: NDArray[np.float32], cut: NDArray[np.bool_]) -> NDArray[np.bool_]:
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


def _evenly_lit_ground(lab: NDArray[np.float32], likely: NDArray[np.bool_]) -> NDArray[np.bool_]:
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
    import cv2

    rows, columns = np.nonzero(likely)
    added = np.zeros(likely.shape, np.bool_)
    if not len(rows) or not ground.any():
        return added
    top, bottom, left, right = rows.min(), rows.max(), columns.min(), columns.max()
    zone = np.zeros(likely.shape, np.bool_)
    zone[
        : round(top + 0.3 * (bottom - top)), round(left + 0.2 * (right - left)) : round(right - 0.2 * (right - left))
    ] = True
    line = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * _HANGER_PX + 1,) * 2)
    rest = {int(index) for index in np.unique(labels[zone & ~ground])} - {0}
    for _ in range(len(rest)):
        near = cv2.dilate((ground | added).astype(np.uint8), line) > 0
        reached = None
        for index in rest:
            part = labels == index
            if part[~zone].any() or part.sum() < _MIN_OPENING * likely.sum() or not (part & near).any():
                continue
            beside = (ground | added) & (cv2.dilate((part & near).astype(np.uint8), line) > 0)
            if np.abs(np.median(lab[part & near], axis=0) - np.median(lab[beside], axis=0)).max() < _SAME_WALL:
                reached = index
                added |= part
                break
        if reached is None:
            break
        rest.discard(reached)
    return added


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
