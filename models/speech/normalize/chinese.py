"""Chinese number words."""

from __future__ import annotations

from typing import Final

DIGITS: Final = "零一二三四五六七八九"
_SMALL: Final = ("", "十", "百", "千")
_LARGE: Final = ("", "万", "亿", "万亿")


def cardinal(number: int) -> str:
    """``10500`` -> 一万零五百."""
    if number == 0:
        return "零"
    groups = []
    while number:
        number, group = divmod(number, 10_000)
        groups.append(group)
    words, gap = "", False
    for index in range(len(groups) - 1, -1, -1):
        group = groups[index]
        if group == 0:
            gap = bool(words)
            continue
        if words and (gap or group < 1000):
            words += "零"
        words += _below_ten_thousand(group) + _LARGE[index]
        gap = False
    return words.removeprefix("一") if words.startswith("一十") else words


def counted(number: int) -> str:
    """Before a measure word: 两 instead of 二."""
    return "两" if number == 2 else cardinal(number)


def _below_ten_thousand(number: int) -> str:
    words, gap = "", False
    for place in (3, 2, 1, 0):
        digit = number // 10**place % 10
        if digit == 0:
            gap = bool(words)
            continue
        if gap:
            words += "零"
        two = "两" if digit == 2 and place == 3 else DIGITS[digit]
        words += two + _SMALL[place]
        gap = False
    return words
