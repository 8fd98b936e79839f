"""Words that promise: ranks, comparisons, health, law, nature, price, haste.

``promises.json`` has them by language as regular expressions, one promise a line. A script may make a promise that its
brief makes in whatever words of the same line, and no other. The lists are wide on purpose: an innocent sentence that
is refused costs a second try, an invented cure costs the advertiser. China's advertising law (articles 9, 16 and 17)
forbids some outright; elsewhere they need proof. Of languages beside English and Chinese less is known: what ranks,
cures, costs nothing or is guaranteed.
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from typing import Final

_WITHOUT_SPACES: Final = ("zh", "ja", "ko")
_EST: Final = re.compile(r"\b(?:[a-z]{2,}[^aeiou\W\d_]est|[a-z]+iest)\b")
_FREE_OF: Final = re.compile(r"\b\w+-free\b")


def promises(text: str, language: str) -> list[tuple[str, int]]:
    """Each promise of ``text``, which is in lower case, with the number of its line.

    Those of English and Chinese are looked for in every language, since scripts mix them.
    """
    return [(match.group(), number) for number, line in enumerate(_lines(language)) for match in line.finditer(text)]


def superlatives(text: str) -> list[str]:
    """English words in -est that rank, and such as "fragrance-free": each is a promise of its own."""
    ordinary = _data()["not superlatives"][0].split(" ")
    return [*(word for word in _EST.findall(text) if word not in ordinary), *_FREE_OF.findall(text)]


@cache
def _lines(language: str) -> tuple[re.Pattern[str], ...]:
    """The lines of English and Chinese, then the language's own."""
    languages = dict.fromkeys(("en", "zh", language))
    return tuple(_compiled(line, one) for one in languages for line in _data().get(one, ()))


@cache
def _data() -> dict[str, list[str]]:
    text = files("services.domain.copywriting").joinpath("promises.json").read_text(encoding="utf-8")
    data: dict[str, list[str]] = json.loads(text)
    return data


def _compiled(line: str, language: str) -> re.Pattern[str]:
    if language in _WITHOUT_SPACES:
        return re.compile(line)
    return re.compile(rf"(?<!\w)(?:{line})(?!\w)(?!-free)")
