"""Which of the old clothes must go when something else is put on, and which of them stay in view beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.tryon.garment.figure import Side, usable_arm
from models.tryon.garment.warp import Mask, Points
from models.tryon.garment.wearer import Wearer, capsule, without_scraps
from services.domain.product import GarmentCategory

EDGE: Final = 0.05  # of the span: so wide is what is made anew about the edge of old cloth on skin
FRINGE_PX: Final = 3  # how far the colour of old cloth bleeds over its edge
LEGS: Final = (GarmentCategory.SKIRT, GarmentCategory.TROUSERS, GarmentCategory.OVERALL)
_HAND_BESIDE: Final = 0.16  # of the span: twice how far cloth beside a hand may be unclear


def replaced(wearer: Wearer, category: GarmentCategory, *, sleeved: bool) -> Mask:
    """The clothes that a garment of the category takes the place of."""
    if category is GarmentCategory.DRESS:
        return without_scraps(wearer.clothes)
    if category in LEGS:
        return without_scraps(wearer.lower)
    if category is GarmentCategory.JACKET and not sleeved:
        return np.zeros_like(wearer.upper)  # a vest goes over what is worn, sleeves and all
    if category is GarmentCategory.JACKET:
        zone = np.zeros(wearer.person.shape, np.uint8)
        for side in Side:
            arm = usable_arm(wearer.figure.arms[side], wearer.figure, side)
            zone |= capsule(zone.shape, arm.joints, 0.24 * wearer.figure.span)
        return np.asarray(wearer.upper * zone, np.float32)
    return wearer.upper


def with_rim(wearer: Wearer) -> Mask:
    """The lower clothes, and about the hips what lies between them and a hand: too narrow to be told, but no sleeve."""
    import cv2

    figure = wearer.figure
    size = max(3, round(_HAND_BESIDE * figure.span) | 1)
    top = float(figure.place(np.array([[0.0, 0.75 * figure.torso_length]], np.float32))[0, 1])
    end = float(figure.place(np.array([[0.0, 1.5 * figure.torso_length]], np.float32))[0, 1])
    part = np.s_[max(0, round(top)) : max(0, round(end))]
    out = wearer.lower.copy()
    if out[part].size:
        grown = cv2.dilate(wearer.lower[part], cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size)))
        out[part] = grown * (1 - wearer.upper[part])
    return out


def over_edge(need: Mask, covered: Mask, wearer: Wearer) -> Mask:
    """``need`` and a little of the real skin beside it: seams, shadows and trims lie along the edge of old cloth."""
    import cv2

    size = max(2 * FRINGE_PX + 1, round(EDGE * wearer.figure.span) | 1)
    grown = cv2.GaussianBlur(cv2.dilate(need, np.ones((size, size), np.uint8)), (0, 0), max(0.8, size / 6))
    return np.asarray(np.maximum(need, grown * (1 - covered) * np.clip(2 * wearer.skin, 0, 1)), np.float32)


def between_seams(wearer: Wearer, seams: Mapping[Side, Points]) -> Mask:
    """1 between the shoulder seams: what a sleeve leaves free beyond its own is no bare shoulder."""
    figure = wearer.figure
    height, width = wearer.person.shape
    y, x = np.ogrid[0:height, 0:width]
    aside = (x - figure.origin[0]) * figure.across[0] + (y - figure.origin[1]) * figure.across[1]
    out = np.ones((height, width), np.float32)
    for side, sign in ((Side.LEFT, 1.0), (Side.RIGHT, -1.0)):
        if side in seams:
            limit = sign * float(figure.locate(seams[side][:1])[0, 0]) - 0.06 * figure.span
            out *= np.clip((limit - sign * aside) / (0.03 * figure.span) + 0.5, 0, 1).astype(np.float32)
    return out


def above_waist(wearer: Wearer, need: Mask, covered: Mask) -> NDArray[np.bool_]:
    """Old cloth above the new waistband: what is worn above goes on there."""
    solid = covered > 0.5
    columns = solid.any(0)
    first = np.where(columns, solid.argmax(0), 0)
    rows = np.arange(len(need))[:, None]
    top = float(wearer.figure.place(np.array([[0.0, 0.6 * wearer.figure.torso_length]], np.float32))[0, 1])
    near = (rows >= top) & (rows <= first + 2) & columns
    return np.asarray(near & (need > 0.02) & (wearer.person > 0.5), np.bool_)


def below_hem(wearer: Wearer, need: Mask, old: Mask, covered: Mask) -> NDArray[np.bool_]:
    """The old top's lower end, over the garment below it: within that garment's width, under the new hem."""
    figure = wearer.figure
    zone = np.zeros(need.shape, bool)
    lower = wearer.lower > 0.5
    rows = np.nonzero(lower.sum(1) > 0.3 * figure.span)[0]
    if not len(rows):
        return zone
    top = rows[0]
    reference = lower[min(top + int(0.2 * figure.span), len(lower) - 1)]
    columns = np.nonzero(reference)[0]
    if not len(columns):
        return zone
    waist = max(0.0, float(figure.place(np.array([[0.0, 0.7 * figure.torso_length]], np.float32))[0, 1]))
    solid = covered[:, columns[0] : columns[-1] + 1] > 0.5
    ends = len(solid) - 1 - solid[::-1].argmax(0)[solid.any(0)]
    if len(ends):  # between arm and new hem there is background
        waist = max(waist, float(np.percentile(ends, 20)) - 0.04 * figure.span)
    zone[int(waist) : top + int(0.3 * figure.span), columns[0] : columns[-1] + 1] = True
    return zone & (need > 0.02) & (old > 0.02)
