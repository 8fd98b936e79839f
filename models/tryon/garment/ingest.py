"""Makes a ``GarmentAsset`` of a product photo."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from models.tryon.garment.asset import MAX_SIDE_PX, GarmentAsset
from models.tryon.garment.category import CHEST, CategoryGuess, contradiction, recognize_category
from models.tryon.garment.edges import soft_edges
from models.tryon.garment.landmarks import HalfTop, SleeveKind, halves_of_top, landmarks_of
from models.tryon.garment.lining import without_lining
from models.tryon.garment.mask import GarmentMask, find_garment
from models.tryon.garment.neck import Neck, find_neck
from models.tryon.garment.notches import Point
from models.tryon.garment.opening import find_opening
from models.tryon.garment.outline import redrawn, without_spikes
from models.tryon.garment.pins import pinned, require_order
from models.tryon.garment.quality import (
    alpha_reasons,
    contradiction_reasons,
    frame_reasons,
    mask_reasons,
    person_reasons,
    shape_reasons,
    sharpness_reasons,
    stance_reasons,
)
from models.tryon.garment.silhouette import SIDE_PX, Silhouette, silhouette_of, tilt_of
from models.video.picture import PictureSource, read_picture
from services.domain.errors import ContentRejected
from services.domain.product import GarmentCategory, ProductView, QualityReason

_MARGIN: Final = 0.04  # of the garment's long side, left free round it


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cutout:
    """The garment upright in its own frame.

    Attributes:
        rgb: uint8 (h, w, 3).
        mask: float32 (h, w), 0 to 1, before matting.
        to_cutout: float64 (2, 3), from pixels of the upright photo to pixels of ``rgb``.
    """

    rgb: NDArray[np.uint8]
    mask: NDArray[np.float32]
    to_cutout: NDArray[np.float64]


def ingest_garment(
    photo: Path,
    *,
    category: GarmentCategory | None = None,
    view: ProductView = ProductView.FRONT,
    pins: Mapping[str, Point] | None = None,
    max_pixels: int = 64_000_000,
    name: str = "the photo",
    check_canceled: Callable[[], None] = lambda: None,
) -> GarmentAsset:
    """The garment in ``photo``.

    Args:
        photo: A picture of one garment, lying, hanging, or already cut out with alpha.
        category: What it is; recognised when None.
        view: The side that is seen.
        pins: Hand-set landmarks as fractions of the upright photo's width and height; they win over found ones.
        max_pixels: Most that the file may hold.
        name: What refusals call the photo.
        check_canceled: Called between the steps of the work; what it raises ends it.

    Raises:
        ContentRejected: ``unsupported_media``, ``unreadable_media``, ``picture_too_large``; the photo cannot be used:
            ``product_empty``, ``product_polarity``, ``product_touches_frame``, ``product_several``,
            ``product_low_resolution``, ``product_blurred``, ``product_wrong_kind``, ``product_upside_down``,
            ``product_back_view``, ``category_unclear``, ``category_contradicted``.
        InvalidRequest: ``pins_unknown``, ``pins_contradictory``.
    """
    picture = read_picture(photo, name, max_pixels=max_pixels)
    if picture is None:
        raise ContentRejected(f'"{name}" is no picture.', code="unsupported_media")
    found, quality = _found(picture)
    _require(quality)
    _require(person_reasons(picture.rgb, found.mask))
    check_canceled()
    cutout = _cut_out(_straight(picture), found.mask if picture.alpha is None else picture.alpha / 255)
    check_canceled()
    if picture.alpha is None:
        cutout, front = _drawn(cutout, found)
        color, coverage = soft_edges(cutout.rgb, front, is_drawn=_needs_drawing(found))
        quality += sharpness_reasons(cutout.rgb, np.asarray(coverage * 255, np.uint8))
    else:
        color, coverage = cutout.rgb, cutout.mask
    alpha = np.asarray(np.clip(coverage, 0, 1) * 255 + 0.5, np.uint8)
    check_canceled()
    shape, scale = _shape(cutout.mask)
    _require(stance_reasons(shape))
    tops = halves_of_top(shape)
    left = (shape.mask.shape[1] - 1 - tops[1].collar[0], tops[1].collar[1])
    neck = find_neck(color, alpha, _scaled(left, scale), _scaled(tops[0].collar, scale))
    guess = _recognized(shape, tops, neck)
    quality += shape_reasons(shape, guess, given=category is not None)
    if category is not None:
        sleeved = all(half.cuff_outer is not None for half in tops)
        leg_pins = any(name.startswith(("crotch", "leg_", "knee_")) for name in pins or {})
        seen = contradiction(category, shape, has_collar=neck.has_collar, sleeved=sleeved, leg_pins=leg_pins)
        quality += contradiction_reasons(category, seen)
    if neck.seems_back and (category or guess.category) in CHEST and view is ProductView.FRONT:
        detail = (
            "The photo seems to show the back, and a preview needs the front. Send a photo of the front; if this is "
            "one, set the pin neck_front where its neckline is lowest."
        )
        quality.append(
            QualityReason(code="product_back_view", detail=detail, blocking="neck_front" not in (pins or {}))
        )
    _require(quality)
    category = category or guess.category
    points, sleeves = landmarks_of(shape, category, back=view is ProductView.BACK)
    landmarks = {name: _scaled(point, scale) for name, point in points.items()}
    inner, open_front = np.zeros(alpha.shape, np.uint8), False
    if category in CHEST and category is not GarmentCategory.OVERALL and view is ProductView.FRONT:
        landmarks["neck_front"] = neck.front
        inner, open_front = _inside(color, alpha, neck, landmarks, category)
    landmarks |= pinned(pins or {}, category, picture.size, cutout.to_cutout)
    require_order(landmarks, pins or {}, back=view is ProductView.BACK)
    if any(name.startswith("cuff_") for name in pins or {}):
        sleeves = SleeveKind.SLEEVED
    return GarmentAsset(
        picture_rgba=np.dstack([color, alpha]),
        category=category,
        view=view,
        sleeves=sleeves,
        landmarks=landmarks,
        outline=np.asarray((shape.outline + 0.5) / scale - 0.5, np.float32),
        inner=np.minimum(inner, alpha),
        open_front=open_front,
        confidence=min(guess.confidence, float(np.clip(shape.symmetry / 0.9, 0, 1))),
        quality=tuple(quality),
    )


def _found(picture: PictureSource) -> tuple[GarmentMask, list[QualityReason]]:
    """Where the garment is: by the picture's own transparency if it has any, else told from its background."""
    if picture.alpha is None:
        found = find_garment(picture.rgb)
        return found, mask_reasons(picture.rgb, found)
    mask = picture.alpha > 127
    found = GarmentMask(mask=mask, plain=True, contrast=np.inf, faint=False, parts=(int(mask.sum()),))
    quality = alpha_reasons(picture.alpha)
    return found, quality or frame_reasons(mask, None)


