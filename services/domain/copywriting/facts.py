"""The facts of a brief, one by one, as plain text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from services.domain.brief import Brief


class FactRole(StrEnum):
    PRODUCT = "product"
    BRAND = "brand"
    AUDIENCE = "audience"
    BENEFIT = "benefit"
    KEYWORD = "keyword"
    OFFER = "offer"
    PRICE = "price"
    CALL_TO_ACTION = "call_to_action"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One thing that the brief says.

    Attributes:
        text: Without markdown, emoji and closing punctuation, on one line.
        given: As the brief has it; what a client is told when the fact was not used.
        importance: What leaving it out costs; the product cannot be left out. 0: it is not for a viewer's ears, such
            as an audience that is targeting data ("women 25-34, urban").
    """

    role: FactRole
    text: str
    given: str
    importance: float


_MARKDOWN_LINK: Final = re.compile(r"!?\[([^\]]*)\]\([^)\s]*\)")
_LINE_START: Final = re.compile(r"(?m)^\s*(?:#{1,6}\s+|>\s+|[-*+•·▪●◦]\s+|\d{1,2}[.)]\s+(?=\D))")
_EMPHASIS: Final = re.compile(r"(\*{1,3}|_{2,3}|~~|`+)(\S(?:.*?\S)?)\1")
_HASHTAG: Final = re.compile(r"(?<!\S)#(?=\w*[^\W\d_])")
_TARGETING: Final = re.compile(r"\d+\s*[-–~至到]\s*\d+|\d+\s*\+|[;|/；]")
_CHILDREN: Final = re.compile(r"(?i)\b(?:kids|children|toddlers|babies)\b|[孩童幼宝寶]|家[长長]")  # whose ages are told
_KEPT_SYMBOLS: Final = frozenset("°©®™℠№℃℉")


def plain(text: str) -> str:
    """``text`` on one line, without markdown marks, hashtags' signs and emoji; nothing else is changed."""
    text = unicodedata.normalize("NFC", text)
    text = _MARKDOWN_LINK.sub(r"\1", text)
    text = _LINE_START.sub("", text)
    text = _EMPHASIS.sub(r"\2", text)
    text = _HASHTAG.sub("", text)
    text = "".join(" " if _is_emoji(character) else character for character in text)
    text = " ".join(text.split())
    return re.sub(r"\s+([,.;:!?，。；：！？、])", r"\1", text)


def facts_of(brief: Brief) -> tuple[Fact, ...]:
    """Every fact of ``brief``, the product first, repetitions and empty ones left out."""
    seen: set[str] = set()
    kept = []
    for role, given, importance in _rows(brief):
        text = plain(given).strip(" ,;:，；：、.。" if role is not FactRole.PRODUCT else " ,;:，；：、")
        if any(character.isalnum() for character in text) and text.casefold() not in seen:
            seen.add(text.casefold())
            targeting = role is FactRole.AUDIENCE and _TARGETING.search(text) and not _CHILDREN.search(text)
            kept.append(Fact(role=role, text=text, given=given, importance=0.0 if targeting else importance))
    return tuple(kept)


def _rows(brief: Brief) -> Iterator[tuple[FactRole, str, float]]:
    yield FactRole.PRODUCT, brief.product, 100.0
    for role, value, importance in (
        (FactRole.CALL_TO_ACTION, brief.call_to_action, 40.0),
        (FactRole.BRAND, brief.brand, 4.0),
        (FactRole.OFFER, brief.offer, 9.5),
        (FactRole.PRICE, brief.price, 8.0),
        (FactRole.AUDIENCE, brief.audience, 3.0),
    ):
        if value:
            yield role, value, importance
    for rank, benefit in enumerate(brief.benefits):
        yield FactRole.BENEFIT, benefit, max(1.2, 5.0 - 0.9 * rank)
    for rank, keyword in enumerate(brief.keywords):
        yield FactRole.KEYWORD, keyword, max(0.5, (1.2 if brief.benefits else 3.5) - 0.15 * rank)


def _is_emoji(character: str) -> bool:
    code = ord(character)
    if code in (0x200D, 0x20E3, 0xFE0E, 0xFE0F) or 0xE0020 <= code <= 0xE007F:
        return True
    return code > 0x2000 and character not in _KEPT_SYMBOLS and unicodedata.category(character) in ("So", "Cn", "Sk")
