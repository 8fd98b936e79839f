"""What stands behind the presenter."""

from __future__ import annotations

import math
import re

import cv2
import numpy as np
from numpy.typing import NDArray

from models.video import yuv
from models.video.picture import PictureSource
from services.domain.errors import ContentRejected, InvalidRequest
from services.domain.video import Background, BackgroundKind

_COLOR = re.compile(r"#([0-9a-fA-F]{2})([0-9a-fA-F]{2})([0-9a-fA-F]{2})")
# Blur radius as a share of the frame's longer side: a portrait lens wide open.
_BLUR_SHARE = 0.018
# Side of the neighbourhood that tells the person's colours, of the longer side: the paper's 90 pixels at full HD.
_FOREGROUND_REACH = 0.045
# Exponent of the weights of its means; 1 in the paper, which leaves a third of the fringe of a wide edge.
_SURENESS = 4


def parse_color(text: str) -> tuple[int, int, int]:
    """``#rrggbb`` as R, G, B.

    Raises:
        InvalidRequest: ``malformed_color``.
    """
    match = _COLOR.fullmatch(text)
    if match is None:
        raise InvalidRequest(f"{text!r} is no colour; write #rrggbb.", code="malformed_color", param="background.color")
    red, green, blue = (int(part, 16) for part in match.groups())
    return red, green, blue


class BackgroundComposer:
    """Lays the presenter on the background that was asked for.

    Args:
        background: What was asked for.
        width, height: Of the film.
        picture: The uploaded picture when ``background`` names one.

    Raises:
        InvalidRequest: ``background_missing`` when its colour or picture is missing, ``malformed_color``.
    """

    def __init__(
        self, background: Background, *, width: int, height: int, picture: PictureSource | None = None
    ) -> None:
        self._kind = background.kind
        self._size = (width, height)
        self._plate: NDArray[np.uint8] | None = None
        if background.kind is BackgroundKind.COLOR:
            if background.color is None:
                raise InvalidRequest(
                    "A colour background needs its colour.", code="background_missing", param="background.color"
                )
            self._plate = np.full((height, width, 3), parse_color(background.color), np.uint8)
        elif background.kind is BackgroundKind.IMAGE:
            if picture is None:
                raise InvalidRequest(
                    "A picture background needs its picture.", code="background_missing", param="background.upload_id"
                )
            self._plate = cover(picture.rgb, width, height)

    @property
    def needs_matte(self) -> bool:
        """Whether ``compose`` wants to know where the person is (a picture's own transparency will do)."""
        return self._kind is not BackgroundKind.ORIGINAL

    @property
    def has_new_background(self) -> bool:
        """Whether nothing of the source's background is shown."""
        return self._plate is not None

    def compose(
        self, rgb: NDArray[np.uint8], matte: NDArray[np.float32] | None, *, is_over_white: bool = False
    ) -> NDArray[np.uint8]:
        """The presenter's frame on the background; the original background returns ``rgb`` itself.

        Args:
            rgb: uint8 (height, width, 3), already framed.
            matte: float32 (height, width), 1 on the person.
            is_over_white: ``matte`` is the file's own alpha and ``rgb`` lies over white with it (``PictureSource``);
                the white is then taken out exactly.

        Raises:
            ContentRejected: ``person_not_found`` when the matte holds no person.
        """
        if self._kind is BackgroundKind.ORIGINAL:
            return rgb
        if matte is None or float(matte.max(initial=0.0)) < 0.5:
            raise ContentRejected(
                "No person could be told from the background. Use a picture in which the person stands out, "
                'or the background "original".',
                code="person_not_found",
            )
        plate = blurred_behind(rgb, matte) if self._plate is None else self._plate
        alpha = matte[..., None]
        if is_over_white:
            mixed = rgb + (1.0 - alpha) * (plate.astype(np.float32) - 255.0)
        else:
            front = decontaminated(rgb, matte)
            mixed = plate + alpha * (front.astype(np.float32) - plate)
        return yuv.rounded(mixed)


