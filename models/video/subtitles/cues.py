"""Subtitle cues from what is said when."""

from __future__ import annotations

import bisect
import itertools
from dataclasses import dataclass, replace

from models.markup import readable
from models.video.subtitles.segmentation import (
    Break,
    Piece,
    clusters,
    hyphenation_point,
    is_address,
    is_unspaced,
    may_break,
    pieces,
    reading_length,
    width,
)
from models.video.subtitles.style import SubtitleStyle, letters_a_line
from services.domain.timeline import SpeechTimeline, Word

NO_WORD_TIMES = "There are no subtitles: no one knows when which word is said. Send the recording's transcript."


@dataclass(frozen=True, slots=True, kw_only=True)
class CueLimits:
    """How much a cue may hold.

    Attributes:
        line_width: Latin letters a line; a Chinese character counts as 42/16 of one.
        max_lines: Lines on screen.
        min_duration_s, max_duration_s: How long a cue stands, where the speech leaves room.
        max_reading_speed: Characters a second; ``max_reading_speed_unspaced`` for Chinese, Japanese, Thai and the like.
        gap_s: Dark time between two cues that follow each other closely, so that the change is seen.
    """

    line_width: float = 42.0
    max_lines: int = 2
    min_duration_s: float = 1.0
    max_duration_s: float = 7.0
    max_reading_speed: float = 20.0
    max_reading_speed_unspaced: float = 11.0
    gap_s: float = 0.08

    @classmethod
    def for_frame(
        cls, width_px: int, height_px: int, style: SubtitleStyle | None = None, *, max_lines: int = 2
    ) -> CueLimits:
        """Limits whose lines stay large enough to read in a frame of this shape."""
        return cls(line_width=letters_a_line(width_px, height_px, style), max_lines=max_lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cue:
    """What stands on the screen from ``start_s`` to ``end_s``."""

    start_s: float
    end_s: float
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


@dataclass(frozen=True, slots=True)
class _Atom:
    """A piece of the text that stays in one line, and when it is said; ``joint`` ends a line that parts a word."""

    start: int
    end: int
    quality: Break
    start_s: float
    end_s: float
    width: float
    joint: str = ""


def cues_from_timeline(
    timeline: SpeechTimeline, text: str, language: str | None = None, *, limits: CueLimits | None = None
) -> list[Cue]:
    """Cues that show all of ``text`` but its markup, emoji included, broken where a reader would pause.

    Empty when the timeline has no word times (``NO_WORD_TIMES`` says so to the client).

    Args:
        timeline: Its words' offsets refer to ``text``.
        text: The script as the client gave it.
        language: BCP 47; chooses how Chinese and Japanese are segmented.
        limits: Defaults to the usual ones of subtitling.
    """
    limits = limits or CueLimits()
    timeline, text = _without_markup(timeline, text)
    atoms = _atoms(timeline, text, language, limits)
    if not atoms:
        return []
    unspaced = is_unspaced(text)
    speed = limits.max_reading_speed_unspaced if unspaced else limits.max_reading_speed
    groups = _grouped(atoms, text, limits, speed)
    cues = []
    for first, last in groups:
        cues.append(
            Cue(
                start_s=atoms[first].start_s,
                end_s=atoms[last - 1].end_s,
                lines=_lines(atoms[first:last], text, limits),
            )
        )
    return _timed(cues, timeline.duration_s, limits, speed)


def _without_markup(timeline: SpeechTimeline, text: str) -> tuple[SpeechTimeline, str]:
    """The text without markup, and the words' places in it."""
    seen = readable(text)
    last = len(text)
    words = tuple(
        replace(
            word,
            char_start=seen.places[min(max(0, word.char_start), last)],
            char_end=seen.places[min(max(0, word.char_end), last)],
        )
        for word in timeline.words
    )
    return replace(timeline, words=words), seen.text


def _atoms(timeline: SpeechTimeline, text: str, language: str | None, limits: CueLimits) -> list[_Atom]:
    clock = _Clock.of(timeline.words, text)
    if clock is None:
        return []
    atoms = []
    for piece in pieces(text, language):
        for part, joint in _short_enough(piece, text, limits.line_width):
            start_s, end_s = clock.span(part.start, part.end)
            shown = _shown(text[part.start : part.end])
            atoms.append(_Atom(part.start, part.end, part.quality, start_s, end_s, width(shown + joint), joint))
    return atoms


def _short_enough(piece: Piece, text: str, line_width: float) -> list[tuple[Piece, str]]:
    """A piece longer than a line cut into such as fit: a long word with hyphens, an address between letters."""
    if width(_shown(text[piece.start : piece.end])) <= line_width:
        return [(piece, "")]
    run = text[piece.start : piece.end]
    parts: list[tuple[Piece, str]] = []
    start = position = allowed = 0
    for cluster in clusters(run):
        # The hyphen takes the room of one letter.
        if may_break(run, position) and width(_shown(run[start:position])) <= line_width - 1:
            allowed = position
        if width(_shown(run[start : position + len(cluster)])) > line_width and allowed > start:
            cut = None if is_address(run) else hyphenation_point(run[start:], allowed - start)
            end = allowed if cut is None else start + cut
            parts.append((Piece(piece.start + start, piece.start + end, Break.POOR), "" if cut is None else "-"))
            start = allowed = end
        position += len(cluster)
    parts.append((Piece(piece.start + start, piece.end, piece.quality), ""))
    return parts


class _Clock:
    """When each character is said: known at the words, in proportion between."""

    def __init__(self, positions: list[int], starts: list[float], ends: list[float], stops: list[int]) -> None:
        self._positions, self._starts, self._ends, self._stops = positions, starts, ends, stops

    @classmethod
    def of(cls, words: tuple[Word, ...], text: str) -> _Clock | None:
        """From the words in the order of the text; words that share a place (a number read out) are one."""
        positions: list[int] = []
        starts: list[float] = []
        ends: list[float] = []
        stops: list[int] = []
        for word in sorted(words, key=lambda word: (word.char_start, word.start_s)):
            low, high = max(0, word.char_start), min(len(text), word.char_end)
            if high <= low:
                continue
            if stops and low < stops[-1]:
                stops[-1] = max(stops[-1], high)
                ends[-1] = max(ends[-1], word.end_s)
                continue
            # A word that is said before the one written before it cannot move the clock back.
            start_s = max(word.start_s, ends[-1]) if ends else word.start_s
            positions.append(low)
            stops.append(high)
            starts.append(start_s)
            ends.append(max(start_s, word.end_s))
        return cls(positions, starts, ends, stops) if positions else None

    def span(self, start: int, end: int) -> tuple[float, float]:
        """When ``text[start:end]`` is said. What is not said itself (an emoji) goes with the word before it."""
        first = bisect.bisect_right(self._stops, start)
        last = bisect.bisect_left(self._positions, end) - 1
        if first > last:
            if first == 0:
                return self._starts[0], self._starts[0]
            return self._ends[first - 1], self._ends[first - 1]
        return self._at(first, start), self._at(last, end)

    def _at(self, index: int, position: int) -> float:
        low, high = self._positions[index], self._stops[index]
        share = min(1.0, max(0.0, (position - low) / (high - low)))
        return self._starts[index] + share * (self._ends[index] - self._starts[index])


_PAUSE_S = 0.6  # a silence that a viewer notices: the text of both sides should not stand together


def _grouped(atoms: list[_Atom], text: str, limits: CueLimits, speed: float) -> list[tuple[int, int]]:
    """The cheapest way to cut the atoms into cues (dynamic programming over the last cue's first atom)."""
    best: list[tuple[float, int]] = [(0.0, 0)]
    for end in range(1, len(atoms) + 1):
        choice = (float("inf"), end - 1)
        for start in range(end - 1, -1, -1):
            cost = _cue_cost(atoms, start, end, text, limits, speed)
            if cost is None:
                break
            total = best[start][0] + cost
            if total < choice[0]:
                choice = (total, start)
        best.append(choice)
    groups = []
    end = len(atoms)
    while end > 0:
        start = best[end][1]
        groups.append((start, end))
        end = start
    return groups[::-1]


_ORPHAN_SHARE = 0.3  # of a line: shorter ends of sentences look lost

_BREAK_COST = {Break.PARAGRAPH: 0.0, Break.SENTENCE: 0.0, Break.CLAUSE: 1.2, Break.WORD: 3.5, Break.POOR: 6.0}


def _cue_cost(atoms: list[_Atom], start: int, end: int, text: str, limits: CueLimits, speed: float) -> float | None:
    """What is wrong with a cue of ``atoms[start:end]``; None when it does not fit and a longer one will not either."""
    group = atoms[start:end]
    total = sum(atom.width for atom in group) + len(group)
    if len(group) > 1:
        if total > (limits.line_width + 1) * limits.max_lines + len(group):
            return None
        if _fill(group, text, limits.line_width) > limits.max_lines:
            return None
    spoken_s = group[-1].end_s - group[0].start_s
    if len(group) > 1 and spoken_s > limits.max_duration_s:
        return None
    cost = 1.0 + _BREAK_COST[group[-1].quality]
    # Time on screen runs until the next cue begins.
    until_s = atoms[end].start_s if end < len(atoms) else group[-1].end_s + limits.min_duration_s
    available_s = max(0.01, until_s - group[0].start_s)
    length = reading_length(text[group[0].start : group[-1].end])
    cost += 4.0 * max(0.0, length / available_s / speed - 1.0)
    cost += 3.0 * max(0.0, 1.0 - available_s / limits.min_duration_s)
    is_begun = start == 0 or atoms[start - 1].quality >= Break.SENTENCE
    for before, after in itertools.pairwise(group):
        if after.start_s - before.end_s > _PAUSE_S:
            cost += 4.0
        if before.quality is Break.PARAGRAPH:
            cost += 4.0
        elif before.quality is Break.SENTENCE:
            # Whole sentences together are read at ease; the end of one beside the beginning of the next is not.
            cost += 1.5 if is_begun and group[-1].quality >= Break.SENTENCE else 6.0
    if not is_begun:  # the last words of a sentence do not stand alone
        cost += 6.0 * max(0.0, 1.0 - total / (_ORPHAN_SHARE * limits.line_width))
    return cost


def _fill(group: list[_Atom], text: str, line_width: float) -> int:
    """Lines that the atoms take when filled one after another."""
    lines, used = 1, 0.0
    for atom in group:
        if used and used + atom.width > line_width + 1e-6:
            lines, used = lines + 1, 0.0
        used += atom.width + (1.0 if text[atom.end - 1].isspace() else 0.0)
    return lines


def _lines(group: list[_Atom], text: str, limits: CueLimits) -> tuple[str, ...]:
    """One line if it fits, else the split with the best break and the most even lines, the lower one rather longer."""
    joint = group[-1].joint
    whole = _shown(text[group[0].start : group[-1].end]) + joint
    if width(whole) <= limits.line_width or len(group) == 1:
        return (whole,)
    best: tuple[float, tuple[str, ...]] | None = None
    for cut in range(1, len(group)):
        upper = _shown(text[group[0].start : group[cut].start]) + group[cut - 1].joint
        lower = _shown(text[group[cut].start : group[-1].end]) + joint
        upper_width, lower_width = width(upper), width(lower)
        over = max(0.0, upper_width - limits.line_width) + max(0.0, lower_width - limits.line_width)
        uneven = abs(upper_width - lower_width) / limits.line_width
        cost = (
            100.0 * over + 6.0 * uneven + 0.6 * _BREAK_COST[group[cut - 1].quality] + 0.3 * (upper_width > lower_width)
        )
        if not upper or not lower:
            continue
        if best is None or cost < best[0]:
            best = (cost, (upper, lower))
    return best[1] if best is not None else (whole,)


def _shown(text: str) -> str:
    return " ".join(text.split())


def _timed(cues: list[Cue], duration_s: float, limits: CueLimits, speed: float) -> list[Cue]:
    """Stretched into the silence that follows, for as long as reading takes; never overlapping, never past the end."""
    timed: list[Cue] = []
    for index, cue in enumerate(cues):
        start_s = max(0.0, cue.start_s, timed[-1].end_s if timed else 0.0)
        next_s = cues[index + 1].start_s if index + 1 < len(cues) else duration_s
        needed_s = max(limits.min_duration_s, reading_length(cue.text) / speed)
        wanted_s = max(cue.end_s, start_s + min(needed_s, limits.max_duration_s))
        if index + 1 < len(cues):
            latest_s = next_s - limits.gap_s if next_s - limits.gap_s > start_s + 0.2 else next_s
        else:
            latest_s = duration_s
        end_s = min(wanted_s, latest_s)
        # A short darkness between two cues flickers: it is closed up to the usual gap.
        if index + 1 < len(cues) and 0 < latest_s - end_s < 0.4:
            end_s = latest_s
        end_s = max(end_s, start_s + 0.001)
        timed.append(replace(cue, start_s=round(start_s, 3), end_s=round(end_s, 3)))
    return timed
