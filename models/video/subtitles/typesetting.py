"""Lines of text as positioned glyphs: direction, scripts, font fallback, shaping."""

from __future__ import annotations

import itertools
import unicodedata
from dataclasses import dataclass

import uharfbuzz as hb
from bidi import algorithm

from models.video.subtitles.fonts import UNITS, FontBook, SetFont, script_of
from models.video.subtitles.segmentation import clusters

# Unicode's four-letter codes (ISO 15924) for the scripts that are told apart; HarfBuzz shapes by them.
_CODES = {
    "Arabic": "Arab", "Armenian": "Armn", "Bengali": "Beng", "Bopomofo": "Bopo", "Cyrillic": "Cyrl",
    "Devanagari": "Deva", "Ethiopic": "Ethi", "Georgian": "Geor", "Greek": "Grek", "Gujarati": "Gujr",
    "Gurmukhi": "Guru", "Han": "Hani", "Hangul": "Hang", "Hebrew": "Hebr", "Hiragana": "Hira", "Kannada": "Knda",
    "Katakana": "Kana", "Khmer": "Khmr", "Lao": "Laoo", "Latin": "Latn", "Malayalam": "Mlym", "Myanmar": "Mymr",
    "Oriya": "Orya", "Sinhala": "Sinh", "Tamil": "Taml", "Telugu": "Telu", "Thai": "Thai",
}  # fmt: skip
_RTL_LANGUAGES = ("ar", "fa", "he", "iw", "ur", "ps", "sd", "ug", "yi", "dv", "ckb")


@dataclass(frozen=True, slots=True)
class Glyph:
    """A glyph whose origin lies ``x`` pixels from the line's left end and ``y`` above its base line."""

    font: SetFont
    id: int
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Line:
    """A line of glyphs in the order of the screen; sizes in pixels."""

    glyphs: tuple[Glyph, ...]
    width: float
    ascent: float
    descent: float


def is_right_to_left(text: str, language: str | None) -> bool:
    """The direction of a paragraph: its language's where known, else that of its first letter (UAX #9, P2).

    A text without a single letter of the language's direction is not in that language.
    """
    directions = {unicodedata.bidirectional(char) for char in text}
    has_left, has_right = "L" in directions, bool(directions & {"R", "AL"})
    if language and language.lower() != "und" and has_left and has_right:
        return language.lower().split("-")[0] in _RTL_LANGUAGES
    return bool(algorithm.get_base_level(text))


def typeset(text: str, book: FontBook, *, right_to_left: bool, language: str | None) -> Line:
    """``text``, one line, shaped and put in visual order."""
    glyphs: list[Glyph] = []
    pen = 0.0
    ascent = descent = 0.0
    for run in _visual_runs(text, book, right_to_left):
        ascent, descent = max(ascent, run.font.ascent_px), max(descent, run.font.descent_px)
        buffer = hb.Buffer()
        buffer.add_str(run.text)
        buffer.direction = "rtl" if run.level % 2 else "ltr"
        buffer.script = _CODES.get(run.script or "", "Zyyy")
        if language:
            buffer.language = language
        buffer.cluster_level = hb.BufferClusterLevel.MONOTONE_CHARACTERS
        hb.shape(run.font.font, buffer)
        for info, position in zip(buffer.glyph_infos, buffer.glyph_positions, strict=True):
            glyphs.append(Glyph(run.font, info.codepoint, pen + position.x_offset / UNITS, position.y_offset / UNITS))
            pen += position.x_advance / UNITS
    return Line(tuple(glyphs), pen, ascent, descent)


@dataclass(slots=True)
class _Run:
    """Neighbouring characters of one level, font and script."""

    text: str
    level: int
    font: SetFont
    script: str | None


def _visual_runs(text: str, book: FontBook, right_to_left: bool) -> list[_Run]:
    levels = embedding_levels(text, right_to_left=right_to_left)
    runs: list[_Run] = []
    position = 0
    font: SetFont | None = None
    script: str | None = None
    upcoming = _upcoming_scripts(text)
    for cluster in clusters(text):
        own = next((found for found in map(script_of, cluster) if found), None)
        # Punctuation takes the script before it, or at the start the one that follows.
        script = own or script or upcoming[position]
        font = book.font_for(cluster, own or (script if font is None else None), font)
        level = levels[position]
        last = runs[-1] if runs else None
        if last is not None and (last.level, last.font, last.script) == (level, font, script):
            last.text += cluster
        else:
            runs.append(_Run(cluster, level, font, script))
        position += len(cluster)
    return _reordered(runs)


def _upcoming_scripts(text: str) -> list[str | None]:
    following: str | None = None
    found: list[str | None] = []
    for char in reversed(text):
        following = script_of(char) or following
        found.append(following)
    return found[::-1]


def _reordered(runs: list[_Run]) -> list[_Run]:
    """Rule L2: from the highest level down to the lowest odd one, every stretch at that level or above is reversed."""
    if not runs:
        return runs
    highest = max(run.level for run in runs)
    lowest_odd = min((run.level for run in runs if run.level % 2), default=highest + 1)
    for level in range(highest, lowest_odd - 1, -1):
        ordered: list[_Run] = []
        for is_inside, group in itertools.groupby(runs, key=lambda run: run.level >= level):
            members = list(group)
            ordered.extend(reversed(members) if is_inside else members)
        runs = ordered
    return runs


def embedding_levels(text: str, *, right_to_left: bool) -> list[int]:
    """The embedding level of each character by the Unicode bidirectional algorithm; odd ones run right to left.

    The library drops marks and joiners as rule X9 allows, which would lose their place: each is given as the character
    before it, which is what rules W1 and X9 make of it.
    """
    plain: list[str] = []
    for char in text:
        kind = unicodedata.bidirectional(char)
        leans = kind in ("NSM", "BN", "LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI", "B", "S")
        plain.append((plain[-1] if plain else " ") if leans else char)
    storage = algorithm.get_empty_storage()
    storage["base_level"] = int(right_to_left)
    storage["base_dir"] = "R" if right_to_left else "L"
    algorithm.get_embedding_levels("".join(plain), storage)
    algorithm.explicit_embed_and_overrides(storage)
    algorithm.resolve_weak_types(storage)
    algorithm.resolve_neutral_types(storage, False)
    algorithm.resolve_implicit_levels(storage, False)
    return [int(char["level"]) for char in storage["chars"]]
