"""Glyphs, outlines and boxes as patches that are laid on a film's frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import uharfbuzz as hb
from numpy.typing import NDArray

from models.video import yuv
from models.video.subtitles.fonts import UNITS
from models.video.subtitles.style import SubtitleStyle
from models.video.subtitles.typesetting import Line

Plane = NDArray[Any]  # float, 0 to 1


@dataclass(frozen=True, slots=True)
class Patch:
    """A drawn text: premultiplied planes and what of the frame shows through, ready to be laid on."""

    left: int
    top: int
    colors: tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint8]]
    keep: tuple[NDArray[np.uint8], NDArray[np.uint8]]


@dataclass(frozen=True, slots=True)
class Layer:
    """One colour and how much of it is seen at each pixel."""

    color: tuple[int, int, int]
    coverage: Plane


def styled_layers(
    fill: NDArray[np.uint8], pictures: NDArray[np.uint8], *, style: SubtitleStyle, size_px: float, margin: int
) -> list[Layer]:
    """Letters, outline, shadow, box from front to back, each with what the ones before it leave visible of it."""
    emoji: Plane = pictures[..., 3].astype(np.float32) / 255
    letters: Plane = fill.astype(np.float32) / 255
    edge = thickened(letters, style.outline * size_px)
    wanted = [(style.color, letters), (style.outline_color, edge)]
    if style.shadow > 0:
        blurred = cv2.GaussianBlur(np.maximum(edge, emoji), (0, 0), style.shadow * size_px)
        drop = np.array([[1, 0, 0], [0, 1, 0.04 * size_px]], np.float32)
        shadow = cv2.warpAffine(blurred, drop, (fill.shape[1], fill.shape[0]))
        wanted.append(((0, 0, 0), 0.75 * np.minimum(1.0, 1.4 * shadow)))
    if style.box_opacity > 0:
        box = np.zeros_like(letters)
        inset = margin - round(0.3 * size_px)
        box[inset : len(box) - inset, inset : box.shape[1] - inset] = style.box_opacity
        wanted.append((style.box_color, box))
    visible = 1 - emoji
    layers = []
    for color, coverage in wanted:
        layers.append(Layer(color, coverage * visible))
        visible = visible * (1 - coverage)
    return layers


def thickened(mask: Plane, radius: float) -> Plane:
    """``mask`` grown by ``radius`` pixels with a smooth edge: distances at twice the size, where letters are sharp."""
    if radius <= 0:
        return mask
    height, width = mask.shape
    large = cv2.resize(mask, (2 * width, 2 * height), interpolation=cv2.INTER_CUBIC)
    distance = cv2.distanceTransform((large < 0.5).astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_5)
    grown = np.clip(2 * radius + 0.5 - distance, 0, 1)
    return np.asarray(cv2.resize(grown, (width, height), interpolation=cv2.INTER_AREA), np.float32)


def rasterize(line: Line, left: float, base_y: float, fill: NDArray[np.uint8], pictures: NDArray[np.uint8]) -> None:
    """Draws the glyphs of ``line`` into the coverage ``fill`` and, coloured ones, into ``pictures`` (BGRA)."""
    height, width = fill.shape
    extents = hb.RasterExtents(0, 0, width, height, 0)
    scale = 1.0 / UNITS
    draw = hb.RasterDraw()
    draw.extents = extents
    for glyph in line.glyphs:
        # The raster's y axis points up.
        place = (scale, 0.0, 0.0, scale, left + glyph.x, height - base_y + glyph.y)
        if glyph.font.is_color:
            paint = hb.RasterPaint()
            paint.extents = extents
            paint.transform = place
            paint.paint_glyph(glyph.font.font, glyph.id)
            image = paint.render()
            if image is not None:
                picture = _pixels(image, 4)
                rest = 255 - picture[..., 3:].astype(np.uint16)
                pictures[:] = picture + (pictures * rest + 127) // 255
        else:
            draw.transform = place
            draw.draw_glyph(glyph.font.font, glyph.id)
    image = draw.render()
    if image is not None:
        np.maximum(fill, _pixels(image, 1)[..., 0], out=fill)


def _pixels(image: hb.RasterImage, channels: int) -> NDArray[np.uint8]:
    """The image's rows from top to bottom."""
    extents = image.extents
    rows = np.frombuffer(image.buffer, np.uint8).reshape(extents.height, extents.stride)
    return rows[::-1, : extents.width * channels].reshape(extents.height, extents.width, channels)


def to_patch(layers: list[Layer], pictures: NDArray[np.uint8], left: int, top: int, size: tuple[int, int]) -> Patch:
    """The patch in the frame's own terms, cut to the frame.

    A layer's planes are its colour times its coverage; offsets of limited range are weighted with it.
    """
    width, height = size
    x0, y0 = max(0, -left), max(0, -top)
    x1, y1 = min(pictures.shape[1], width - left), min(pictures.shape[0], height - top)
    half = ((x1 - x0) // 2, (y1 - y0) // 2)
    emoji: Plane = pictures[y0:y1, x0:x1].astype(np.float32) / 255
    small_emoji = cv2.resize(emoji, half, interpolation=cv2.INTER_AREA)
    luma = yuv.premultiplied_luma(emoji[..., 2::-1], emoji[..., 3])
    chroma = list(yuv.premultiplied_chroma(small_emoji[..., 2::-1], small_emoji[..., 3]))
    covered, small_covered = emoji[..., 3], small_emoji[..., 3]
    for layer in layers:
        coverage = layer.coverage[y0:y1, x0:x1]
        small = cv2.resize(coverage, half, interpolation=cv2.INTER_AREA)
        y, u, v = yuv.color_to_yuv(layer.color)
        luma = luma + y * coverage
        chroma = [plane + value * small for plane, value in zip(chroma, (u, v), strict=True)]
        covered, small_covered = covered + coverage, small_covered + small
    return Patch(
        left + x0,
        top + y0,
        (yuv.rounded(luma), yuv.rounded(chroma[0]), yuv.rounded(chroma[1])),
        (yuv.rounded((1 - covered) * 255), yuv.rounded((1 - small_covered) * 255)),
    )


def lay_on(frame: NDArray[np.uint8], patch: Patch) -> None:
    """``frame * keep + patch`` on the patch's box, in 8 bits."""
    targets = yuv.planes(frame)
    for target, color, keep, step in zip(
        targets, patch.colors, (patch.keep[0], patch.keep[1], patch.keep[1]), (1, 2, 2), strict=True
    ):
        top, left = patch.top // step, patch.left // step
        box = target[top : top + color.shape[0], left : left + color.shape[1]]
        cv2.multiply(box, keep, dst=box, scale=1 / 255)
        cv2.add(box, color, dst=box)
