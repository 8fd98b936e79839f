"""A client's text as SSML for Polly, and the way back from places in the SSML to places in the text.

Neural voices know these tags: break, p, phoneme, prosody (rate and volume, no pitch), s, say-as, speak, sub and w
("Supported SSML tags" in Polly's developer guide). A request may hold 3,000 billed characters, which tags are not, and
6,000 in all.
"""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from services.domain.video import VoiceSettings

MAX_BILLED: Final = 2_900
MAX_TOTAL: Final = 5_800
_LONG_PIECE: Final = MAX_BILLED // 4  # five times as long, should every character be escaped, it still is a request
_SENTENCE: Final = re.compile(r".+?(?:[.!?…]+[\"'”’»)\]]*(?=\s|$)|[。！？]+[”’」』）]*|\n{1,}|$)\s*", re.DOTALL)
_CLAUSE: Final = re.compile(r"(?<=[,;:，；：、])\s*|\s+")
# What is written and not spoken: HTML tags, Markdown signs, the address behind a link's text.
_SILENT: Final = re.compile(
    r"</?[A-Za-z][^<>]{0,200}>|[*_`~]{1,3}(?=\S)|(?<=\S)[*_`~]{1,3}|^#{1,6}\s|^>\s|!?\[(?=[^\[\]\n]{0,200}\]\()|\]\([^()\s]{0,500}\)",
    re.MULTILINE,
)
_TAGS_OF_A_SENTENCE: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One request: SSML for ``text[start:end]``.

    Attributes:
        places: Where each spoken character begins, in bytes of ``ssml`` and in the text; both rise.
    """

    ssml: str
    start: int
    end: int
    places: tuple[tuple[int, int], ...]

    def span(self, first_byte: int, end_byte: int) -> tuple[int, int]:
        """Where in the client's text these bytes of the SSML come from; tags at either end come from nowhere."""
        first = bisect_left(self.places, (first_byte, 0))
        last = bisect_left(self.places, (end_byte, 0)) - 1
        if first > last:
            return self.end, self.end
        return self.places[first][1], self.places[last][1] + 1


def parts_of(text: str, settings: VoiceSettings) -> list[Part]:
    """The requests that speak ``text``, cut between sentences where one would not hold it all.

    Where a sentence alone is too long, between clauses or words; and in a run of hundreds of letters, anywhere.
    """
    parts: list[Part] = []
    writer = _Writer(text, settings)
    for start, end in _pieces(text):
        if not any(character.isalnum() for character in text[start:end]):
            continue
        if writer.is_full_with(start, end):
            parts.append(writer.part())
            writer = _Writer(text, settings)
        writer.add(start, end)
    if writer.has_text:
        parts.append(writer.part())
    return parts


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Sentences; of those that fill a request alone, clauses and words."""
    for match in _SENTENCE.finditer(text):
        if not match.group():
            continue
        if len(match.group()) <= MAX_BILLED // 2:
            yield match.span()
            continue
        at = match.start()
        for end in (*(cut.end() for cut in _CLAUSE.finditer(text, *match.span())), match.end()):
            while end - at > 2 * _LONG_PIECE:
                yield at, at + _LONG_PIECE
                at += _LONG_PIECE
            if end - at > _LONG_PIECE or (end == match.end() and end > at):
                yield at, end
                at = end


class _Writer:
    """Writes the SSML of some sentences and remembers which byte came from which character."""

    def __init__(self, text: str, settings: VoiceSettings) -> None:
        self._text = text
        self._settings = settings
        self._spoken_as = _pattern(settings.pronunciations)
        self._pieces: list[str] = []
        self._places: list[tuple[int, int]] = []
        self._num_bytes = 0
        self._num_billed = 0
        self._num_total = 0
        self._span: tuple[int, int] | None = None
        self._put("<speak>" + _prosody(settings))

    @property
    def has_text(self) -> bool:
        return self._span is not None

    def is_full_with(self, start: int, end: int) -> bool:
        """Whether ``text[start:end]`` does not fit in any more."""
        if not self.has_text:
            return False
        piece = self._text[start:end]
        longest = len(escape(piece)) + _TAGS_OF_A_SENTENCE
        for word in self._spoken_as.findall(piece) if self._spoken_as else ():
            longest += len(quoteattr(self._settings.pronunciations[word])) + _TAGS_OF_A_SENTENCE
        return self._num_billed + len(piece) > MAX_BILLED or self._num_total + longest > MAX_TOTAL

    def add(self, start: int, end: int) -> None:
        """One sentence more."""
        if self.has_text and self._settings.pause_s > 0:
            self._put(f'<break time="{round(self._settings.pause_s * 1000)}ms"/>')
        self._span = (self._span[0] if self._span else start, end)
        at = start
        while at < end:
            at = self._add_next(at, end)
        self._num_billed += end - start

    def part(self) -> Part:
        assert self._span is not None
        end = self._span[1]
        self._put(("</prosody>" if _prosody(self._settings) else "") + "</speak>")
        return Part(ssml="".join(self._pieces), start=self._span[0], end=end, places=tuple(self._places))

    def _add_next(self, at: int, end: int) -> int:
        """Write what stands at ``at``; where it goes on."""
        silent = _SILENT.match(self._text, at, end)
        if silent and silent.end() > at:
            return silent.end()
        word = self._spoken_as.match(self._text, at, end) if self._spoken_as else None
        if word:
            self._put(f"<sub alias={quoteattr(self._settings.pronunciations[word.group()])}>")
            self._put_characters(at, word.end())
            self._put("</sub>")
            return word.end()
        self._put_characters(at, at + 1)
        return at + 1

    def _put_characters(self, start: int, end: int) -> None:
        for at in range(start, end):
            character = self._text[at]
            self._places.append((self._num_bytes, at))
            self._put(" " if _is_unspoken(character) else escape(character))

    def _put(self, piece: str) -> None:
        self._pieces.append(piece)
        self._num_bytes += len(piece.encode())
        self._num_total += len(piece)


def _prosody(settings: VoiceSettings) -> str:
    attributes = ""
    if settings.speed != 1:
        attributes += f' rate="{round(settings.speed * 100)}%"'
    if settings.volume == 0:
        attributes += ' volume="silent"'
    elif settings.volume != 1:
        attributes += f' volume="{20 * math.log10(settings.volume):+.1f}dB"'
    return f"<prosody{attributes}>" if attributes else ""


def _pattern(pronunciations: Mapping[str, str]) -> re.Pattern[str] | None:
    """Whole words, the longest first, so that "Lumo Plus" is not read as "Lumo"."""
    words = sorted((word for word in pronunciations if word), key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, words))})(?!\w)") if words else None


def _is_unspoken(character: str) -> bool:
    """Emoji and what XML does not take; a space in their place keeps the words around them apart."""
    if unicodedata.category(character) in ("So", "Sk", "Cn", "Co", "Cs"):
        return character not in "°©®™℃℉"
    return (ord(character) < 32 and character not in "\t\n\r") or ord(character) in (0x200D, 0xFE0E, 0xFE0F, 0xFFFE)
