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

# ITU-R BT.709-6, items 3.2 and 3.4, for 8-bit R'G'B' of 0..255.
_KR, _KB = 0.2126, 0.0722
_KG = 1.0 - _KR - _KB
_LUMA, _CHROMA = 219.0 / 255.0, 224.0 / 255.0
_U, _V = _CHROMA / (2.0 * (1.0 - _KB)), _CHROMA / (2.0 * (1.0 - _KR))
_TO_YUV = np.array(
    [
        [_KR * _LUMA, _KG * _LUMA, _KB * _LUMA, 16.0],
        [-_KR * _U, -_KG * _U, (1.0 - _KB) * _U, 128.0],
        [(1.0 - _KR) * _V, -_KG * _V, -_KB * _V, 128.0],
    ]
)
_INVERSE = np.linalg.inv(_TO_YUV[:, :3])
_TO_RGB = np.hstack([_INVERSE, -_INVERSE @ _TO_YUV[:, 3:]])


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


def rgb_to_yuv444(rgb: Pixels) -> Pixels:
    """``rgb`` (h, w, 3) as Y, U, V per pixel, same shape: for patches whose chroma is reduced later."""
    return cv2.transform(rgb, _TO_YUV)  # type: ignore[return-value]


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


def i420_to_rgb(frame: Pixels) -> Pixels:
    """``frame`` as RGB (h, w, 3); chroma is interpolated between its sample positions."""
    y, u, v = planes(frame)
    size = (y.shape[1], y.shape[0])
    full = cv2.merge([y, cv2.resize(u, size, interpolation=cv2.INTER_LINEAR), cv2.resize(v, size)])
    return cv2.transform(full, _TO_RGB)  # type: ignore[return-value]


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
