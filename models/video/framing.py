"""Chooses the part of the source that the film shows, and cuts it out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.perception.face import FaceBox, FaceLandmarks
from models.video import yuv
from models.video.subtitles.placement import caption_top_share
from models.video.surroundings import ramp, resized, surroundings
from services.domain.errors import InvalidRequest
from services.domain.video import Aspect, FrameSettings

_USUAL_SIZES = {
    Aspect.PORTRAIT: (1080, 1920),
    Aspect.SQUARE: (1080, 1080),
    Aspect.TALL: (1080, 1350),
    Aspect.LANDSCAPE: (1920, 1080),
}
MAX_USUAL_SIDE = 1920
# Beyond this an enlarged photo looks soft; only a height that was asked for goes further.
MAX_UPSCALE = 1.5
MIN_HEIGHT_PX, MAX_SIDE_PX = 128, 3840
# Share of the frame's height at which the eyes sit: the upper third, as portraits are framed.
_EYE_LINE = 0.36
# A head smaller than this share of the frame's height is brought nearer.
_MIN_HEAD_SHARE = 0.22
# Width of the seam over which the source fades into its blurred surroundings, of the longer side.
_SEAM_SHARE = 0.012
# How far the chin drops in speech, with a little air above a caption, in head heights.
_JAW_DROP = 0.06
# Room to leave round the head, in head heights.
_ROOM_ABOVE, _ROOM_BELOW, _ROOM_BESIDE = 0.12, 0.15, 0.10


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadBox:
    """The whole head with hair and chin, in source pixels, and the height of its eyes."""

    left: float
    top: float
    right: float
    bottom: float
    eye_y: float

    @property
    def height(self) -> float:
        return self.bottom - self.top

    @property
    def center_x(self) -> float:
        return (self.left + self.right) / 2


def head_box(face: FaceBox | FaceLandmarks, person_matte: NDArray[np.float32] | None = None) -> HeadBox:
    """The head that belongs to ``face``; with ``person_matte`` (h, w) its hair is measured, otherwise allowed for.

    The allowances are in face sizes: a detector's box runs from the brows to the chin, the mesh from the hair line.
    """
    if isinstance(face, FaceLandmarks):
        points = face.points[:, :2]
        left, top = (float(v) for v in points.min(axis=0))
        right, bottom = (float(v) for v in points.max(axis=0))
        eye_y = float(points[[33, 133, 362, 263], 1].mean())
        width, height = right - left, bottom - top
        hair, beside = 0.45 * height, 0.22 * width
    else:
        left, top, width, height = face.left, face.top, face.width, face.height
        right, bottom = left + width, top + height
        eye_y = float(face.keypoints[:2, 1].mean())
        hair, beside = 0.62 * height, 0.25 * width
        bottom += 0.1 * height
    head = HeadBox(left=left - beside, top=top - hair, right=right + beside, bottom=bottom, eye_y=eye_y)
    return head if person_matte is None else _with_hair(head, width, height, person_matte)


def _with_hair(head: HeadBox, face_width: float, face_height: float, matte: NDArray[np.float32]) -> HeadBox:
    """Widened to the hair that the matte shows above the eyes, within two face sizes (arms may be raised beyond)."""
    rows, columns = matte.shape
    x0, x1 = (int(np.clip(x, 0, columns)) for x in (head.center_x - 1.4 * face_width, head.center_x + 1.4 * face_width))
    y0, y1 = (int(np.clip(y, 0, rows)) for y in (head.eye_y - 2.0 * face_height, head.eye_y))
    above = matte[y0:y1, x0:x1] > 0.5
    if not above.any():
        return head
    # A row or column counts from three pixels on: single specks of a matte are no hair.
    in_rows = np.flatnonzero(above.sum(axis=1) >= 3)
    in_columns = np.flatnonzero(above.sum(axis=0) >= 3)
    if not len(in_rows) or not len(in_columns):
        return head
    return HeadBox(
        left=min(head.left, x0 + float(in_columns[0])),
        top=y0 + float(in_rows[0]),
        right=max(head.right, x0 + float(in_columns[-1]) + 1),
        bottom=head.bottom,
        eye_y=head.eye_y,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FramePlan:
    """A crop of the source and the size it is shown at.

    Attributes:
        left, top, crop_width, crop_height: The crop in whole source pixels; it may reach beyond the source, where the
            frame is then filled with the source's blurred surroundings.
        width, height: Size of the film, even.
        source_width, source_height: Size of the source that it was planned for.
        notes: What was done that the client should know.
    """

    left: int
    top: int
    crop_width: int
    crop_height: int
    width: int
    height: int
    source_width: int
    source_height: int
    notes: tuple[str, ...] = ()

    @property
    def scale(self) -> float:
        """Film pixels per source pixel."""
        return self.height / self.crop_height

    @property
    def is_extended(self) -> bool:
        """Whether the crop reaches beyond the source."""
        return (
            self.left < 0
            or self.top < 0
            or self.left + self.crop_width > self.source_width
            or self.top + self.crop_height > self.source_height
        )

    def apply(self, pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """The film's frame, uint8 (height, width, 3), of a source frame; pixels are copied where the scale is 1."""
        cut = self._inside(pixels)
        if not self.is_extended:
            return resized(cut, self.width, self.height)
        x0, y0, x1, y1 = self.window()
        sharp = resized(cut, x1 - x0, y1 - y0)
        frame = surroundings(sharp, (x0, y0), self.width, self.height)
        inside = frame[y0:y1, x0:x1]
        weight = self.edge_fade(_SEAM_SHARE)[y0:y1, x0:x1]
        soft = weight < 1
        mixed = inside[soft] + weight[soft][:, None] * (sharp[soft].astype(np.float32) - inside[soft])
        inside[~soft] = sharp[~soft]
        inside[soft] = yuv.rounded(mixed)
        return frame

    def apply_mask(self, mask: NDArray[np.float32]) -> NDArray[np.float32]:
        """A mask (h, w) of the source in film pixels; 0 beyond the source."""
        inside = self._inside(mask)
        if not self.is_extended:
            return resized(inside, self.width, self.height)
        x0, y0, x1, y1 = self.window()
        frame = np.zeros((self.height, self.width), mask.dtype)
        frame[y0:y1, x0:x1] = resized(inside, x1 - x0, y1 - y0)
        return frame

    def to_film(self, points: NDArray[np.float32]) -> NDArray[np.float32]:
        """Source positions (..., 2 or 3) in film pixels; pixel centres lie at whole numbers, z is scaled."""
        scale_x, scale_y = self.width / self.crop_width, self.height / self.crop_height
        out = points.astype(np.float32, copy=True)
        out[..., 0] = (points[..., 0] + 0.5 - self.left) * scale_x - 0.5
        out[..., 1] = (points[..., 1] + 0.5 - self.top) * scale_y - 0.5
        if out.shape[-1] > 2:
            out[..., 2] *= scale_y
        return out

    def window(self) -> tuple[int, int, int, int]:
        """Left, top, right, bottom of the part of the film that shows the source, in film pixels."""
        scale_x, scale_y = self.width / self.crop_width, self.height / self.crop_height
        return (
            max(0, round(-self.left * scale_x)),
            max(0, round(-self.top * scale_y)),
            min(self.width, round((self.source_width - self.left) * scale_x)),
            min(self.height, round((self.source_height - self.top) * scale_y)),
        )

    def edge_fade(self, share: float) -> NDArray[np.float32]:
        """1 on what shows the source, float32 (height, width), fading at seams over ``share`` of the longer side."""
        x0, y0, x1, y1 = self.window()
        reach = max(2, round(share * max(self.width, self.height)))
        fade = np.zeros((self.height, self.width), np.float32)
        down = ramp(y1 - y0, reach, start=y0 > 0, end=y1 < self.height)
        fade[y0:y1, x0:x1] = np.minimum(down[:, None], ramp(x1 - x0, reach, start=x0 > 0, end=x1 < self.width)[None, :])
        return fade

    def _inside(self, pixels: NDArray[Any]) -> NDArray[Any]:
        return pixels[
            max(0, self.top) : min(self.source_height, self.top + self.crop_height),
            max(0, self.left) : min(self.source_width, self.left + self.crop_width),
        ]


