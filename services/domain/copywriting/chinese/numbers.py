"""Numbers in Chinese characters."""

from __future__ import annotations

import re
from typing import Final

_CHINESE_DIGITS: Final = {c: i for i, c in enumerate("零一二三四五六七八九")} | {"两": 2, "兩": 2, "〇": 0}
_CHINESE_SCALES: Final = (
    {"十": 10, "百": 100, "千": 1_000} | dict.fromkeys("万萬", 10_000) | dict.fromkeys("亿億", 10**8)
)
_CHINESE_COUNTED: Final = r"折|元|块|塊|％|%|倍|成|个?小时|個?小時|天|周|週|个?星期|個?星期|个?月|個?月|年|分钟|分鐘|秒"
CHINESE_NUMBER: Final = re.compile(
    r"[零一二三四五六七八九两兩〇十百千万萬亿億]{2,}"
    rf"|[二三四五六七八九两兩十](?={_CHINESE_COUNTED}|[个個款种種次位名])|一(?=折|元|块|塊|％|%|倍|成|个?小时|個?小時|周|週|个?星期|個?星期|个月|個月|分钟|分鐘|秒)"
    r"|(?<=百分之)[一二三四五六七八九十百]"
)


def chinese_value(text: str) -> float:
    """Of a match of ``CHINESE_NUMBER``."""
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
