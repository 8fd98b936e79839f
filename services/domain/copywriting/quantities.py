"""The numbers in a text, in figures and in words, with the units that they count."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from services.domain.copywriting.chinese.numbers import CHINESE_NUMBER, chinese_value
from services.domain.copywriting.english.numbers import (
    ENGLISH_NUMBER,
    ENGLISH_OTHER,
    ENGLISH_OTHERS,
    english_value,
    with_cents,
)
from services.domain.copywriting.length import primary_language

_DIGITS: Final = re.compile(r"\d+(?:[.,]\d+)*")
_IN_PHRASES: Final = ((1.0, "day"), (1.0, "year"))  # "one day", "a new day": as often said without a promise
# What a number counts, by the word behind it or the sign before it; words of one meaning share a name.
_COUNTED: Final = {
    word: name
    for name, words in {
        "percent": "% percent per-cent prozent procent pour-cent por-ciento per-cento ％",
        "usd": "$ dollar dollars us$ usd buck bucks",
        "eur": "€ euro euros eur",
        "gbp": "£ pound pounds gbp quid",
        "cny": "¥ ￥ yuan rmb cny 元 块 塊",
        "second": "second seconds sec secs sekunde sekunden seconde secondes segundo segundos secondi 秒",
        "minute": "minute minutes min mins minuten minutos minuti 分钟 分鐘",
        "hour": "hour hours hr hrs h stunde stunden heure heures hora horas ora ore uur 小时 小時 个小时 個小時",
        "day": "day days tag tage tagen jour jours día días dia dias giorno giorni dag dagen 天",
        "week": "week weeks woche wochen semaine semaines semana semanas settimana settimane weken 周 週 星期 个星期",
        "month": "month months monat monate mois mes meses mese mesi maand maanden 月 个月 個月",
        "year": "year years yr yrs jahr jahre jahren an ans année années año años ano anos anno anni jaar 年",
        "times": "times x fold mal fois veces vezes volte keer 倍",
        "tenth": "折 成",
        "stars": "star stars",
        "place": "place st nd rd th",
    }.items()
    for word in words.split(" ")
}
_BEHIND: Final = re.compile(
    r"[ -]*(?:(per cent|pour cent|por ciento|per cento)|(个?小时|個?小時|个?月|個?月|个?星期|分[钟鐘])"
    r"|([^\W\d_]+|[%$€£¥￥％]))"
)
_BEFORE: Final = re.compile(r"(us\$|[$€£¥￥]|usd|eur|rmb) ?\Z|(百分之)\Z")
# "one" and small counts are ordinary words ("this one", "two of a kind"), unless they count time, money or such.
_SMALLEST_CLAIM: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """``counted``: ``hour``, ``percent``, ``usd`` ...; None when it counts things of no listed kind."""

    text: str
    value: float
    counted: str | None
    is_claim: bool


def quantities(text: str, language: str) -> list[Quantity]:
    """Every number of ``text``, which is in lower case, in order within figures, words and Chinese numbers."""
    text = with_cents(text)
    found: list[Quantity] = []
    for match in _DIGITS.finditer(text):
        found.append(_quantity(text, match, _value(match.group()), in_words=False))
    for match in ENGLISH_NUMBER.finditer(text):
        found.append(_quantity(text, match, english_value(match.group()), in_words=True))
    for match in ENGLISH_OTHER.finditer(text):
        counted = None if match.group().startswith("dozen") else "times"
        value = ENGLISH_OTHERS[match.group()]
        found.append(Quantity(text=match.group(), value=value, counted=counted, is_claim=True))
    for match in CHINESE_NUMBER.finditer(text):
        found.append(_quantity(text, match, chinese_value(match.group()), in_words=False))
    words = _words_of(primary_language(language))
    if words:
        for match in _pattern_of(primary_language(language)).finditer(text):
            found.append(_quantity(text, match, float(words[match.group()]), in_words=True))
    return found


def _quantity(text: str, match: re.Match[str], value: float, *, in_words: bool) -> Quantity:
    counted = None
    before = _BEFORE.search(text[max(0, match.start() - 5) : match.start()])
    behind = _BEHIND.match(text, match.end())
    if before:
        counted = "percent" if before[2] else _COUNTED.get(before[1])
    if counted is None and behind:
        counted = _COUNTED.get((behind[1] or behind[2] or behind[3]).replace(" ", "-"))
    return Quantity(
        text=match.group(),
        value=value,
        counted=counted,
        is_claim=not in_words
        or value >= _SMALLEST_CLAIM
        or (counted is not None and (value, counted) not in _IN_PHRASES),
    )


def _value(digits: str) -> float:
    if re.fullmatch(r"\d{1,3}(?:[.,]\d{3})+", digits):
        return float(re.sub(r"[.,]", "", digits))
    head, _, tail = digits.replace(",", ".").rpartition(".")
    return float(f"{head.replace('.', '')}.{tail}" if head else tail)


@cache
def _words_of(language: str) -> Mapping[str, int]:
    """Numbers in words, as ``models.speech.number_words`` wrote them; empty for a language without."""
    return _all_words().get("no" if language in ("nb", "nn") else language, {})


@cache
def _all_words() -> dict[str, dict[str, int]]:
    text = files("services.domain.copywriting").joinpath("number_words.json").read_text(encoding="utf-8")
    words: dict[str, dict[str, int]] = json.loads(text)
    return words


@cache
def _pattern_of(language: str) -> re.Pattern[str]:
    longest_first = sorted(_words_of(language), key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, longest_first))})\b")
