"""What beside hair stays, as ears and glasses do, and what goes with it, as earrings and stray locks do."""

from __future__ import annotations

from typing import Final

import numpy as np

from models.tryon.wig.clothes_under_hair import palette
from models.tryon.wig.head_frame import HeadFrame, Mask, Matte, disc, grown

_SPECK: Final = 0.012  # squared face widths
_EAR: Final = (0.2, 0.009)  # least height, in face heights, and area beside the face, in squared face widths
_BRIDGE: Final = 38.0  # of 255: how much darker than skin what crosses the nose is


def large(mask: Mask, least_px: float) -> Mask:
    """The mask's parts of at least so many pixels."""
    import cv2

    num, labels, stats, _ = cv2.connectedComponentsWithStats(mask.astype(np.uint8), connectivity=4)
    return np.asarray(np.isin(labels, [i for i in range(1, num) if stats[i, cv2.CC_STAT_AREA] >= least_px]))


def whole_ears(head: HeadFrame, free: Mask, like: Mask) -> Mask:
    """Ears that are seen; not what little of one hair leaves free.

    Args:
        free: Where the person is seen and no hair was found.
        like: Where something is of the skin's hue; at an ear that is its hollow, even if it was taken for hair.
    """
    import cv2

    piece = disc(max(1, round(0.015 * head.width)))
    place = head.ears() & ~head.face() & ~head.skull()
    beside = large(free & place, 0.003 * head.width**2)
    reach = disc(max(1, round(0.1 * head.width)))
    beside = beside | (like & place & (cv2.dilate(beside.astype(np.uint8), reach) > 0))
    calm = cv2.morphologyEx(beside.astype(np.uint8), cv2.MORPH_CLOSE, piece)
    calm = cv2.morphologyEx(calm, cv2.MORPH_OPEN, piece)
    num, labels, stats, _ = cv2.connectedComponentsWithStats(calm)
    sizes = stats[:, cv2.CC_STAT_AREA] / head.width**2
    heights = stats[:, cv2.CC_STAT_HEIGHT] / head.height
    whole = [i for i in range(1, num) if heights[i] > _EAR[0] and sizes[i] > _EAR[1]]
    return np.asarray(np.isin(labels, whole) & (calm > 0))


def with_ears(head: HeadFrame, inside: Mask, ears: Mask) -> Mask:
    """The outline with the ears, and with what hair may have hidden between them and the face."""
    import cv2

    if not ears.any():
        return inside
    reach = disc(max(1, round(0.1 * head.width)))
    both = cv2.morphologyEx((ears | inside).astype(np.uint8), cv2.MORPH_CLOSE, reach) > 0
    return np.asarray(inside | ears | (both & (cv2.dilate(ears.astype(np.uint8), reach, iterations=2) > 0)))


def glasses(rgb: Matte, head: HeadFrame) -> Mask:
    """Round both eyes, when glasses cross the nose between them."""
    import cv2

    (x0, y0), (x1, y1) = head.points[133, :2], head.points[362, :2]
    reach = 0.14 * head.width
    along, down = np.linspace(0.25, 0.75, 9), np.linspace(-reach, reach, 25)
    x = (x0 + along * (x1 - x0))[:, None] + down * head.down[0]
    y = (y0 + along * (y1 - y0))[:, None] + down * head.down[1]
    grey = cv2.GaussianBlur(rgb.mean(2), (0, 0), max(0.5, 0.004 * head.width))
    seen = cv2.remap(grey, x.astype(np.float32), y.astype(np.float32), cv2.INTER_LINEAR)
    crossed = np.median(seen, axis=1) - seen.min(1)
    none = np.zeros(rgb.shape[:2], bool)
    if float(np.percentile(crossed, 20)) < _BRIDGE:
        return none
    return head.round_eyes()


def earrings(rgb: Matte, head: HeadFrame, near_hair: Mask, inside: Mask) -> Mask:
    """Small things below the ears that are unlike all round them: without ears they would float."""
    import cv2

    x, y = head.from_point(np.asarray(head.points[[234, 454], :2].mean(0), np.float32))
    aside = np.abs(x) / head.width
    place = (aside > 0.4) & (aside < 0.85) & (y > 0) & (y < 0.75 * head.height) & ~inside & ~near_hair
    place &= grown(near_hair, 0.3 * head.width)
    step = max(1, round(head.width / 96))
    small = np.ascontiguousarray(np.clip(cv2.blur(rgb, (step, step))[::step, ::step], 0, 255).astype(np.uint8))
    calm = cv2.medianBlur(small, 29)
    apart = cv2.absdiff(small, calm).max(2)
    height, width = place.shape
    apart = cv2.resize(apart, (width, height), interpolation=cv2.INTER_LINEAR)
    num, labels, stats, _ = cv2.connectedComponentsWithStats(((apart > 45) & place).astype(np.uint8))
    area = stats[:, cv2.CC_STAT_AREA] / head.width**2
    touching = set(np.unique(labels[cv2.dilate(inside.astype(np.uint8), disc(2)) > 0]).tolist())
    found = [i for i in range(1, num) if 0.0005 < area[i] < 0.03 and i not in touching]
    whole = cv2.dilate(np.isin(labels, found).astype(np.uint8), disc(max(2, round(0.03 * head.width)))) > 0
    return np.asarray(whole & ~inside)


