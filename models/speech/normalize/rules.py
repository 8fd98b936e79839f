"""The order in which a language's rules are tried: where two would read the same characters, the earlier one does."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, Final

import regex

from models.speech.normalize import codes
from models.speech.normalize.calendar import Calendar
from models.speech.normalize.language import rules_of
from models.speech.normalize.quantities import Quantities, count, counted
from models.speech.normalize.reader import END, START, Reader

# Says how a match is read; None leaves it to later rules.
Handler = Callable[..., "str | None"]
Rule = tuple["regex.Pattern[str]", Callable[["regex.Match[str]"], "str | None"]]


@cache
def table(language: str) -> tuple[Rule, ...]:
    """The rules of a BCP 47 tag in their order."""
    rules = rules_of(language)
    if rules is None:  # numbers, dates and signs are left to the voice
        return _compiled(None, [*_LEFT_TO_VOICE, *_INITIALS])
    reader = Reader(language, rules)
    quantities, calendar = Quantities(reader), Calendar(reader)
    rows: list[tuple[str, Handler]] = [
        (codes.EMAIL, codes.email),
        (codes.LINK, codes.web),
        (codes.WEB, codes.web),
        (codes.HASHTAG, codes.hashtag),
        (codes.HANDLE, codes.handle),
        (calendar.iso, calendar.date),
        (calendar.numeric, calendar.date),
        (calendar.day_month, calendar.date),
        (calendar.month_day, calendar.date),
        (calendar.month_year, calendar.date),
        (calendar.short, calendar.date),
        (calendar.russian_year, calendar.year_of),
        (codes.LONG_PHONE, codes.phone),
        (codes.PHONE, codes.phone),
        (quantities.money_before, quantities.money),
        (quantities.money_after, quantities.money),
        (calendar.time_range, calendar.clock),
        (calendar.time, calendar.clock),
        (calendar.dotted_time, calendar.clock),
        (calendar.hour, calendar.clock),
        (codes.VERSION, codes.version),
        (codes.NUMBER_SIGN, codes.number_sign),
        (calendar.ordinal, calendar.place),
        (quantities.fraction, quantities.fractional),
        *((pattern, count) for pattern in counted(reader)),
        *([(quantities.decade, quantities.decades)] if rules.tag == "en" else []),
        (quantities.product, quantities.multiplied),
        (quantities.measure, quantities.measured),
        *_abbreviations(reader),
        (quantities.multiple, quantities.times),
        (quantities.range, quantities.ranged),
        (quantities.ratio, quantities.compared),
        (quantities.bare_fraction, quantities.fraction_alone),
        (codes.CODE, codes.code),
        (codes.NAME_WITH_DIGITS, codes.code),
        (quantities.plain, quantities.number),
        (rf"{START}\d+{END}|\d+", _digits),
        (_SPAN, _to),
        (_DOT, _dot),
        (r"(?<=[\p{L}\p{N}%€$°])/(?=\p{L})", _per),
        *_signs(reader),
        *_INITIALS,
    ]
    return _compiled(reader, rows)


def _compiled(reader: Reader | None, rows: list[tuple[str, Handler]]) -> tuple[Rule, ...]:
    return tuple(
        (regex.compile(pattern), handler if reader is None else partial(handler, reader)) for pattern, handler in rows
    )


# A dash between two quantities that other rules have read: 8am-5pm, 50%-60%, 8月8日—18日.
_SPAN: Final = (
    r"(?<=[\p{N}%‰℃°€$£¥日月年号点分時天]|\b[ap]\.?m\.?|\b[AP]M|\d[AaPp]\.?[Mm]\.?) ?[-–—~〜～] ?(?=[$€£¥￥]?\d)"
)
# A dot that belongs to a name: .NET, Node.js.
_DOT: Final = (
    r"(?<![\p{L}\p{N}.])\.(?=\p{L})"
    r"|(?<=[\p{L}\p{N}])\.(?=(?:js|ts|py|md|pdf|docx?|xlsx?|mp[34]|jpe?g|png|gif|zip|exe|csv|html?|css|json|txt)(?![\p{L}\p{N}]))"
)


def _abbreviations(reader: Reader) -> list[tuple[str, Handler]]:
    names = reader.rules.abbreviations
    if not names:
        return []
    forms = "|".join(regex.escape(form, literal_spaces=True) for form in sorted(names, key=len, reverse=True))
    return [(rf"(?<![\p{{L}}\p{{N}}])(?:{forms})(?![\p{{L}}\p{{N}}])", lambda _, match: names[match[0]])]


def _signs(reader: Reader) -> list[tuple[str, Handler]]:
    names = reader.rules.signs
    # Some signs mean something only before a number: ~5, <3 GB.
    forms = "|".join(regex.escape(sign) + (r"(?=\s?\d)" if sign in "~≈<>" else "") for sign in names)
    return [(forms, lambda _, match: names[match[0]])] if forms else []


def _initialism(*found: Any) -> str:
    match: regex.Match[str] = found[-1]
    return " ".join(letter for letter in match[0] if letter.isalpha())


def _digits(reader: Reader, match: regex.Match[str]) -> str:
    return reader.numbers.digits(match[0]) if len(match[0]) > 4 else reader.numbers.code(match[0])


def _to(reader: Reader, _: regex.Match[str]) -> str | None:
    return reader.rules.to or None


def _dot(reader: Reader, _: regex.Match[str]) -> str:
    return reader.rules.dot


def _per(reader: Reader, match: regex.Match[str]) -> str | None:
    """Per month after an amount; a slash between words is not read."""
    before = match.string[max(match.start() - 1, 0)]
    return reader.rules.per or None if before.isdigit() or before in "%€$°" else None


_INITIALS: Final[list[tuple[str, Handler]]] = [
    (r"(?<![\p{L}\p{N}])(?:\p{L}\.){2,}(?![\p{L}\p{N}])", _initialism),
    (r"(?<![\p{L}\p{N}])\p{Lu}\.(?= ?\p{Lu}\.)|(?<=\p{Lu}\. ?)\p{Lu}\.(?= \p{Lu})", _initialism),
]
# Languages without rules: the voice has words of its own for dots and signs.
_LEFT_TO_VOICE: Final[list[tuple[str, Handler]]] = [
    (codes.EMAIL, lambda match: match[0]),
    (codes.LINK, lambda match: match["host"].removeprefix("www.")),
    (codes.WEB, lambda match: match["host"].removeprefix("www.")),
]