def _needs_drawing(found: GarmentMask) -> bool:
    return found.faint or not found.plain


def _drawn(cutout: _Cutout, found: GarmentMask) -> tuple[_Cutout, NDArray[np.float32]]:
    """The cutout with an even outline where its mask may be ragged, and the mask of its front alone."""
    if not _needs_drawing(found):
        return cutout, cutout.mask
    front = cutout.mask if found.faint else without_lining(cutout.rgb, cutout.mask)
    whole = replace(cutout, mask=redrawn(cutout.rgb, cutout.mask, faint=found.faint))
    if found.faint:
        return whole, whole.mask
    return whole, np.minimum(whole.mask, redrawn(cutout.rgb, without_spikes(front), faint=False))


def _straight(picture: PictureSource) -> NDArray[np.uint8]:
    """Colours without the white that a transparent picture is laid over."""
    if picture.alpha is None:
        return picture.rgb
    alpha = np.maximum(picture.alpha[:, :, None].astype(np.float32) / 255, 1 / 255)
    straight = (picture.rgb - 255 * (1 - alpha)) / alpha
    return np.asarray(np.clip(straight + 0.5, 0, 255), np.uint8)


def _require(quality: list[QualityReason]) -> None:
    for reason in quality:
        if reason.blocking:
            raise ContentRejected(reason.detail, code=reason.code, param="photo")