def adrift(head: HeadFrame, near_hair: Mask, person_matte: Matte, inside: Mask) -> Mask:
    """What hung from hair or ears and hangs on nothing now: earrings, ribbons, ends of locks."""
    import cv2

    rest = (cv2.dilate(person_matte, disc(1)) > 0.12) & ~near_hair & ~inside
    piece = disc(max(1, round(0.02 * head.width)))
    around = grown(near_hair, 0.25 * head.width)
    num, labels, stats, _ = cv2.connectedComponentsWithStats(rest.astype(np.uint8))
    if num < 2:
        return np.zeros_like(near_hair)
    high = stats[:, cv2.CC_STAT_TOP] + stats[:, cv2.CC_STAT_HEIGHT] < head.chin[1] + 0.1 * head.width
    body = cv2.dilate(inside.astype(np.uint8), piece) > 0
    held = np.bincount(labels.ravel(), weights=(body & rest).ravel(), minlength=num)
    area = np.bincount(labels.ravel(), minlength=num).astype(np.float64)
    near = np.bincount(labels.ravel(), weights=(around & rest).ravel(), minlength=num)
    gone = np.flatnonzero((held < 0.15 * area) & (near > 0.2 * area) & (area < 0.2 * head.width**2) & high)
    found = np.isin(labels, gone[gone > 0])
    return np.asarray(cv2.dilate(found.astype(np.uint8), piece) > 0) & ~inside


def loose(head: HeadFrame, near_hair: Mask, person_matte: Matte, inside: Mask, halo: int) -> Mask:
    """What else of the person round the head is no body: strands that the hair mask missed, and their halo."""
    import cv2

    around = grown(near_hair, 5 * halo)
    suspected = cv2.dilate(person_matte, disc(max(1, halo // 2))) > 0.04
    solid_ear = head.ears() & (person_matte > 0.7)
    above = head.below_chin() < np.where(person_matte > 0.7, 0.25, 0.6) * head.width
    return np.asarray(around & suspected & above & ~inside & ~solid_ear)


def strands(rgb: Matte, head: HeadFrame, near_hair: Mask, hair_alpha: Matte, place: Mask) -> Mask:
    """Hair on neck and shoulders that the mask missed: what looks like the hair beside it and like nothing else."""
    import cv2

    _, y = head.from_point(head.chin)
    hanging = (hair_alpha > 0.8) & (y > -1.1 * head.width)
    if hanging.sum() < 0.05 * head.width**2:
        return np.zeros_like(near_hair)
    reach = grown(hanging, 0.55 * head.width)
    face = cv2.erode(head.face().astype(np.uint8), disc(max(1, round(0.12 * head.width)))) > 0
    skin = np.median(rgb[face & ~near_hair], axis=0) if (face & ~near_hair).any() else np.array([190, 150, 130])
    cloth = rgb[place & ~near_hair & ~reach & (y > 0.5 * head.width)]
    others = [skin * shade for shade in (1.1, 0.85, 0.65, 0.5, 0.38)]
    others += list(palette(cloth)) if len(cloth) > 200 else []
    to_hair = np.min([np.linalg.norm(rgb - colour, axis=2) for colour in palette(rgb[hanging])], axis=0)
    to_other = np.min([np.linalg.norm(rgb - colour, axis=2) for colour in others], axis=0)
    like = place & reach & ~near_hair & (to_hair < 40) & (to_hair < 0.7 * to_other)
    like = cv2.morphologyEx(like.astype(np.uint8), cv2.MORPH_CLOSE, disc(max(1, round(0.01 * head.width))))
    _, labels = cv2.connectedComponents(np.maximum(like, near_hair.astype(np.uint8)))
    joined = np.unique(labels[near_hair])
    found = (like > 0) & np.isin(labels, joined[joined > 0])
    return np.asarray((cv2.dilate(found.astype(np.uint8), disc(max(1, round(0.025 * head.width)))) > 0) & place)


def islands(head: HeadFrame, near_hair: Mask, body: Mask) -> Mask:
    """Specks of body all round which there is hair: shadow and skin between locks, of no use alone."""
    import cv2

    num, labels, stats, _ = cv2.connectedComponentsWithStats((body & ~near_hair).astype(np.uint8), connectivity=4)
    small = [i for i in range(1, num) if stats[i, cv2.CC_STAT_AREA] < _SPECK * head.width**2]
    x, y = head.from_point(head.chin)
    return np.asarray(np.isin(labels, small) & (y > -0.3 * head.width) & ~head.ears() & (np.abs(x) < 1.5 * head.width))