def plan_frame(
    source_size: tuple[int, int],
    head: HeadBox | None,
    settings: FrameSettings,
    *,
    has_captions: bool = False,
    stands_on_edge: bool = False,
) -> FramePlan:
    """The crop for ``settings``: never stretched, never through the head, the eyes near the upper third.

    Args:
        source_size: Width and height of the source in pixels.
        head: Where the head is; None frames the middle.
        has_captions: Two lines of burnt-in captions are to have room below the chin, where the source allows it.
        stands_on_edge: The background is replaced: what the frame has beyond the source is above and beside it, so that
            the lower edge of the picture, where the person is cut, is that of the film.

    Raises:
        InvalidRequest: ``frame_size`` when ``height_px`` is outside 128 to 3840.
    """
    if settings.height_px is not None:
        _require_limits(settings)
    if settings.aspect is Aspect.SOURCE:
        return _whole_source(source_size, settings.height_px)
    aspect_width, aspect_height = _USUAL_SIZES[settings.aspect]
    ratio = aspect_width / aspect_height
    chin_share = caption_top_share(aspect_width, aspect_height) if has_captions else 1.0
    crop_width, crop_height = _crop_size(source_size, head, ratio, settings.height_px or aspect_height, chin_share)
    left = _place(head.center_x - crop_width / 2 if head else None, crop_width, source_size[0])
    top = _place(head.eye_y - _EYE_LINE * crop_height if head else None, crop_height, source_size[1])
    if head:
        # The chin is to be in the upper ``chin_share`` of the crop.
        chin = head.bottom + (1 - chin_share) * crop_height + (_JAW_DROP * head.height if has_captions else 0)
        top = _keep_inside(top, crop_height, head.top - _ROOM_ABOVE * head.height, chin, source_size[1])
        left = _keep_inside(left, crop_width, head.left, head.right, source_size[0])
    if stands_on_edge and crop_height > source_size[1]:
        top = source_size[1] - crop_height

    height = settings.height_px or min(aspect_height, crop_height * MAX_UPSCALE)
    # 9:16 and 16:9 have no exact even size at every height: the nearest even width is taken.
    height = _even(height)
    width = _even(height * ratio)
    notes = []
    if settings.height_px is None and height < aspect_height:
        notes.append(
            f"The source has {crop_width}x{crop_height} pixels of this view: the film is {width}x{height}, not "
            f"{aspect_width}x{aspect_height}. Ask for height_px to enlarge it all the same."
        )
    if settings.height_px is not None and height != settings.height_px:
        notes.append(f"Video needs even sides: {settings.height_px} became {height} pixels high.")
    notes += _extension_notes(source_size, (crop_width, crop_height))
    return FramePlan(
        left=left,
        top=top,
        crop_width=crop_width,
        crop_height=crop_height,
        width=width,
        height=height,
        source_width=source_size[0],
        source_height=source_size[1],
        notes=tuple(notes),
    )


