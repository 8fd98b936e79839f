"""What a script says that its brief does not: numbers, addresses, superlatives."""

from __future__ import annotations

import re
from typing import Final

from services.domain.brief import Brief

_DIGITS: Final = re.compile(r"\d+(?:[.,]\d+)*")
_ADDRESS: Final = re.compile(
    r"(?i)[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?:https?://)?(?:www\.)?[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}\b"
)
_SMALL_WORDS: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen",
    "eighteen nineteen",
)
_UNITS: Final = {word: value for value, word in enumerate(" ".join(_SMALL_WORDS).split(" "))}
_TENS: Final = {
    "twenty": 20,
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sixty": 60,
    "seventy": 70,
    "eighty": 80,
    "ninety": 90,
}
_SCALES: Final = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_NUMBER_WORD: Final = "|".join([*_TENS, *_UNITS, *_SCALES])
_ENGLISH_NUMBER: Final = re.compile(rf"\b(?:{_NUMBER_WORD})(?:[\s-]+(?:and\s+)?(?:{_NUMBER_WORD}))*\b")
# "one" and small counts are ordinary words ("this one", "two of a kind"); from here on a number is a claim.
_SMALLEST_CLAIM: Final = 10
_CHINESE_DIGITS: Final = {c: i for i, c in enumerate("零一二三四五六七八九")} | {"两": 2, "兩": 2, "〇": 0}
_CHINESE_SCALES: Final = (
    {"十": 10, "百": 100, "千": 1_000} | dict.fromkeys("万萬", 10_000) | dict.fromkeys("亿億", 10**8)
)
_CHINESE_NUMBER: Final = re.compile(
    r"[零一二三四五六七八九两兩〇十百千万萬亿億]{2,}|[零一二三四五六七八九两兩十](?=[折元块塊％%倍])"
)
# Words that rank a product; China's advertising law (article 9) forbids them, elsewhere they need proof.
_RANKS: Final = re.compile(
    r"(?i)\b(?:best|greatest|finest|cheapest|fastest|strongest|leading|number one|no\. ?1|#1|guaranteed|award-winning|"
    r"clinically proven|revolutionary|world-class|unbeatable)\b"
    r"|最[好佳优優强強大低高快新先]|第一|唯一|首[个個]|[顶頂]级|[顶頂]級|[国國]家[级級]|极致|極致|[绝絕][对對]"
)


def foreign_claims(script: str, brief: Brief) -> tuple[str, ...]:
    """Each claim of ``script`` that no field of ``brief`` makes, as written in the script.

    A number counts as the brief's in figures or in words, in either language; an address counts when the brief has
    it. It is a guard against inventions, not a proof of truth.
    """
    single = (brief.product, brief.brand, brief.audience, brief.offer, brief.price, brief.call_to_action)
    told = "\n".join(fact for fact in (*single, *brief.benefits, *brief.keywords) if fact).casefold()
    known = {value for _, value in _numbers(told)}
    found = [
        text
        for text, value in _numbers(script.casefold())
        if value not in known and (text[0].isdigit() or not text.isascii() or value >= _SMALLEST_CLAIM)
    ]
    found += [match for match in _ADDRESS.findall(script) if match.casefold() not in told]
    found += [match.group(0) for match in _RANKS.finditer(script) if match.group(0).casefold() not in told]
    return tuple(dict.fromkeys(found))


def _numbers(text: str) -> list[tuple[str, float]]:
    found = [(digits, _value(digits)) for digits in _DIGITS.findall(text)]
    found += [(match.group(0), _english_value(match.group(0))) for match in _ENGLISH_NUMBER.finditer(text)]
    found += [(match.group(0), _chinese_value(match.group(0))) for match in _CHINESE_NUMBER.finditer(text)]
    return found


def _value(digits: str) -> float:
    if re.fullmatch(r"\d{1,3}(?:[.,]\d{3})+", digits):
        return float(re.sub(r"[.,]", "", digits))
    head, _, tail = digits.replace(",", ".").rpartition(".")
    return float(f"{head.replace('.', '')}.{tail}" if head else tail)


def _english_value(words: str) -> float:
    total = current = 0
    for word in re.findall(r"[a-z]+", words):
        if word in _SCALES:
            current = max(1, current) * _SCALES[word]
            if _SCALES[word] > 100:
                total, current = total + current, 0
        elif word != "and":
            current += _UNITS.get(word, 0) + _TENS.get(word, 0)
    return float(total + current)


def _chinese_value(text: str) -> float:
    if not any(character in _CHINESE_SCALES for character in text):
        return float("".join(str(_CHINESE_DIGITS[character]) for character in text))
    total = section = digit = 0
    for character in text:
        if character in _CHINESE_DIGITS:
            digit = _CHINESE_DIGITS[character]
            continue
        scale = _CHINESE_SCALES[character]
        if scale >= 10_000:
            total, section = total + (section + digit) * scale, 0
        else:
            section += max(1, digit) * scale
        digit = 0
    return float(total + section + digit)
