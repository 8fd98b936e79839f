"""Writing systems."""

from __future__ import annotations

import unicodedata
from collections import Counter

_BY_NAME = {"CJK": "Han", "HIRAGANA": "Japanese", "KATAKANA": "Japanese", "HANGUL": "Korean"}


def writing_of(text: str) -> str | None:
    """The writing system of most of ``text``: ``Latin``, ``Han``, ``Japanese``, ``Cyrillic`` ...; None without letters.

    A Han character counts as three letters, since it says about as much as three Latin ones; any kana makes a text
    Japanese.
    """
    counts: Counter[str] = Counter()
    for character in text:
        if character.isalpha():
            first = unicodedata.name(character, "?").split(" ", 1)[0]
            system = _BY_NAME.get(first, first.capitalize())
            counts[system] += 3 if system == "Han" else 1
    if counts["Japanese"]:
        return "Japanese"
    return counts.most_common(1)[0][0] if counts else None
