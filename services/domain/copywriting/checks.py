"""Whether a brief can be written about."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from services.domain.brief import Brief
from services.domain.copywriting.facts import plain
from services.domain.errors import ContentRejected, InvalidRequest

# Bidirectional overrides and byte-order marks: invisible in a form, and able to reorder or hide what is read.
_HIDDEN: Final = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")


class Tone(StrEnum):
    FRIENDLY = "friendly"
    CONFIDENT = "confident"
    PLAYFUL = "playful"
    CALM = "calm"


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefLimits:
    """Characters a field, items a list, seconds of speech."""

    max_name_characters: int = 120
    max_fact_characters: int = 300
    max_facts: int = 30
    min_duration_s: float = 3.0
    max_duration_s: float = 600.0


def check_brief(brief: Brief, *, limits: BriefLimits | None = None, param: str = "brief") -> None:
    """Raise unless ``brief`` is within limits and names a product.

    Args:
        param: Where the brief stands in the request; the error's ``param`` starts with it.

    Raises:
        InvalidRequest: ``out_of_range`` (the seconds), ``unknown_tone``.
        ContentRejected: ``nothing_to_say`` (no product), ``text_too_long``, ``too_many_facts``,
            ``control_character``.
    """
    limits = limits or BriefLimits()
    if not any(character.isalnum() for character in plain(brief.product)):
        raise ContentRejected(
            "The brief names no product; say in `product` what is sold.",
            code="nothing_to_say",
            param=f"{param}.product",
        )
    if not limits.min_duration_s <= brief.duration_s <= limits.max_duration_s:  # NaN is not
        raise InvalidRequest(
            f"duration_s is {brief.duration_s:g}; a script takes {limits.min_duration_s:g} to "
            f"{limits.max_duration_s:g} seconds.",
            code="out_of_range",
            param=f"{param}.duration_s",
        )
    if brief.tone is not None and brief.tone not in tuple(Tone):
        raise InvalidRequest(
            f"The tone {brief.tone!r} is not one of {', '.join(Tone)}.", code="unknown_tone", param=f"{param}.tone"
        )
    for name, items in (("benefits", brief.benefits), ("keywords", brief.keywords)):
        if len(items) > limits.max_facts:
            raise ContentRejected(
                f"{name} has {len(items)} entries; {limits.max_facts} are allowed.",
                code="too_many_facts",
                param=f"{param}.{name}",
            )
    for name, text in _texts(brief):
        _check_text(text, name, limits, f"{param}.{name}")


def _texts(brief: Brief) -> Iterator[tuple[str, str]]:
    for name in ("product", "brand", "audience", "offer", "price", "call_to_action"):
        value = getattr(brief, name)
        if value is not None:
            yield name, value
    for name in ("benefits", "keywords"):
        for index, value in enumerate(getattr(brief, name)):
            yield f"{name}.{index}", value


def _check_text(text: str, name: str, limits: BriefLimits, param: str) -> None:
    limit = limits.max_name_characters if name in ("product", "brand") else limits.max_fact_characters
    if len(text) > limit:
        raise ContentRejected(
            f"{name} has {len(text)} characters; {limit} are allowed.", code="text_too_long", param=param
        )
    for character in text:
        if character in _HIDDEN or (unicodedata.category(character) in ("Cc", "Cs") and character not in "\t\n\r"):
            raise ContentRejected(
                f"{name} contains the invisible character U+{ord(character):04X}; remove it.",
                code="control_character",
                param=param,
            )
