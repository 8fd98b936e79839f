"""Makes a ``GarmentAsset`` of a product photo."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.tryon.garment.asset import MAX_SIDE_PX, GarmentAsset
from models.tryon.garment.category import recognize_category
from models.tryon.garment.edges import soft_edges
from models.tryon.garment.landmarks import halves_of_top, landmarks_of
from models.tryon.garment.mask import find_garment
from models.tryon.garment.notches import Point
from models.tryon.garment.silhouette import SIDE_PX, Silhouette, silhouette_of, tilt_of
from models.video.picture import read_picture
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
) -> GarmentAsset:
    """The garment in ``photo``.

    Args:
        photo: A picture of one garment, lying, hanging, or already cut out with alpha.
        category: What it is; recognised when None.
        view: The side that is seen.
        pins: Hand-set landmarks as fractions of the upright photo's width and height; they win over found ones.
        max_pixels: Most that the file may hold.

    Raises:
        ContentRejected: ``unreadable_media``, ``picture_too_large``, ``product_empty``.
    """
    picture = read_picture(photo, photo.name, max_pixels=max_pixels)
    if picture is None:
        raise ContentRejected(f'"{photo.name}" is no picture.', code="unreadable_media")
    found = find_garment(picture.rgb)
    if not found.mask.any():
        raise ContentRejected(
            f'No garment stands out from the background in "{photo.name}". Lay it on an even, contrasting ground.',
            code="product_empty",
        )
    cutout = _cut_out(picture.rgb, found.mask)
    shape, scale = _shape(cutout.mask)
    right, left = halves_of_top(shape)
    chest = right.armpit[0] - (shape.mask.shape[1] - 1 - left.armpit[0])
    length = (right.hem[1] + left.hem[1] - right.collar[1] - left.collar[1]) / 2
    guess = recognize_category(shape, chest_width=chest, length=length, placket=0.0)
    category = category or guess.category
    points, sleeves = landmarks_of(shape, category, back=view is ProductView.BACK)
    landmarks = {name: ((x + 0.5) / scale - 0.5, (y + 0.5) / scale - 0.5) for name, (x, y) in points.items()}
    outline = (shape.outline + 0.5) / scale - 0.5
    color, coverage = soft_edges(cutout.rgb, cutout.mask, faint=found.faint)
    alpha = np.asarray(coverage * 255 + 0.5, np.uint8)
    quality: tuple[QualityReason, ...] = ()
    return GarmentAsset(
        picture_rgba=np.dstack([color, alpha]),
        category=category,
        view=view,
        sleeves=sleeves,
        landmarks=landmarks,
        outline=np.asarray(outline, np.float32),
        inner=np.zeros(alpha.shape, np.uint8),
        confidence=guess.confidence,
        quality=quality,
    )


def _cut_out(rgb: NDArray[np.uint8], mask: NDArray[np.bool_]) -> _Cutout:
    """The garment turned upright and cropped with a margin, at most ``MAX_SIDE_PX`` long."""
    import cv2

    height, width = mask.shape
    angle = tilt_of(mask)
    matrix = np.asarray(cv2.getRotationMatrix2D(((width - 1) / 2, (height - 1) / 2), angle, 1.0), np.float64)
    rows, columns = np.nonzero(mask)
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
