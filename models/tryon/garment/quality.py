"""What is wrong with a garment's photo, by name."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from models.perception.face import FaceBox
from models.tryon.garment.category import CLEAR, CategoryGuess, has_no_top, is_upside_down
from models.tryon.garment.ground import border, smoothed_lab
from models.tryon.garment.mask import GarmentMask
from models.tryon.garment.silhouette import Silhouette
from services.domain.product import GarmentCategory, QualityReason

if TYPE_CHECKING:
    from models.perception.faces import FaceFinder

_MIN_SHARE: Final = 0.015  # of the picture
_SECOND: Final = 0.22  # of the largest part: as large a second one is a second garment
_UNUSABLE_PX: Final = 150  # of the garment's long side in the photo
_SMALL_PX: Final = 360
_GRAZE: Final = 0.012  # of the frame's length
_CUT: Final = 0.05
_MIN_CONTRAST: Final = 1.2
_ALIKE: Final = 7.0  # LAB
_SOFT_EDGE: Final = 0.012  # of the long side: an edge that takes longer from cloth to background is blurred
_BLURRED_EDGE: Final = 0.028
_FACE_FILLS: Final = 0.3  # of the width of what was cut out: no print of a face is as wide
_FACE_ON_TOP: Final = 0.12  # of its height, in which a neckline is and no print
_LOPSIDED: Final = 0.8  # mirrored overlap


def alpha_reasons(alpha: NDArray[np.uint8]) -> list[QualityReason]:
    """Of a picture that came cut out: nothing there, or all but the garment."""
    solid = alpha > 127
    share = float(solid.mean())
    if share < _MIN_SHARE:
        return [_empty()]
    rim = float(solid[border(solid.shape, 0.0)].mean())
    height, width = solid.shape
    middle = float(solid[height // 4 : -(height // 4) or None, width // 4 : -(width // 4) or None].mean())
    if rim > 0.75 and middle < 0.75:
        detail = "The transparency is the wrong way round: it keeps what is around the garment. Invert it."
        return [QualityReason(code="product_polarity", detail=detail)]
    return []


def mask_reasons(rgb: NDArray[np.uint8], found: GarmentMask) -> list[QualityReason]:
    """Of a mask found in a photo, uint8 (h, w, 3): empty, cut by the frame, several garments, too small."""
    share = float(found.mask.mean())
    if share < _MIN_SHARE:
        return [_empty()]
    reasons = []
    if len(found.parts) > 1 and found.parts[1] > _SECOND * found.parts[0]:
        detail = "The photo shows several things of a garment's size. Take one photo for each garment."
        reasons.append(QualityReason(code="product_several", detail=detail))
    reasons += frame_reasons(found.mask, rgb)
    rows, columns = np.flatnonzero(found.mask.any(1)), np.flatnonzero(found.mask.any(0))
    side = int(max(rows[-1] - rows[0], columns[-1] - columns[0]) + 1)
    if side < _SMALL_PX:
        detail = f"The garment is only {side} px long in the photo; {_SMALL_PX} px or more look sharp."
        reasons.append(QualityReason(code="product_low_resolution", detail=detail, blocking=side < _UNUSABLE_PX))
    if found.contrast < _MIN_CONTRAST:
        detail = "The garment is hardly told from its background. Look at the cutout, or use a contrasting ground."
        reasons.append(QualityReason(code="product_low_contrast", detail=detail, blocking=False))
    return reasons


def frame_reasons(mask: NDArray[np.bool_], rgb: NDArray[np.uint8] | None) -> list[QualityReason]:
    """Whether the frame cuts the garment.

    In a photo the frame's own pixels count as background, so a mask ends just inside it: there the garment is cut where
    the frame's colour is that of the garment beside it and not that of the rest of the frame.
    """
    import cv2

    scale = 256 / max(mask.shape)
    size = (max(8, round(mask.shape[1] * scale)), max(8, round(mask.shape[0] * scale)))
    small = cv2.resize(mask.astype(np.uint8), size, interpolation=cv2.INTER_AREA) > 0
    rim = border(small.shape, 0.012)
    near = cv2.dilate(small.astype(np.uint8), np.ones((9, 9), np.uint8)) > 0
    touching = rim & (near if rgb is not None else small)
    if rgb is not None and touching.any():
        lab = smoothed_lab(np.asarray(cv2.resize(rgb, size, interpolation=cv2.INTER_AREA), np.uint8))
        inner = cv2.erode(small.astype(np.uint8), np.ones((3, 3), np.uint8)) > 0
        ground = lab[rim & ~near]
        for row, column in np.argwhere(touching):
            rows, columns = slice(max(0, row - 10), row + 11), slice(max(0, column - 10), column + 11)
            cloth = lab[rows, columns][inner[rows, columns]]
            own = lab[row, column]
            like_cloth = len(cloth) > 0 and float(np.linalg.norm(cloth - own, axis=1).min()) < _ALIKE
            like_ground = len(ground) > 0 and float(np.linalg.norm(ground - own, axis=1).min()) < _ALIKE
            touching[row, column] = like_cloth and not like_ground
    length = float(touching.sum()) / max(float(rim.sum()), 1.0)
    if length < _GRAZE:
        return []
    detail = f"The photo's frame cuts the garment along {length:.0%} of its length. Take a photo with room around it."
    return [QualityReason(code="product_touches_frame", detail=detail, blocking=length >= _CUT)]


def person_reasons(rgb: NDArray[np.uint8], mask: NDArray[np.bool_]) -> list[QualityReason]:
    """Whether what was cut out of a photo, uint8 (h, w, 3), is a person; a face printed on cloth is none."""
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    width, height = float(columns[-1] - columns[0] + 1), float(rows[-1] - rows[0] + 1)
    for face in _faces(rgb):
        x, y = face.left + face.width / 2, face.top + face.height / 2
        row, column = (int(np.clip(value, 0, size - 1)) for value, size in zip((y, x), mask.shape, strict=True))
        if not mask[max(0, row - 2) : row + 3, max(0, column - 2) : column + 3].any():
            continue
        if face.width > _FACE_FILLS * width:
            detail = "The photo shows a face, not a garment. Send a photo of the garment alone, lying or hanging."
        elif face.top < rows[0] + _FACE_ON_TOP * height:
            detail = "The photo shows a person who wears it. Send a photo of the garment alone, lying or hanging."
        else:
            continue
        return [QualityReason(code="product_wrong_kind", detail=detail)]
    return []


def _faces(rgb: NDArray[np.uint8]) -> list[FaceBox]:
    return _finder().find(rgb)


@cache
def _finder() -> FaceFinder:
    from models.perception.faces import FaceFinder

    return FaceFinder()


def stance_reasons(shape: Silhouette) -> list[QualityReason]:
    """Whether the garment stands on its head, or has no shape of a garment at all."""
    if is_upside_down(shape):
        detail = "The garment is upside down in the photo. Turn the photo by 180 degrees."
        return [QualityReason(code="product_upside_down", detail=detail)]
    if has_no_top(shape):
        detail = "What stands out in the photo has no shape of a garment that lies or hangs upright."
        return [QualityReason(code="category_unclear", detail=detail)]
    return []


def contradiction_reasons(category: GarmentCategory, seen: str | None) -> list[QualityReason]:
    """Of a told category and what ``category.contradiction`` saw that it never has."""
    if seen is None:
        return []
    detail = f"The category was told to be {category}, but the photo shows {seen}. Correct the category or the photo."
    return [QualityReason(code="category_contradicted", detail=detail)]


def shape_reasons(shape: Silhouette, guess: CategoryGuess, *, given: bool) -> list[QualityReason]:
    """Of the outline: a kind that is not clear, a garment that lies crooked."""
    reasons = []
    if not given and guess.confidence < CLEAR:
        detail = f"The garment may be a {guess.category} or a {guess.other}: give its category."
        reasons.append(QualityReason(code="category_unclear", detail=detail))
    if shape.symmetry < _LOPSIDED:
        detail = "The garment's two sides differ much. Lay it flat and straight, or set its points by hand."
        reasons.append(QualityReason(code="product_crooked", detail=detail, blocking=False))
    return reasons


def sharpness_reasons(rgb: NDArray[np.uint8], alpha: NDArray[np.uint8]) -> list[QualityReason]:
    """Whether the photo is blurred, by how slowly its colours change along the cut."""
    import cv2

    light = cv2.cvtColor(rgb, cv2.COLOR_RGB2LAB).astype(np.float32)
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * max(4, round(0.03 * max(alpha.shape))) + 1,) * 2)
    solid = (alpha > 127).astype(np.uint8)
    edge = cv2.morphologyEx(solid, cv2.MORPH_GRADIENT, np.ones((3, 3), np.uint8)) > 0
    rows, columns = np.nonzero(edge)
    step = max(1, len(rows) // 1500)
    rows, columns = rows[::step], columns[::step]
    range_at, slope_at = np.zeros(len(rows)), np.zeros(len(rows))
    for index in range(3):
        plane = np.ascontiguousarray(light[:, :, index])
        spread = cv2.dilate(plane, disc) - cv2.erode(plane, disc)
        slope = cv2.morphologyEx(plane, cv2.MORPH_GRADIENT, np.ones((3, 3), np.uint8)) / 2
        steepest = cv2.dilate(slope, np.ones((9, 9), np.uint8))
        better = spread[rows, columns] > range_at
        range_at = np.where(better, spread[rows, columns], range_at)
        slope_at = np.where(better, steepest[rows, columns], slope_at)
    clear = range_at > 25
    if clear.sum() < 50:
        return []
    width = float(np.median(range_at[clear] / np.maximum(slope_at[clear], 0.5))) / max(alpha.shape)
    if width < _SOFT_EDGE:
        return []
    detail = "The photo is blurred: its edges are soft. Use a sharp photo."
    return [QualityReason(code="product_blurred", detail=detail, blocking=width >= _BLURRED_EDGE)]


def _empty() -> QualityReason:
    detail = "No garment stands out from the background. Lay it on an even, contrasting ground."
    return QualityReason(code="product_empty", detail=detail)