def _extension_notes(source_size: tuple[int, int], crop: tuple[int, int]) -> list[str]:
    """Why the frame shows more than the source, if it does: the side on which the source has too little."""
    is_narrow, is_low = crop[0] > source_size[0], crop[1] > source_size[1]
    if not is_narrow and not is_low:
        return []
    what = "small" if is_narrow and is_low else "narrow" if is_narrow else "low"
    return [
        f"The source is too {what} for this aspect without cutting the head: its blurred edges, or the new background, "
        "fill the rest."
    ]


def _require_limits(settings: FrameSettings) -> None:
    height = settings.height_px or 0
    ratio = 1.0
    if settings.aspect is not Aspect.SOURCE:
        ratio = _USUAL_SIZES[settings.aspect][0] / _USUAL_SIZES[settings.aspect][1]
    if height < MIN_HEIGHT_PX or max(height, height * ratio) > MAX_SIDE_PX:
        raise InvalidRequest(
            f"height_px={height} at {settings.aspect.value} is outside what can be made: at least {MIN_HEIGHT_PX} high "
            f"and no side over {MAX_SIDE_PX}.",
            code="frame_size",
            param="frame.height_px",
        )


def _whole_source(source_size: tuple[int, int], height_px: int | None) -> FramePlan:
    width, height = source_size
    crop_width, crop_height = width - width % 2, height - height % 2
    notes = []
    if (crop_width, crop_height) != source_size:
        notes.append(f"Video needs even sides: {width}x{height} was cut to {crop_width}x{crop_height}.")
    factor = min(1.0, MAX_USUAL_SIDE / max(width, height))
    if height_px is not None:
        factor = min(height_px / crop_height, MAX_SIDE_PX / max(crop_width, crop_height))
    if factor == 1.0:
        out_width, out_height = crop_width, crop_height
    else:
        out_width, out_height = _even(crop_width * factor), _even(crop_height * factor)
        notes.append(f"{width}x{height} was scaled to {out_width}x{out_height}.")
    return FramePlan(
        left=0,
        top=0,
        crop_width=crop_width,
        crop_height=crop_height,
        width=out_width,
        height=out_height,
        source_width=width,
        source_height=height,
        notes=tuple(notes),
    )


