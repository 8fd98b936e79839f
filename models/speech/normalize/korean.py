"""Korean numbers before counters: hours, things and people are counted in native words."""

from __future__ import annotations

from typing import Final

DIGITS: Final = "공일이삼사오육칠팔구"
_ONES: Final = ("", "한", "두", "세", "네", "다섯", "여섯", "일곱", "여덟", "아홉")
_TENS: Final = ("", "열", "스물", "서른", "마흔", "쉰", "예순", "일흔", "여든", "아흔")

# Counters that take native numbers below a hundred.
NATIVE_COUNTERS: Final = "개(?!월)|명|살|시간|시|번째|번|마리|잔|병|권|장|벌|켤레|대|가지|곳|분|송이|그루|달"


def native(number: int) -> str:
    """``21`` -> 스물한, as before a counter; 1 to 99."""
    if number == 20:
        return "스무"
    tens, ones = divmod(number, 10)
    return _TENS[tens] + _ONES[ones]


def ordinal(number: int) -> str:
    if number == 1:
        return "첫 번째"
    if number < 100:
        return f"{native(number)} 번째"
    from num2words import num2words

    return f"{num2words(number, lang='ko')} 번째"