def _inside(
    color: NDArray[np.uint8],
    alpha: NDArray[np.uint8],
    neck: Neck,
    landmarks: Mapping[str, Point],
    category: GarmentCategory,
) -> tuple[NDArray[np.uint8], bool]:
    """What of the garment's inside is seen, uint8 (h, w), and whether its front is open."""
    inner = neck.inner(alpha.shape)
    if category not in (GarmentCategory.JACKET, GarmentCategory.SHIRT):
        return inner, False
    chest = abs(landmarks["armpit_left"][0] - landmarks["armpit_right"][0])
    opening = find_opening(color, alpha, top=neck.front, bottom=landmarks["hem_middle"], chest_width=chest)
    return (inner, False) if opening is None else (np.maximum(inner, opening), True)


def _scaled(point: Point, scale: float) -> Point:
    """A point of the silhouette in pixels of the cutout."""
    return (point[0] + 0.5) / scale - 0.5, (point[1] + 0.5) / scale - 0.5


def _recognized(shape: Silhouette, tops: tuple[HalfTop, HalfTop], neck: Neck) -> CategoryGuess:
    right, left = tops
    return recognize_category(
        shape,
        chest_width=right.armpit[0] - (shape.mask.shape[1] - 1 - left.armpit[0]),
        length=(right.hem[1] + left.hem[1] - right.collar[1] - left.collar[1]) / 2,
        has_collar=neck.has_collar,
        sleeved=right.cuff_outer is not None or left.cuff_outer is not None,
    )


def _cut_out(rgb: NDArray[np.uint8], mask: NDArray[Any]) -> _Cutout:
    """The garment turned upright and cropped with a margin, at most ``MAX_SIDE_PX`` long."""
    import cv2

    height, width = mask.shape
    solid = mask > 0.5
    angle = tilt_of(solid)
    matrix = np.asarray(cv2.getRotationMatrix2D(((width - 1) / 2, (height - 1) / 2), angle, 1.0), np.float64)
    rows, columns = np.nonzero(solid)
    turned = matrix[:, :2] @ np.stack([columns, rows]) + matrix[:, 2:]
    low, high = turned.min(1), turned.max(1)
    margin = _MARGIN * float((high - low).max()) + 2
    scale = min(1.0, MAX_SIDE_PX / (float((high - low).max()) + 2 * margin))
    matrix[:, 2] -= low - margin
    matrix *= scale
    size = tuple(int(np.ceil(extent)) for extent in (high - low + 2 * margin) * scale)
    smooth = cv2.INTER_AREA if scale < 0.7 else cv2.INTER_CUBIC
    if scale < 0.7:  # warpAffine has no area filter
        rgb = np.asarray(cv2.GaussianBlur(rgb, (0, 0), 0.4 / scale), np.uint8)
        smooth = cv2.INTER_LINEAR
    picture = cv2.warpAffine(rgb, matrix, size, flags=smooth, borderMode=cv2.BORDER_REPLICATE)
    soft = cv2.warpAffine(mask.astype(np.float32), matrix, size, flags=cv2.INTER_LINEAR)
    return _Cutout(rgb=np.asarray(picture, np.uint8), mask=np.asarray(soft, np.float32), to_cutout=matrix)


def _shape(mask: NDArray[np.float32]) -> tuple[Silhouette, float]:
    """The silhouette at ``SIDE_PX`` and its scale against ``mask``."""
    import cv2

    scale = SIDE_PX / max(mask.shape)
    size = (round(mask.shape[1] * scale), round(mask.shape[0] * scale))
    small = cv2.resize(mask, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR)
    return silhouette_of(small > 0.5), scale