def _crop_size(
    source_size: tuple[int, int], head: HeadBox | None, ratio: float, wanted_height: int, chin_share: float
) -> tuple[int, int]:
    """Width and height of the crop: as much of the source as fits.

    Less when the head would be small; more than the source where the head would not fit, and then as much of its height
    as brings the chin into the upper ``chin_share``.
    """
    source_width, source_height = source_size
    largest = min(source_height, source_width / ratio)
    height = largest
    if head is not None:
        top = max(0.0, head.top - _ROOM_ABOVE * head.height)
        bottom = min(float(source_height), head.bottom + _ROOM_BELOW * head.height)
        left = max(0.0, head.left - _ROOM_BESIDE * head.height)
        right = min(float(source_width), head.right + _ROOM_BESIDE * head.height)
        needed = max(bottom - top, (right - left) / ratio)
        with_captions = 0.0
        if chin_share < 1:
            with_captions = (head.bottom + _JAW_DROP * head.height - top) / chin_share
        if needed > largest:
            height = max(needed, min(with_captions, source_height))
        else:
            near = max(needed, with_captions, head.height / _MIN_HEAD_SHARE, min(wanted_height, largest) / MAX_UPSCALE)
            height = min(largest, near)
    height = round(height)
    return max(2, round(height * ratio)), max(2, height)


def _place(wanted: float | None, length: int, available: int) -> int:
    """Start of a crop inside the source; a crop longer than the source holds all of it."""
    low, high = min(0, available - length), max(0, available - length)
    if wanted is None or length > available:
        middle = (available - length) / 2
        wanted = middle if wanted is None else wanted
    return int(np.clip(round(wanted), low, high))


def _keep_inside(start: int, length: int, low: float, high: float, available: int) -> int:
    """Moved by the least that shows ``low`` to ``high`` (as far as the source has them), ``low`` first."""
    low, high = max(0.0, low), min(float(available), high)
    start = max(start, math.ceil(high - length))
    return min(start, math.floor(low)) if low < start else start


def _even(value: float) -> int:
    return max(2, 2 * round(value / 2))
