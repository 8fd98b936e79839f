"""What a script says that its brief does not: numbers, dates, names, addresses, and words that promise."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from services.domain.brief import Brief
from services.domain.copywriting.length import primary_language
from services.domain.copywriting.orders import is_order
from services.domain.copywriting.promises import promises, superlatives
from services.domain.copywriting.quantities import Quantity, quantities

# Bounded, as what is checked comes from a model: a long run of letters must not take long.
_ADDRESS: Final = re.compile(
    r"(?i)(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}"
    r"|(?:https?://)?(?:www\.)?(?<![a-z0-9-])[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){0,8}\.[a-z]{2,63}\b"
)
_DATE: Final = re.compile(
    r"\b(?:january|february|april|june|july|august|september|october|november|december|monday|tuesday|wednesday|thursday"
    r"|friday|saturday|sunday|tomorrow|tonight|weekend|christmas|easter|black friday|cyber monday|new year|ramadan"
    r"|valentine|mother's day|father's day|spring|summer|autumn|winter)\b"
    r"|\b(?:in|by|until|till|from|before|since|this|next|last) (?:may|march)\b"
    r"|\b(?:may|march) (?=\d)|(?<=\d )(?:may|march)\b"
    r"|(?:星期|周|週|礼拜|禮拜)[一二三四五六日天]|明天|今晚|周末|週末|春节|春節|国庆|國慶|中秋|圣诞|聖誕|元旦|双十一|雙十一|六一八"
)
_WORD: Final = re.compile(r"[^\W\d_][\w'’-]*[\w]|[^\W\d_]")
_SENTENCE_START: Final = re.compile(r"(?:[.!?:…。！？：\n]|[\"“”«»(—–-]\s?)\s*\Z")
_LATIN_WORD: Final = re.compile(r"(?<![\w@./-])[A-Za-z][A-Za-z0-9'’-]+(?![\w@/-])")
_NOT_NAMES: Final = frozenset(["i", "i'm", "i'd", "i'll", "i've", "ok", "tv", "diy", "pc", "usb", "qr", "a"])
_NEAR: Final = 8  # characters before a word in which a sentence's end would stand
_CAPITALISES_NOUNS: Final = ("de", "lb")
_WITHOUT_CAPITALS: Final = ("zh", "yue", "ja", "ko", "th")


def foreign_claims(script: str, brief: Brief) -> tuple[str, ...]:
    """Each claim of ``script`` that no field of ``brief`` makes, in the script's words.

    A number counts as the brief's in figures or in words, when it counts the same thing (24 hours are not 24 days); an
    address, name or date when the brief has it; a promise when the brief makes one of its kind. What in a brief gives
    orders to a model is no evidence. It is a guard against inventions, not a proof of truth.
    """
    language = primary_language(brief.language)
    said, told = _normal(script), _normal("\n".join(fact for fact in _facts(brief) if not is_order(fact)))
    lower, known = said.casefold(), told.casefold()
    found = [*_numbers(lower, known, language)]
    found += [match for match in _ADDRESS.findall(said) if match.casefold() not in known]
    found += [match.group() for match in _DATE.finditer(lower) if match.group() not in known]
    found += _promises(lower, known, language)
    found += _names(said, known, language)
    return tuple(dict.fromkeys(one.strip() for one in found))


def _facts(brief: Brief) -> Iterator[str]:
    single = (brief.product, brief.brand, brief.audience, brief.offer, brief.price, brief.call_to_action)
    yield from (fact for fact in (*single, *brief.benefits, *brief.keywords) if fact)


def _normal(text: str) -> str:
    """Figures of every script and full-width letters as ASCII, typographic apostrophes as typed ones."""
    return unicodedata.normalize("NFKC", text).replace("’", "'")


def _numbers(said: str, told: str, language: str) -> Iterator[str]:
    known = quantities(told, language)
    for one in quantities(said, language):
        if one.is_claim and not any(_is_same(one, fact) for fact in known):
            yield one.text


def _is_same(said: Quantity, told: Quantity) -> bool:
    if said.value != told.value:
        # "half price" of a brief's "50 %", "twice" of its "double"
        return said.value == 0.5 and told.value == 50 and told.counted == "percent"
    return said.counted is None or told.counted is None or said.counted == told.counted


def _promises(said: str, told: str, language: str) -> list[str]:
    made = {number for _, number in promises(told, language)}
    known = set(superlatives(told))
    words = [word for word in superlatives(said) if word not in known]
    return [text for text, number in promises(said, language) if number not in made] + words


def _names(said: str, told: str, language: str) -> Iterator[str]:
    """Capitalised words inside sentences; where nouns are capitalised, abbreviations; in Chinese, Latin words."""
    known = set(re.split(r"[^\w']+", told)) | {word.removesuffix("'s") for word in re.split(r"[^\w']+", told)}
    if language in _WITHOUT_CAPITALS:
        words = (match for match in _LATIN_WORD.finditer(said))
    else:
        words = (match for match in _WORD.finditer(said) if _is_name(match, said, language))
    for match in words:
        parts = [part for part in re.split(r"[^\w']+", match.group().casefold()) if part]
        if any(part.removesuffix("'s") not in known and part not in _NOT_NAMES for part in parts):
            yield match.group()


def _is_name(match: re.Match[str], text: str, language: str) -> bool:
    word = match.group()
    if len(word) > 1 and word.isupper():
        return True
    before = text[max(0, match.start() - _NEAR) : match.start()]
    starts = not before.strip() or _SENTENCE_START.search(before) is not None
    return word[0].isupper() and not starts and language not in _CAPITALISES_NOUNS
