"""How each language writes and reads numbers, dates, money and signs; the data is in ``data/``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

from babel import Locale, UnknownLocaleError
from pydantic import TypeAdapter

_DATA: Final = Path(__file__).with_name("data")


@dataclass(frozen=True, slots=True, kw_only=True)
class Currency:
    """Names in the order of the language's plural categories (one, few, many, other), as far as it has them.

    No ``minor``: decimals are read before the name.

    Attributes:
        minor_unsaid: After a whole amount only the number of the minor units is said.
    """

    unit: tuple[str, ...]
    minor: tuple[str, ...] = ()
    gender: str = "m"
    minor_gender: str = "m"
    minor_unsaid: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """``{h}``, ``{m}``, ``{s}``: numbers; ``{hw}``, ``{mw}``: the words for hours and minutes in the right number."""

    full: str
    whole: str
    hours: tuple[str, ...] = ("",)
    minutes: tuple[str, ...] = ("",)
    hour_gender: str = "m"
    minute_gender: str = "m"
    minute_zero: str = ""  # said before minutes under ten
    suffixes: tuple[str, ...] = ()  # words after the time that it already says
    am: str = ""
    pm: str = ""
    twelve_hours: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar:
    """Templates with ``{day}``, ``{month}``, ``{year}``; ``order`` of numeric dates: dmy, mdy or ymd."""

    order: str
    full: str
    without_year: str
    month_year: str = "{month} {year}"
    day: str = "cardinal"  # cardinal, ordinal, first (only the first is an ordinal)
    months: tuple[str, ...] = ()  # own names, where the ones of CLDR will not do


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageRules:
    """One language. A field left empty leaves the reading to the voice.

    Attributes:
        groups: Signs that may stand between groups of three digits.
        spaced: Whether words are separated by spaces.
        ratio: Word between the numbers of 16:9; empty: ``to``.
        magnitudes: Written to spoken; several forms by the language's plural are separated by ``|``.
        million_link: Word between a round million and its noun (un millón *de* euros).
        feminine: Nouns among the units that are feminine.
        year_after, ordinal_after: Words after which a number is a year, an ordinal.
        final: Abbreviations that can end a sentence.
    """

    tag: str
    decimal: str
    groups: str
    point: str
    minus: str
    plus: str
    to: str
    by: str
    times: str
    dot: str
    at: str
    slash: str
    dash: str
    hashtag: str
    version: str
    number: str
    per: str = ""
    ratio: str = ""
    half: str
    quarter: str
    three_quarters: str
    third: str
    two_thirds: str
    fraction: str = "{n} {slash} {d}"
    and_half: str = "{n} {half}"
    percent: str = ""
    spaced: bool = True
    money_join: str = " "
    million_link: str = ""
    feminine: tuple[str, ...] = ()
    signs: dict[str, str] = field(default_factory=dict)
    abbreviations: dict[str, str] = field(default_factory=dict)
    magnitudes: dict[str, str] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    year_after: tuple[str, ...] = ()
    ordinal_after: tuple[str, ...] = ()
    final: tuple[str, ...] = ()
    clock: Clock
    calendar: Calendar
    currency: dict[str, Currency] = field(default_factory=dict)


@cache
def rules_of(language: str) -> LanguageRules | None:
    """The rules for a BCP 47 tag, the most specific there are; None for a language without any."""
    parts = language.split("-")
    while parts:
        path = _DATA / f"{'-'.join(parts)}.toml"
        if path.is_file():
            return TypeAdapter(LanguageRules).validate_python(_read(path))
        parts.pop()
    return None


def _read(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        rows = tomllib.load(file)
    base = rows.pop("like", None)
    return {**_read(path.with_name(f"{base}.toml")), **rows} if base else rows


@cache
def locale_of(language: str) -> Locale:
    """The nearest locale that CLDR has."""
    primary, _, rest = language.partition("-")
    region = rest.split("-")[0]
    if len(region) == 2:
        try:
            return Locale(primary, territory=region)
        except UnknownLocaleError:
            pass
    return Locale(primary)


def plural(names: tuple[str, ...], number: float, language: str) -> str:
    """The one of ``names`` that agrees with ``number``."""
    locale = locale_of(language)
    order = [
        tag for tag in ("zero", "one", "two", "few", "many", "other") if tag in {*locale.plural_form.tags, "other"}
    ]
    form = locale.plural_form(number)
    index = order.index(form) if form in order else len(order) - 1
    return names[min(index, len(names) - 1)]
