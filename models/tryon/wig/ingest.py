"""A product photo becomes a wig: hair on a head, or hair alone on a plain or transparent ground."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.tryon.wig.asset import WigAsset
from models.tryon.wig.cutout import against_ground, cut_out, trimap
from models.tryon.wig.exposure import developed, developed_hair, is_dark, lifted
from models.tryon.wig.facing import facing
from models.tryon.wig.light import FaceLight, face_light
from models.tryon.wig.mending import frame_cuts, mended, tapered
from models.tryon.wig.pins import head_of_outline, pinned
from models.tryon.wig.quality import (
    emptiness,
    frame_reasons,
    kind_reasons,
    place_reasons,
    sharpness_reasons,
    skin_reasons,
    stance_reasons,
)
from models.tryon.wig.seeing import find_head
from models.tryon.wig.tidying import tidied, without_flecks
from models.video.picture import PictureSource, read_picture
from services.domain.errors import ContentRejected
from services.domain.product import ProductView, QualityReason

Picture = NDArray[np.uint8]
Matte = NDArray[np.float32]
Points = NDArray[np.float32]

_WORKING_PX: Final = 900  # long side of what is matted: closed-form matting grows faster than the picture
_FRAME: Final = 0.06  # of the long side: wider ones are a ground
_MARGIN: Final = 0.3  # face widths of ground kept around the hair
_GROUND_NEAR: Final = 7.0  # Delta E from the ground's colour: certainly ground, certainly hair
_GROUND_FAR: Final = 20.0
_PLAIN: Final = 9.0  # spread of a ground's colour, Delta E


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cutout:
    """The hair of a photo in a crop of it."""

    rgba: Picture
    picture_rgb: Picture
    points: Points
    edges: frozenset[str]  # of the crop that are edges of the photo
    body: NDArray[np.bool_]
    light: FaceLight | None
    confidence: float


def ingest_wig(
    photo: Path,
    *,
    pins: Mapping[str, tuple[float, float]] | None = None,
    view: ProductView = ProductView.FRONT,
    max_pixels: int = 64_000_000,
    name: str = "the photo",
    check_canceled: Callable[[], None] = lambda: None,
) -> WigAsset:
    """The wig that ``photo`` shows; takes some seconds.

    Args:
        pins: Hand-set points (``pins.PINS``), fractions of the upright photo's width and height.
        check_canceled: Called between the steps of the work; what it raises ends it.

    Raises:
        ContentRejected: The photo cannot be used: ``product_empty``, ``product_polarity``, ``product_touches_frame``,
            ``product_keeps_skin``, ``product_low_resolution``, ``unsupported_media``, ``unreadable_media``,
            ``picture_too_large``, ``product_wrong_kind``, ``product_upside_down``, ``pins_needed``.
        InvalidRequest: ``pins_unknown``, ``pins_contradictory``.
    """
    source = read_picture(photo, name, max_pixels=max_pixels)
    if source is None:
        raise ContentRejected(f'"{name}" is no picture.', code="unsupported_media")
    source, pins = _unframed(source, pins or {})
    check_canceled()
    cutout = _cutout(source, pins, view)
    check_canceled()
    alpha = cutout.rgba[..., 3]
    face_width = float(np.linalg.norm(cutout.points[454, :2] - cutout.points[234, :2]))
    _require(emptiness(alpha, face_width if cutout.light is not None else None))
    is_alone = cutout.light is None and view is ProductView.FRONT
    cuts = frame_cuts(alpha, cutout.edges)
    reasons = [
        *frame_reasons(cuts, face_width),
        *(skin_reasons(cutout.rgba, cutout.picture_rgb, cutout.points) if cutout.light is not None else ()),
        *sharpness_reasons(cutout.rgba, face_width),
    ]
    _require(reasons)
    _require(place_reasons(alpha) if is_alone and len(pins) < 2 else [])
    rgba, points = tapered(cutout.rgba, cutout.points, cutout.body, np.random.default_rng(0)), cutout.points
    rgba, points = mended(rgba, points, cuts)
    if cutout.light is not None and view is ProductView.FRONT:
        rgba, points = facing(rgba, points)
    rgba, points = _tight(rgba, points)
    return WigAsset(
        picture_rgba=rgba,
        landmarks=points,
        light=cutout.light,
        view=view,
        quality=tuple(reasons),
        confidence=cutout.confidence,
        notes=source.notes,
    )


def _unframed(
    source: PictureSource, pins: Mapping[str, tuple[float, float]]
) -> tuple[PictureSource, Mapping[str, tuple[float, float]]]:
    """The photo without an even frame that a shop laid around it: hair that ends at the frame is cut off there."""
    if source.alpha is not None:
        return source, pins
    height, width = source.rgb.shape[:2]
    most = max(2, round(_FRAME * max(height, width)))
    grey = source.rgb.astype(np.int16)

    def depth(lines: NDArray[np.int16]) -> int:
        first = np.median(lines[0], axis=0)
        if float(np.ptp(first)) > 8 or not (first.mean() > 235 or first.mean() < 20):
            return 0
        even = (np.abs(lines[:most] - first).max(2) < 24).mean(1) > 0.97
        stop = int((~even).argmax()) if not even.all() else 0
        return min(stop + 3, most) if stop else 0  # a frame's inner edge is blurred by the photo's compression

    top, bottom = depth(grey), depth(grey[::-1])
    left, right = depth(grey.transpose(1, 0, 2)), depth(grey[:, ::-1].transpose(1, 0, 2))
    # A plain white ground is no frame: it goes on behind the hair, so it has no depth that stops on all sides alike.
    if sum(side > 0 for side in (top, bottom, left, right)) < 3:
        return source, pins
    inner = np.ascontiguousarray(source.rgb[top : height - bottom, left : width - right])
    moved = {
        name: ((x * width - left) / inner.shape[1], (y * height - top) / inner.shape[0])
        for name, (x, y) in pins.items()
    }
    return replace(source, rgb=inner), moved


def _require(reasons: list[QualityReason]) -> None:
    for reason in reasons:
        if reason.blocking:
            raise ContentRejected(reason.detail, code=reason.code, param="photo")


def _cutout(source: PictureSource, pins: Mapping[str, tuple[float, float]], view: ProductView) -> _Cutout:
    _require(stance_reasons(source.rgb))
    dark = source.alpha is None and is_dark(source.rgb)
    alpha = None if source.alpha is None else np.divide(source.alpha, 255, dtype=np.float32)
    seen = find_head(lifted(source.rgb) if dark else source.rgb)
    if seen is None:
        return _without_face(source.rgb, alpha, pins, view)
    width, height = source.size
    points = pinned(seen.points, pins, width, height, is_front=view is ProductView.FRONT)
    assert points is not None
    face_width = float(np.linalg.norm(points[454, :2] - points[234, :2]))
    hair = seen.hair if alpha is None else np.minimum(seen.hair, alpha)
    person = seen.person if alpha is None else np.minimum(seen.person, alpha)
    box = _box(hair > 0.05, points, face_width)
    crop, factor = _cropped(source.rgb, box)
    shape = (crop.shape[1], crop.shape[0])
    hair_here, person_here = _fit(hair, box, shape), _fit(person, box, shape)
    points = _moved(points, box, factor)
    known = trimap(crop, hair_here, person_here, face_width * factor)
    if not (known == 1).any():
        raise ContentRejected("No hair was found in the photo, or next to none.", code="product_empty", param="photo")
    apart = against_ground(crop, (hair_here < 0.02) & (person_here < 0.05))
    rgba = cut_out(crop, known, lambda matte: tidied(matte, crop, apart, points))
    rgba = without_flecks(rgba, apart, face_width * factor)
    if alpha is not None:
        rgba[..., 3] = np.minimum(rgba[..., 3], np.rint(_fit(alpha, box, shape) * 255)).astype(np.uint8)
    if dark:
        rgba, crop = developed_hair(rgba, face_width * factor), developed(crop)
    return _Cutout(
        rgba=rgba,
        picture_rgb=crop,
        points=points,
        edges=_photo_edges(box, width, height),
        body=(person_here > 0.7) & (rgba[..., 3] < 60),
        light=face_light(crop, points),
        confidence=seen.confidence,
    )


def _without_face(
    rgb: Picture, alpha: Matte | None, pins: Mapping[str, tuple[float, float]], view: ProductView
) -> _Cutout:
    """Hair alone: by the file's own transparency, or on a plain ground."""
    height, width = rgb.shape[:2]
    if alpha is None:
        alpha = _off_the_ground(rgb)
        matted = True
    else:
        matted = False
    coarse = np.rint(alpha * 255).astype(np.uint8)
    _require(emptiness(coarse, None))
    _require(kind_reasons(coarse) if view is ProductView.FRONT else [])
    box = _box(alpha > 0.02, None, 0.1 * max(height, width))
    crop, factor = _cropped(rgb, box)
    opacity = _fit(alpha, box, (crop.shape[1], crop.shape[0]))
    if matted:
        known = np.where(opacity > 0.98, 1.0, np.where(opacity > 0.02, 0.5, 0.0))
        try:
            rgba = cut_out(crop, known)
        except ValueError:  # a drawn picture without any noise has no matte that the solver finds, and needs none
            rgba = np.dstack([crop, np.rint(opacity * 255).astype(np.uint8)])
    else:
        # The reader laid it over white: taken out again exactly.
        straight = (crop - 255 * (1 - opacity[..., None])) / np.maximum(opacity[..., None], 1 / 255)
        rgba = np.clip(np.rint(np.dstack([np.clip(straight, 0, 255), opacity * 255])), 0, 255).astype(np.uint8)
    points = pinned(None, pins, width, height, is_front=view is ProductView.FRONT)
    confidence = 0.8
    if points is not None:
        points = _moved(points, box, factor)
    else:
        points, confidence = head_of_outline(rgba[..., 3])
    return _Cutout(
        rgba=rgba,
        picture_rgb=crop,
        points=points,
        edges=_photo_edges(box, width, height),
        body=np.zeros(rgba.shape[:2], np.bool_),
        light=None,
        confidence=confidence,
    )


