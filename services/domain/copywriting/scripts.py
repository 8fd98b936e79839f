"""Writing systems."""

from __future__ import annotations

import unicodedata
from collections import Counter
from typing import Final

from services.domain.copywriting.length import primary_language

_OF_LANGUAGE: Final = {
    "zh": ("Han",),
    "ja": ("Japanese", "Han"),
    "yue": ("Han",),
    "ko": ("Korean", "Han"),
    "ar": ("Arabic",),
    "fa": ("Arabic",),
    "ur": ("Arabic",),
    "sd": ("Arabic", "Devanagari"),
    "ug": ("Arabic",),
    "he": ("Hebrew",),
    "el": ("Greek",),
    "hi": ("Devanagari",),
    "mr": ("Devanagari",),
    "ne": ("Devanagari",),
    "bn": ("Bengali",),
    "gu": ("Gujarati",),
    "kn": ("Kannada",),
    "ml": ("Malayalam",),
    "or": ("Oriya",),
    "si": ("Sinhala",),
    "ta": ("Tamil",),
    "te": ("Telugu",),
    "am": ("Ethiopic",),
    "ti": ("Ethiopic",),
    "hy": ("Armenian",),
    "hyw": ("Armenian",),
    "ka": ("Georgian",),
    "th": ("Thai",),
    "ru": ("Cyrillic",),
    "uk": ("Cyrillic",),
    "bg": ("Cyrillic",),
    "be": ("Cyrillic",),
    "mk": ("Cyrillic",),
    "sr": ("Cyrillic", "Latin"),
}
_LATIN: Final = (
    *("af", "ca", "cs", "cy", "da", "de", "en", "es", "et", "eu", "fi", "fr", "ga", "hr", "hu", "id", "is", "it"),
    *("lt", "lv", "ms", "nl", "no", "pl", "pt", "ro", "sk", "sl", "sv", "sw", "tr", "vi"),
)
_BY_NAME: Final = {"CJK": "Han", "HIRAGANA": "Japanese", "KATAKANA": "Japanese", "HANGUL": "Korean"}
_OF_NO_LANGUAGE: Final = frozenset(("Modifier", "Double-struck", "?"))  # letters that every writing uses as signs


def writing_of(text: str) -> str | None:
    """The writing system of most of ``text``: ``Latin``, ``Han``, ``Japanese``, ``Cyrillic`` ...; None without letters.

    A Han character counts as three letters, since it says about as much as three Latin ones; any kana makes a text
    Japanese.
    """
    counts = _systems(text)
    if counts["Japanese"]:
        return "Japanese"
    return counts.most_common(1)[0][0] if counts else None


def is_foreign_to(text: str, language: str) -> bool:
    """Whether ``text`` has letters and none of them is of the writing of ``language``; False where it is not listed."""
    systems = _systems(unicodedata.normalize("NFKC", text)).keys() - _OF_NO_LANGUAGE
    return bool(systems) and not any(is_written_in(system, language) for system in systems)


def _systems(text: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    for character, number in Counter(text).items():  # a text has few different ones
        if character.isalpha():
            first = unicodedata.name(character, "?").split(" ", 1)[0]
            system = _BY_NAME.get(first, first.capitalize())
            counts[system] += 3 * number if system == "Han" else number
    return counts


def is_written_in(writing: str | None, language: str) -> bool:
    """Whether a text in ``writing`` can be in ``language``; True for a language that is not listed."""
    primary = primary_language(language)
    if primary in _OF_LANGUAGE:
        return writing in _OF_LANGUAGE[primary]
    return writing == "Latin" if primary in _LATIN else True
