"""Numbers in English words."""

from __future__ import annotations

import re
from typing import Final

_SMALL_WORDS: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen",
    "eighteen nineteen",
)
_UNITS: Final = {word: value for value, word in enumerate(" ".join(_SMALL_WORDS).split(" "))}
_TEN_WORDS: Final = "twenty thirty forty fifty sixty seventy eighty ninety"
_TENS: Final = {word: 10 * value for value, word in enumerate(_TEN_WORDS.split(" "), start=2)}
_SCALES: Final = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_NUMBER_WORD: Final = "|".join([*_TENS, *_UNITS, *_SCALES])
ENGLISH_NUMBER: Final = re.compile(rf"\b(?:{_NUMBER_WORD})(?:[\s-]+(?:and\s+)?(?:{_NUMBER_WORD}))*s?\b")
_PRICE_IN_WORDS: Final = re.compile(
    rf"({ENGLISH_NUMBER.pattern}) (dollars?|euros?|pounds?) (?:and )?({ENGLISH_NUMBER.pattern})(?: cents| pence)?"
)
# Words that are numbers by themselves; a dozen of anything is twelve.
ENGLISH_OTHERS: Final = {
    **{"twice": 2, "double": 2, "doubles": 2, "doubled": 2, "thrice": 3, "triple": 3, "triples": 3, "tripled": 3},
    **{"quadruple": 4, "tenfold": 10, "twofold": 2, "threefold": 3, "fivefold": 5, "hundredfold": 100},
    **{"half": 0.5, "halves": 0.5, "halved": 0.5, "dozen": 12, "dozens": 12},
}
ENGLISH_OTHER: Final = re.compile(rf"\b(?:{'|'.join(ENGLISH_OTHERS)})\b")


def with_cents(text: str) -> str:
    """``nine euros fifty`` as 9.50 euros."""

    def price(match: re.Match[str]) -> str:
        whole, cents = english_value(match[1]), english_value(match[3])
        return f"{whole + cents / 100:.2f} {match[2]}" if cents < 100 else match.group()

    return _PRICE_IN_WORDS.sub(price, text)


def english_value(words: str) -> float:
    """Of a match of ``ENGLISH_NUMBER``, in lower case."""
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
