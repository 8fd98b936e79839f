"""Markup in a script: what neither a voice nor a subtitle shows. One finder for both."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import regex

# Each pattern is markup in its whole match but for the group named "kept".
_MARKUP: Final = tuple(
    regex.compile(pattern, regex.MULTILINE)
    for pattern in (
        r"<!--.*?-->",
        r"</?[A-Za-z][^<>\n]{0,200}>",
        r"^[ \t]*(?:```|~~~)[^\n]*$",
        r"^[ \t]*(?:[-*_=][ \t]*){3,}$",
        r"^[ \t]*\|?(?:[ \t]*:?-{3,}:?[ \t]*\|)+[ \t]*(?::?-{3,}:?)?[ \t]*$",
        r"!\[[^\]\n]*\]\([^)\n]*\)",
        r"\[(?P<kept>[^\]\n]+)\]\([^)\n]*\)",
        r"\[(?P<kept>[^\]\n]+)\]\[[^\]\n]*\]",
        r"^[ \t]*>+[ \t]?",
        r"^[ \t]*#{1,6}[ \t]+",
        r"^[ \t]*[-*+•‣▪◦·][ \t]+(?:\[[ xX]\][ \t]+)?",
        r"\*{1,3}(?=\S)(?P<kept>[^*\n]+?)(?<=\S)\*{1,3}",
        r"(?<![\p{L}\p{N}_])_{1,3}(?=\S)(?P<kept>[^_\n]+?)(?<=\S)_{1,3}(?![\p{L}\p{N}_])",
        r"~~(?P<kept>[^~\n]+)~~",
        r"`+(?P<kept>[^`\n]+)`+",
    )
)
_ENTITY: Final = regex.compile(r"&(?:#\d{1,7}|#x[0-9A-Fa-f]{1,6}|[A-Za-z]{2,8});")
_LINE_TAG: Final = regex.compile(r"</?(?:br|p|div|li|ul|ol|h[1-6]|tr|table|section|blockquote)\b", regex.IGNORECASE)


def markup_spans(text: str) -> list[tuple[int, int]]:
    """Start and end of each stretch of Markdown or HTML markup, in order; the words between are not of them."""
    signs = list(text)
    found: list[tuple[int, int]] = []
    for pattern in _MARKUP:
        for match in pattern.finditer("".join(signs)):
            kept = match.span("kept") if "kept" in pattern.groupindex else (match.end(), match.end())
            for start, end in ((match.start(), kept[0]), (kept[1], match.end())):
                if start < end:
                    found.append((start, end))
                    signs[start:end] = ["\n" if sign == "\n" else " " for sign in signs[start:end]]
    return sorted(found)


def entities(text: str) -> Iterator[tuple[int, int, str]]:
    """Start, end and meaning of each HTML entity (``&amp;``); unknown ones are left out."""
    for match in _ENTITY.finditer(text):
        meaning = html.unescape(match[0])
        if meaning != match[0]:
            yield match.start(), match.end(), meaning


@dataclass(frozen=True, slots=True)
class ReadableText:
    """A text without its markup, entities resolved.

    Attributes:
        places: Where each character of the given text has come to, and its end; what is left out, where it would be.
    """

    text: str
    places: tuple[int, ...]


def readable(text: str) -> ReadableText:
    """``text`` as a reader should see it; tags that begin a line become a line's end."""
    replaced = {(start, end): "\n" if _LINE_TAG.match(text, start) else "" for start, end in markup_spans(text)}
    bare = list(text)
    for start, end in replaced:
        bare[start:end] = " " * (end - start)
    replaced |= {(start, end): meaning for start, end, meaning in entities("".join(bare))}
    parts: list[str] = []
    places: list[int] = []
    length = at = 0
    for start, end in sorted(replaced):
        start = max(start, at)
        parts.append(text[at:start])
        places.extend(range(length, length + start - at))
        length += start - at
        places.extend([length] * (end - start))
        parts.append(replaced.get((start, end), ""))
        length += len(parts[-1])
        at = max(at, end)
    parts.append(text[at:])
    places.extend(range(length, length + len(text) - at + 1))
    return ReadableText("".join(parts), tuple(places))
