"""Draws subtitles into the film's frames."""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from models.video.subtitles.cues import Cue
from models.video.subtitles.drawing import Patch, lay_on, rasterize, styled_layers, to_patch
from models.video.subtitles.fonts import FontBook
from models.video.subtitles.placement import CaptionPlace, place_captions
from models.video.subtitles.segmentation import clusters, pieces
from models.video.subtitles.style import SubtitleStyle, safe_area
from models.video.subtitles.typesetting import Line, is_right_to_left, typeset

# Of the type: lines that are a little too wide or high are set smaller before anything worse.
_SCALES = (1.0, 0.94, 0.88, 0.8, 0.7, 0.6)


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
        self._drawn: tuple[int, Patch | None] = (-1, None)

    def draw(self, frame: NDArray[np.uint8], time_s: float) -> None:
        """Lays the cue of ``time_s`` on ``frame`` (I420), in place."""
        index = bisect.bisect_right(self._starts, time_s) - 1
        if index < 0 or time_s >= self._cues[index].end_s:
            return
        if self._drawn[0] != index:
            self._drawn = (index, self._patch(self._cues[index]))
        if self._drawn[1] is not None:
            lay_on(frame, self._drawn[1])

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

    def _patch(self, cue: Cue) -> Patch | None:
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
            rasterize(line, (width - line.width) / 2, base_y, fill, pictures)
        layers = styled_layers(fill, pictures, style=self._style, size_px=self._size_px, margin=margin)
        center = (self._safe.left + self._safe.right) // 2
        left = (center - width // 2) // 2 * 2
        top = (self._place.bottom - (height - margin)) // 2 * 2
        return to_patch(layers, pictures, left, top, (self._width, self._height))


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


def _even_up(value: float) -> int:
    return 2 * math.ceil(value / 2)
