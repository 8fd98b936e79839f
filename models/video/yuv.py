"""Planar YUV 4:2:0, the working frame of the film: BT.709, limited range, chroma sampled at the centre of 2x2 pixels.

An I420 frame of width w and height h (both even) is one uint8 array of shape ``(h * 3 // 2, w)``: h rows of Y, then
the U plane, then the V plane, each ``h // 2`` by ``w // 2``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]


def _to_yuv(red: float, blue: float, *, full_range: bool = False) -> NDArray[np.float64]:
    """The matrix (3, 4) from 8-bit R'G'B' to Y'CbCr, by the weights of red and blue (BT.709-6, items 3.2 to 3.5)."""
    green = 1.0 - red - blue
    luma, chroma, black = (1.0, 1.0, 0.0) if full_range else (219.0 / 255.0, 224.0 / 255.0, 16.0)
    u, v = chroma / (2.0 * (1.0 - blue)), chroma / (2.0 * (1.0 - red))
    return np.array(
        [
            [red * luma, green * luma, blue * luma, black],
            [-red * u, -green * u, (1.0 - blue) * u, 128.0],
            [(1.0 - red) * v, -green * v, -blue * v, 128.0],
        ]
    )


def _inverse(to_yuv: NDArray[np.float64]) -> NDArray[np.float64]:
    turned = np.linalg.inv(to_yuv[:, :3])
    return np.hstack([turned, -turned @ to_yuv[:, 3:]])


_WEIGHTS = {"bt709": (0.2126, 0.0722), "bt601": (0.299, 0.114)}
_TO_YUV = _to_yuv(*_WEIGHTS["bt709"])
_TO_RGB = {
    (name, full): _inverse(_to_yuv(*weights, full_range=full))
    for name, weights in _WEIGHTS.items()
    for full in (False, True)
}


class Planes(NamedTuple):
    """Views into an I420 frame; writing to them changes the frame."""

    y: Pixels
    u: Pixels
    v: Pixels


def planes(frame: Pixels) -> Planes:
    """The Y, U and V planes of ``frame`` (I420, contiguous), without a copy."""
    rows, width = frame.shape
    height = rows * 2 // 3
    if height % 2 or width % 2 or rows * 2 != height * 3:
        raise ValueError(f"shape {frame.shape} is not that of an I420 frame with even sides")
    chroma = frame[height:].reshape(2, height // 2, width // 2)
    return Planes(frame[:height], chroma[0], chroma[1])


def new_frame(width: int, height: int) -> Pixels:
    """A black I420 frame."""
    frame = np.full((height * 3 // 2, width), 128, np.uint8)
    frame[:height] = 16
    return frame


def rgb_to_i420(rgb: Pixels) -> Pixels:
    """``rgb`` (h, w, 3), both sides even, as a new I420 frame; each chroma sample is the mean of its four pixels."""
    height, width = rgb.shape[:2]
    if height % 2 or width % 2:
        raise ValueError(f"an I420 frame has even sides, not {width}x{height}")
    frame = np.empty((height * 3 // 2, width), np.uint8)
    target = planes(frame)
    cv2.transform(rgb, _TO_YUV[:1], dst=target.y)
    half = cv2.resize(rgb, (width // 2, height // 2), interpolation=cv2.INTER_AREA)
    chroma = cv2.transform(half, _TO_YUV[1:])
    target.u[:] = chroma[..., 0]
    target.v[:] = chroma[..., 1]
    return frame


def i420_to_rgb(frame: Pixels, *, matrix: str = "bt709", full_range: bool = False) -> Pixels:
    """``frame`` as RGB (h, w, 3); chroma is interpolated between its sample positions.

    ``matrix`` (``bt709`` or ``bt601``) and ``full_range`` are for frames that other programs made.
    """
    y, u, v = planes(frame)
    size = (y.shape[1], y.shape[0])
    full = cv2.merge([y, cv2.resize(u, size), cv2.resize(v, size)])
    return cv2.transform(full, _TO_RGB[matrix, full_range])  # type: ignore[return-value]


def color_to_yuv(rgb: tuple[int, int, int]) -> tuple[int, int, int]:
    """One colour, 0 to 255 each, as Y, U, V."""
    y, u, v = (_TO_YUV[:, :3] @ np.array(rgb, float) + _TO_YUV[:, 3]).round().astype(int)
    return int(y), int(u), int(v)


def premultiplied_luma(color: NDArray[Any], alpha: NDArray[Any]) -> NDArray[Any]:
    """Y (float) of premultiplied RGB (h, w, 3), 0 to 1, itself premultiplied: added to a frame times ``1 - alpha``."""
    return color @ (255.0 * _TO_YUV[0, :3]).astype(np.float32) + np.float32(_TO_YUV[0, 3]) * alpha


def premultiplied_chroma(color: NDArray[Any], alpha: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """U and V (float) of premultiplied RGB, themselves premultiplied."""
    u, v = (color @ (255.0 * row[:3]).astype(np.float32) + np.float32(row[3]) * alpha for row in _TO_YUV[1:])
    return u, v


def rounded(values: NDArray[Any]) -> Pixels:
    """Float values as the nearest 8-bit ones."""
    return np.asarray(np.clip(values + 0.5, 0, 255), np.uint8)