def _off_the_ground(rgb: Picture) -> Matte:
    """How much a picture on a plain ground differs from it, 0 to 1.

    Raises:
        ContentRejected: ``product_empty`` when the ground is not plain, so that nothing says what the product is.
    """
    import cv2

    lab = cv2.cvtColor(np.divide(rgb, 255, dtype=np.float32), cv2.COLOR_RGB2LAB)
    border = np.concatenate([lab[:3].reshape(-1, 3), lab[:, :3].reshape(-1, 3), lab[:, -3:].reshape(-1, 3)])
    ground = np.median(border, axis=0)
    if float(np.median(np.linalg.norm(border - ground, axis=1))) > _PLAIN:
        raise ContentRejected(
            "The photo shows no face and has no plain or transparent ground, so the wig in it could not be told. "
            "Use a photo of the wig on a head or on a plain ground.",
            code="product_empty",
            param="photo",
        )
    distance = np.linalg.norm(lab - ground, axis=2)
    return np.asarray(np.clip((distance - _GROUND_NEAR) / (_GROUND_FAR - _GROUND_NEAR), 0, 1), np.float32)


def _box(hair: NDArray[np.bool_], points: Points | None, face_width: float) -> tuple[int, int, int, int]:
    """Left, top, right, bottom of hair and face with some ground around."""
    height, width = hair.shape
    rows, columns = np.flatnonzero(hair.any(1)), np.flatnonzero(hair.any(0))
    if not len(rows):
        rows, columns = np.array([0, height - 1]), np.array([0, width - 1])
    low, high = np.array([columns[0], rows[0]], float), np.array([columns[-1], rows[-1]], float)
    if points is not None:
        low, high = np.minimum(low, points[:, :2].min(0)), np.maximum(high, points[:, :2].max(0))
    margin = _MARGIN * face_width
    left, top = np.maximum(np.floor(low - margin), 0).astype(int)
    right, bottom = np.minimum(np.ceil(high + margin), [width, height]).astype(int)
    return int(left), int(top), int(right), int(bottom)


