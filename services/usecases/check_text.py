"""The rules of texts and briefs, wherever a request carries one."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from services.domain import copywriting
from services.domain.brief import Brief
from services.domain.errors import ContentRejected, InvalidRequest
from services.settings import Settings

_LANGUAGE: Final = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")
_LINES: Final = "\t\n\r\u2028\u2029"
_CONTROLS: Final = ("Cc", "Cs", "Zl", "Zp")


def check_text(text: str, settings: Settings, *, param: str) -> None:
    """Nothing, when ``text`` has something to say and is within the limit.

    Raises:
        ContentRejected: ``nothing_to_say``, ``text_too_long``, ``control_character``.
    """
    if len(text) > settings.max_text_characters:
        raise ContentRejected(
            f"The text has {len(text)} characters; the limit is {settings.max_text_characters}.",
            code="text_too_long",
            param=param,
        )
    if not any(character.isalnum() for character in text):
        raise ContentRejected(
            "There is nothing to say: the text has no letter and no digit.", code="nothing_to_say", param=param
        )
    check_characters(text, param=param, allowed=_LINES)


def check_characters(text: str, *, param: str, allowed: str = "") -> None:
    """Nothing, when ``text`` has no control character, line end or lone surrogate but ``allowed`` ones.

    They come from broken exports, and a terminal or log that prints them obeys them.

    Raises:
        ContentRejected: ``control_character``.
    """
    if text.isprintable():
        return  # as nearly all are; what is not may still be a character that is only invisible
    for character in text:
        if unicodedata.category(character) in _CONTROLS and character not in allowed:
            raise ContentRejected(
                f"{param} contains the control character U+{ord(character):04X}; remove it.",
                code="control_character",
                param=param,
            )


def check_brief(brief: Brief, settings: Settings, *, param: str = "brief") -> None:
    """Nothing, when the brief names a product and keeps the limits.

    Raises:
        InvalidRequest: ``out_of_range``, ``unknown_tone``, ``malformed_language``.
        ContentRejected: ``nothing_to_say``, ``text_too_long``, ``too_many_facts``, ``control_character``.
    """
    check_language(brief.language, param=f"{param}.language")
    copywriting.check_brief(brief, param=param)
    facts = (brief.product, brief.brand, brief.audience, brief.offer, brief.price, brief.call_to_action)
    num_characters = sum(len(fact) for fact in (*facts, *brief.keywords, *brief.benefits) if fact is not None)
    if num_characters > settings.max_text_characters:
        raise ContentRejected(
            f"The brief has {num_characters} characters; the limit is {settings.max_text_characters}.",
            code="text_too_long",
            param=param,
        )


def check_language(tag: str, *, param: str) -> None:
    """Nothing, when ``tag`` has the form of BCP 47.

    Raises:
        InvalidRequest: ``malformed_language``.
    """
    if not _LANGUAGE.fullmatch(tag):
        raise InvalidRequest(f"{tag!r} is no BCP 47 language tag.", code="malformed_language", param=param)


def check_in_range(param: str, value: float, least: float, most: float) -> None:
    """Nothing, when ``value`` is ``least`` to ``most``, both included.

    Raises:
        InvalidRequest: ``out_of_range``, also for NaN.
    """
    if not least <= value <= most:
        raise InvalidRequest(f"{param} is {value}; it is {least} to {most}.", code="out_of_range", param=param)
