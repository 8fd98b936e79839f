"""Draws subtitles into the film's frames."""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import uharfbuzz as hb
from numpy.typing import NDArray

from models.video import yuv
from models.video.subtitles.cues import Cue
from models.video.subtitles.fonts import UNITS, FontBook
from models.video.subtitles.placement import CaptionPlace, place_captions
from models.video.subtitles.segmentation import clusters, pieces
from models.video.subtitles.style import SubtitleStyle, safe_area
from models.video.subtitles.typesetting import Line, is_right_to_left, typeset

Plane = NDArray[Any]  # float, 0 to 1

# Of the type: lines that are a little too wide or high are set smaller before anything worse.
_SCALES = (1.0, 0.94, 0.88, 0.8, 0.7, 0.6)


@dataclass(frozen=True, slots=True)
class _Patch:
    """A drawn cue: premultiplied planes and what of the frame shows through, ready to be laid on."""

    left: int
    top: int
    colors: tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint8]]
    keep: tuple[NDArray[np.uint8], NDArray[np.uint8]]


@dataclass(frozen=True, slots=True)
class _Layer:
    """One colour and how much of it is seen at each pixel."""

    color: tuple[int, int, int]
    coverage: Plane


class SubtitleBurner:
    """Draws the cue of the moment; each is set once and then laid on frame after frame.

    Args:
        cues: In the order of time.
        size: Width and height of the film.
        language: BCP 47; direction of the lines and national forms of characters.
        style: How they look.
        place: Where they stand, and how they look there; None takes the safe area.
    """

    def __init__(
        self,
        cues: Sequence[Cue],
        size: tuple[int, int],
        language: str | None = None,
        *,
        style: SubtitleStyle | None = None,
        place: CaptionPlace | None = None,
    ) -> None:
        self._cues = list(cues)
        self._starts = [cue.start_s for cue in self._cues]
        self._width, self._height = size
        self._language = language
        self._place = place or place_captions(*size, None, style)
        self._style = self._place.style
        self._safe = safe_area(*size)
        self._size_px = max(10.0, self._style.size_share * min(size))
        self._books = {1.0: FontBook(self._size_px, language)}
        self._drawn: tuple[int, _Patch | None] = (-1, None)

    def draw(self, frame: NDArray[np.uint8], time_s: float) -> None:
        """Lays the cue of ``time_s`` on ``frame`` (I420), in place."""
        index = bisect.bisect_right(self._starts, time_s) - 1
        if index < 0 or time_s >= self._cues[index].end_s:
            return
        if self._drawn[0] != index:
            self._drawn = (index, self._patch(self._cues[index]))
        if self._drawn[1] is not None:
            _lay_on(frame, self._drawn[1])

    def lines(self, cue: Cue) -> list[str]:
        """The cue's lines as they are drawn: broken anew where they are wider than the safe area."""
        return self._fitted(cue)[0]

    def _fitted(self, cue: Cue) -> tuple[list[str], float]:
        """Lines and the scale of their type: as they are; a little smaller; else in more lines of even width."""
        room = self._safe.right - self._safe.left
        high = self._place.bottom - self._place.top
        lines = list(cue.lines)
        for scale in _SCALES[:3]:
            set_lines = [self._set(line, cue, scale) for line in lines]
            if max(line.width for line in set_lines) <= room and self._block_height(set_lines, scale) <= high:
                return lines, scale
        for scale in _SCALES:
            lines = self._broken(" ".join(cue.lines), cue, room / scale)
            if self._block_height([self._set(line, cue, scale) for line in lines], scale) <= high:
                return lines, scale
        return lines, _SCALES[-1]

    def _block_height(self, lines: Sequence[Line], scale: float) -> float:
        """From the first line's ascent to the last one's descent."""
        ascent, descent = max(line.ascent for line in lines), max(line.descent for line in lines)
        return ascent + self._pitch(ascent + descent, scale) * (len(lines) - 1) + descent

    def _pitch(self, line_height: float, scale: float) -> float:
        size_px = self._size_px * scale
        return size_px * float(np.clip(0.92 * line_height / size_px, 1.22, 1.5))

    def _book(self, scale: float) -> FontBook:
        if scale not in self._books:
            self._books[scale] = FontBook(self._size_px * scale, self._language)
        return self._books[scale]

    def _set(self, text: str, cue: Cue, scale: float = 1.0) -> Line:
        right_to_left = is_right_to_left(cue.text, self._language)
        return typeset(text, self._book(scale), right_to_left=right_to_left, language=self._language)

    def _broken(self, text: str, cue: Cue, room: float) -> list[str]:
        parts = [text[piece.start : piece.end] for piece in pieces(text, self._language)]
        parts = [part for piece in parts for part in self._narrowed(piece, cue, room)]
        widths = [self._set(part, cue).width for part in parts]
        most = max(room, *widths) if widths else room
        num_lines = len(_filled(parts, widths, most))
        # The narrowest lines that take no more of them: even ones, no single word left over.
        for step in range(1, 21):
            limit = max(max(widths), most * (num_lines - 1) / num_lines * (1 - step / 20) + most * step / 20)
            lines = _filled(parts, widths, limit)
            if len(lines) <= num_lines:
                return lines
        return _filled(parts, widths, most)

    def _narrowed(self, part: str, cue: Cue, room: float) -> list[str]:
        """A word wider than the frame, cut between letters and hyphenated if it is a word."""
        if self._set(part.strip(), cue).width <= room:
            return [part]
        rows, current = [], ""
        for cluster in clusters(part):
            if current and self._set(current + cluster, cue).width > room:
                rows.append(current)
                current = ""
            current += cluster
        return [*rows, current]

    def _patch(self, cue: Cue) -> _Patch | None:
        texts, scale = self._fitted(cue)
        lines = [self._set(text, cue, scale) for text in texts]
        lines = [line for line in lines if line.glyphs]
        if not lines:
            return None
        ascent = max(line.ascent for line in lines)
        pitch = self._pitch(ascent + max(line.descent for line in lines), scale)
        margin = math.ceil(self._size_px * (self._style.outline + 3 * self._style.shadow + 0.3))
        # Even sides and an even place, so that the patch's chroma falls on the frame's.
        width = _even_up(max(line.width for line in lines) + 2 * margin)
        height = _even_up(self._block_height(lines, scale) + 2 * margin)
        fill = np.zeros((height, width), np.uint8)
        pictures = np.zeros((height, width, 4), np.uint8)
        for number, line in enumerate(lines):
            base_y = margin + ascent + number * pitch
            _rasterize(line, (width - line.width) / 2, base_y, fill, pictures)
        layers = self._layers(fill, pictures, margin)
        center = (self._safe.left + self._safe.right) // 2
        left = (center - width // 2) // 2 * 2
        top = (self._place.bottom - (height - margin)) // 2 * 2
        return _to_planes(layers, pictures, left, top, (self._width, self._height))

    def _layers(self, fill: NDArray[np.uint8], pictures: NDArray[np.uint8], margin: int) -> list[_Layer]:
        """Letters, outline, shadow, box from front to back, each with what the ones before it leave visible of it."""
        style = self._style
        emoji: Plane = pictures[..., 3].astype(np.float32) / 255
        letters: Plane = fill.astype(np.float32) / 255
        edge = _thickened(letters, style.outline * self._size_px)
        wanted = [(style.color, letters), (style.outline_color, edge)]
        if style.shadow > 0:
            blurred = cv2.GaussianBlur(np.maximum(edge, emoji), (0, 0), style.shadow * self._size_px)
            drop = np.array([[1, 0, 0], [0, 1, 0.04 * self._size_px]], np.float32)
            shadow = cv2.warpAffine(blurred, drop, (fill.shape[1], fill.shape[0]))
            wanted.append(((0, 0, 0), 0.75 * np.minimum(1.0, 1.4 * shadow)))
        if style.box_opacity > 0:
            box = np.zeros_like(letters)
            inset = margin - round(0.3 * self._size_px)
            box[inset : len(box) - inset, inset : box.shape[1] - inset] = style.box_opacity
            wanted.append((style.box_color, box))
        visible = 1 - emoji
        layers = []
        for color, coverage in wanted:
            layers.append(_Layer(color, coverage * visible))
            visible = visible * (1 - coverage)
        return layers


def _filled(parts: Sequence[str], widths: Sequence[float], limit: float) -> list[str]:
    """``parts`` put into lines one after another, each as full as ``limit`` allows."""
    lines: list[str] = []
    used = limit
    for part, width in zip(parts, widths, strict=True):
        if used + width > limit + 0.5:
            lines.append(part)
            used = width
        else:
            lines[-1] += part
            used += width
    return [line.strip() for line in lines]


def _thickened(mask: Plane, radius: float) -> Plane:
    """``mask`` grown by ``radius`` pixels with a smooth edge: distances at twice the size, where letters are sharp."""
    if radius <= 0:
        return mask
    height, width = mask.shape
    large = cv2.resize(mask, (2 * width, 2 * height), interpolation=cv2.INTER_CUBIC)
    distance = cv2.distanceTransform((large < 0.5).astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_5)
    grown = np.clip(2 * radius + 0.5 - distance, 0, 1)
    return np.asarray(cv2.resize(grown, (width, height), interpolation=cv2.INTER_AREA), np.float32)


def _rasterize(line: Line, left: float, base_y: float, fill: NDArray[np.uint8], pictures: NDArray[np.uint8]) -> None:
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


def _to_planes(layers: list[_Layer], pictures: NDArray[np.uint8], left: int, top: int, size: tuple[int, int]) -> _Patch:
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
    return _Patch(
        left + x0,
        top + y0,
        (yuv.rounded(luma), yuv.rounded(chroma[0]), yuv.rounded(chroma[1])),
        (yuv.rounded((1 - covered) * 255), yuv.rounded((1 - small_covered) * 255)),
    )


def _lay_on(frame: NDArray[np.uint8], patch: _Patch) -> None:
    """``frame * keep + patch`` on the patch's box, in 8 bits."""
    targets = yuv.planes(frame)
    for target, color, keep, step in zip(
        targets, patch.colors, (patch.keep[0], patch.keep[1], patch.keep[1]), (1, 2, 2), strict=True
    ):
        top, left = patch.top // step, patch.left // step
        box = target[top : top + color.shape[0], left : left + color.shape[1]]
        cv2.multiply(box, keep, dst=box, scale=1 / 255)
        cv2.add(box, color, dst=box)


def _even_up(value: float) -> int:
    return 2 * math.ceil(value / 2)