def _photo_edges(box: tuple[int, int, int, int], width: int, height: int) -> frozenset[str]:
    left, top, right, bottom = box
    touched = {"left": left <= 0, "top": top <= 0, "right": right >= width, "bottom": bottom >= height}
    return frozenset(edge for edge, is_there in touched.items() if is_there)


def _cropped(rgb: Picture, box: tuple[int, int, int, int]) -> tuple[Picture, float]:
    import cv2

    left, top, right, bottom = box
    part = np.ascontiguousarray(rgb[top:bottom, left:right])
    factor = min(1.0, _WORKING_PX / max(part.shape[:2]))
    if factor == 1.0:
        return part, factor
    size = (max(1, round(part.shape[1] * factor)), max(1, round(part.shape[0] * factor)))
    return np.asarray(cv2.resize(part, size, interpolation=cv2.INTER_AREA), np.uint8), factor


def _fit(mask: Matte, box: tuple[int, int, int, int], size: tuple[int, int]) -> Matte:
    import cv2

    left, top, right, bottom = box
    part = np.ascontiguousarray(mask[top:bottom, left:right])
    return np.asarray(cv2.resize(part, size, interpolation=cv2.INTER_AREA), np.float32)


def _moved(points: Points, box: tuple[int, int, int, int], factor: float) -> Points:
    return np.asarray((points - np.array([box[0], box[1], 0])) * factor, np.float32)


def _tight(rgba: Picture, points: Points) -> tuple[Picture, Points]:
    """Without the empty ground around."""
    used = rgba[..., 3] > 0
    rows, columns = np.flatnonzero(used.any(1)), np.flatnonzero(used.any(0))
    top, left = max(0, rows[0] - 2), max(0, columns[0] - 2)
    tight = rgba[top : rows[-1] + 3, left : columns[-1] + 3]
    return np.ascontiguousarray(tight), np.asarray(points - np.array([left, top, 0]), np.float32)
