"""The numbers in a text, in figures and in words, with the units that they count."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from services.domain.copywriting.length import primary_language

_DIGITS: Final = re.compile(r"\d+(?:[.,]\d+)*")
_SMALL_WORDS: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen",
    "eighteen nineteen",
)
_UNITS: Final = {word: value for value, word in enumerate(" ".join(_SMALL_WORDS).split(" "))}
_TEN_WORDS: Final = "twenty thirty forty fifty sixty seventy eighty ninety"
_TENS: Final = {word: 10 * value for value, word in enumerate(_TEN_WORDS.split(" "), start=2)}
_SCALES: Final = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_NUMBER_WORD: Final = "|".join([*_TENS, *_UNITS, *_SCALES])
_ENGLISH_NUMBER: Final = re.compile(rf"\b(?:{_NUMBER_WORD})(?:[\s-]+(?:and\s+)?(?:{_NUMBER_WORD}))*s?\b")
_PRICE_IN_WORDS: Final = re.compile(
    rf"({_ENGLISH_NUMBER.pattern}) (dollars?|euros?|pounds?) (?:and )?({_ENGLISH_NUMBER.pattern})(?: cents| pence)?"
)
# Words that are numbers by themselves; a dozen of anything is twelve.
_ENGLISH_OTHERS: Final = {
    **{"twice": 2, "double": 2, "doubles": 2, "doubled": 2, "thrice": 3, "triple": 3, "triples": 3, "tripled": 3},
    **{"quadruple": 4, "tenfold": 10, "twofold": 2, "threefold": 3, "fivefold": 5, "hundredfold": 100},
    **{"half": 0.5, "halves": 0.5, "halved": 0.5, "dozen": 12, "dozens": 12},
}
_ENGLISH_OTHER: Final = re.compile(rf"\b(?:{'|'.join(_ENGLISH_OTHERS)})\b")
_CHINESE_DIGITS: Final = {c: i for i, c in enumerate("零一二三四五六七八九")} | {"两": 2, "兩": 2, "〇": 0}
_CHINESE_SCALES: Final = (
    {"十": 10, "百": 100, "千": 1_000} | dict.fromkeys("万萬", 10_000) | dict.fromkeys("亿億", 10**8)
)
_CHINESE_COUNTED: Final = r"折|元|块|塊|％|%|倍|成|个?小时|個?小時|天|周|週|个?星期|個?星期|个?月|個?月|年|分钟|分鐘|秒"
_CHINESE_NUMBER: Final = re.compile(
    r"[零一二三四五六七八九两兩〇十百千万萬亿億]{2,}"
    rf"|[二三四五六七八九两兩十](?={_CHINESE_COUNTED}|[个個款种種次位名])|一(?={_CHINESE_COUNTED})"
    r"|(?<=百分之)[一二三四五六七八九十百]"
)
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
    text = _with_cents(text)
    found: list[Quantity] = []
    for match in _DIGITS.finditer(text):
        found.append(_quantity(text, match, _value(match.group()), in_words=False))
    for match in _ENGLISH_NUMBER.finditer(text):
        found.append(_quantity(text, match, _english_value(match.group()), in_words=True))
    for match in _ENGLISH_OTHER.finditer(text):
        counted = None if match.group().startswith("dozen") else "times"
        value = _ENGLISH_OTHERS[match.group()]
        found.append(Quantity(text=match.group(), value=value, counted=counted, is_claim=True))
    for match in _CHINESE_NUMBER.finditer(text):
        found.append(_quantity(text, match, _chinese_value(match.group()), in_words=False))
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
        is_claim=not in_words or value >= _SMALLEST_CLAIM or counted is not None,
    )


def _with_cents(text: str) -> str:
    """``nine euros fifty`` as 9.50 euros."""

    def price(match: re.Match[str]) -> str:
        whole, cents = _english_value(match[1]), _english_value(match[3])
        return f"{whole + cents / 100:.2f} {match[2]}" if cents < 100 else match.group()

    return _PRICE_IN_WORDS.sub(price, text)


def _value(digits: str) -> float:
    if re.fullmatch(r"\d{1,3}(?:[.,]\d{3})+", digits):
        return float(re.sub(r"[.,]", "", digits))
    head, _, tail = digits.replace(",", ".").rpartition(".")
    return float(f"{head.replace('.', '')}.{tail}" if head else tail)


def _english_value(words: str) -> float:
    total = current = 0.0  # floats: a run of scales ends at infinity, not in an error
    for word in re.findall(r"[a-z]+", words):
        word = word if word in _SCALES or word in _UNITS or word in _TENS else word.removesuffix("s")
        if word in _SCALES:
            current = max(1.0, current) * _SCALES[word]
            if _SCALES[word] > 100:
                total, current = total + current, 0.0
        elif word != "and":
            current += _UNITS.get(word, 0) + _TENS.get(word, 0)
    return total + current


def _chinese_value(text: str) -> float:
    if not any(character in _CHINESE_SCALES for character in text):
        return float("".join(str(_CHINESE_DIGITS[character]) for character in text))
    total = section = digit = 0.0
    for character in text:
        if character in _CHINESE_DIGITS:
            digit = _CHINESE_DIGITS[character]
            continue
        scale = _CHINESE_SCALES[character]
        if scale >= 10_000:
            total, section = total + (section + digit) * scale, 0.0
        else:
            section += max(1.0, digit) * scale
        digit = 0.0
    return total + section + digit


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