def cover(rgb: NDArray[np.uint8], width: int, height: int) -> NDArray[np.uint8]:
    """``rgb`` scaled to fill the frame, its middle shown, never stretched."""
    scale = max(width / rgb.shape[1], height / rgb.shape[0])
    cut_width, cut_height = min(rgb.shape[1], round(width / scale)), min(rgb.shape[0], round(height / scale))
    left, top = (rgb.shape[1] - cut_width) // 2, (rgb.shape[0] - cut_height) // 2
    cut = np.ascontiguousarray(rgb[top : top + cut_height, left : left + cut_width])
    if (cut_width, cut_height) == (width, height):
        return cut
    interpolation = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
    return cv2.resize(cut, (width, height), interpolation=interpolation).astype(np.uint8, copy=False)


def blurred_behind(rgb: NDArray[np.uint8], matte: NDArray[np.float32]) -> NDArray[np.uint8]:
    """The background out of focus, as behind a wide lens: the person does not bleed into it.

    The background is averaged with the weight ``1 - matte``, so what the person covers is filled from its surroundings.
    """
    height, width = matte.shape
    sigma = _BLUR_SHARE * max(width, height)
    factor = max(1, int(sigma / 3))
    size = (math.ceil(width / factor), math.ceil(height / factor))
    # The matte is widened first: hair ends at .3 would otherwise glow round the head.
    reach = max(3, int(sigma / 2)) | 1
    away = 1.0 - cv2.dilate(matte, cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (reach, reach)))
    weight = cv2.resize(np.asarray(away, np.float32), size, interpolation=cv2.INTER_AREA)
    small = cv2.resize(rgb, size, interpolation=cv2.INTER_AREA).astype(np.float32) * weight[..., None]
    total = np.zeros_like(small)
    norm = np.zeros_like(weight)
    # Wider and wider averages, each counting only where the narrower ones found no background.
    for step in (1.0, 4.0, 16.0):
        part = cv2.GaussianBlur(small, (0, 0), sigma / factor * step)
        part_norm = cv2.GaussianBlur(weight, (0, 0), sigma / factor * step)
        left_over = np.clip(1.0 - norm * 20.0, 0.0, 1.0)
        total += part * left_over[..., None]
        norm += part_norm * left_over
    filled = total / np.maximum(norm, 1e-4)[..., None]
    full = cv2.resize(filled, (width, height), interpolation=cv2.INTER_CUBIC)
    return yuv.rounded(full)


def decontaminated(rgb: NDArray[np.uint8], matte: NDArray[np.float32]) -> NDArray[np.uint8]:
    """The person's own colour where the matte is partial, so that the old background leaves no fringe.

    Fast foreground estimation by blur fusion (Forte 2021, "Approximate fast foreground colour estimation", section 3):
    means of the person's and the background's colours nearby, then what the picture's own colour adds; first over a
    wide neighbourhood, then over a narrow one.
    """
    ys, xs = np.nonzero((matte > 0.0) & (matte < 0.999))
    if not len(ys):
        return rgb
    top, bottom, left, right = ys.min(), ys.max() + 1, xs.min(), xs.max() + 1
    out = rgb.copy()
    picture = rgb[top:bottom, left:right].astype(np.float32)
    alpha = np.ascontiguousarray(matte[top:bottom, left:right])
    wide = max(5, round(max(matte.shape) * _FOREGROUND_REACH)) | 1
    front, behind = _fused(picture, picture, picture, alpha, wide)
    front, _ = _fused(picture, front, behind, alpha, max(3, wide // 9) | 1)
    partial = (alpha > 0.0) & (alpha < 0.999)
    out[top:bottom, left:right][partial] = yuv.rounded(np.clip(front[partial], 0, 255))
    return out


def _fused(
    picture: NDArray[np.float32],
    front: NDArray[np.float32],
    behind: NDArray[np.float32],
    alpha: NDArray[np.float32],
    side: int,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The person's and the background's colours, float32 (h, w, 3), from estimates of both."""
    # Nearly whole pixels count for far more than half covered ones, which hold both colours.
    sure, unsure = alpha**_SURENESS, (1 - alpha) ** _SURENESS
    front_mean = cv2.blur(front * sure[..., None], (side, side)) / (cv2.blur(sure, (side, side))[..., None] + 1e-5)
    behind_mean = cv2.blur(behind * unsure[..., None], (side, side)) / (
        cv2.blur(unsure, (side, side))[..., None] + 1e-5
    )
    weight = alpha[..., None]
    rest = picture - weight * front_mean - (1 - weight) * behind_mean
    return np.clip(front_mean + weight * rest, 0, 255).astype(np.float32), behind_mean
