"""Vietnamese number words (num2words drops the hundreds after thousands)."""

from __future__ import annotations

from typing import Final

_DIGITS: Final = "không một hai ba bốn năm sáu bảy tám chín".split()  # noqa: SIM905
_LARGE: Final = ("", "nghìn", "triệu", "tỷ", "nghìn tỷ")


def cardinal(number: int) -> str:
    """``2025`` -> hai nghìn không trăm hai mươi lăm."""
    if number == 0:
        return _DIGITS[0]
    groups = []
    while number:
        number, group = divmod(number, 1000)
        groups.append(group)
    words: list[str] = []
    for index in range(len(groups) - 1, -1, -1):
        if groups[index]:
            words.append(_below_thousand(groups[index], full=bool(words)))
            words.append(_LARGE[index])
    return " ".join(word for word in words if word)


def ordinal(number: int) -> str:
    return "thứ " + {1: "nhất", 2: "hai", 4: "tư"}.get(number, cardinal(number))


def _below_thousand(number: int, *, full: bool) -> str:
    hundreds, rest = divmod(number, 100)
    words = [f"{_DIGITS[hundreds]} trăm"] if hundreds or full else []
    tens, ones = divmod(rest, 10)
    if tens == 0:
        if ones:
            words += (["linh"] if words else []) + [_DIGITS[ones]]
        return " ".join(words)
    words.append("mười" if tens == 1 else f"{_DIGITS[tens]} mươi")
    if ones == 5:
        words.append("lăm")
    elif ones == 1 and tens > 1:
        words.append("mốt")
    elif ones:
        words.append(_DIGITS[ones])
    return " ".join(words)
