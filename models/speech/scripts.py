"""Which scripts a text is written in, and which voices read them."""

from __future__ import annotations

import unicodedata
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import groupby
from typing import Final

import langcodes

from models.speech.sentence import ForeignRun, Sentence

# First word of a letter's Unicode name -> ISO 15924.
_SCRIPT_OF_NAME: Final = {
    "LATIN": "Latn", "CYRILLIC": "Cyrl", "GREEK": "Grek", "CJK": "Hani", "HIRAGANA": "Hira", "KATAKANA": "Hira",
    "KATAKANA-HIRAGANA": "Hira", "HANGUL": "Hang", "DEVANAGARI": "Deva", "ARABIC": "Arab", "HEBREW": "Hebr",
    "THAI": "Thai", "ARMENIAN": "Armn", "GEORGIAN": "Geor", "BENGALI": "Beng", "GURMUKHI": "Guru",
    "GUJARATI": "Gujr", "ORIYA": "Orya", "TAMIL": "Taml", "TELUGU": "Telu", "KANNADA": "Knda",
    "MALAYALAM": "Mlym", "SINHALA": "Sinh", "LAO": "Laoo", "TIBETAN": "Tibt", "MYANMAR": "Mymr",
    "ETHIOPIC": "Ethi", "CHEROKEE": "Cher", "KHMER": "Khmr", "MONGOLIAN": "Mong", "SHAVIAN": "Shaw",
}  # fmt: skip
_PARTS: Final = {  # scripts that are written with several
    "Jpan": {"Hani", "Hira"}, "Hans": {"Hani"}, "Hant": {"Hani"}, "Kore": {"Hang", "Hani"},
}  # fmt: skip
_SCRIPTS: Final = {"hyw": "Armn"}  # unknown to CLDR
# Which language reads a script that is foreign to the voice; None: espeak-ng reads it in no language.
_READER: Final = {
    "Cyrl": "ru",
    "Hani": "zh",
    "Hira": "ja",
    "Deva": "hi",
    "Latn": "en",
    "Arab": None,
    "Hebr": None,
    "Thai": None,
}
# A Han character says about as much as three letters.
_WEIGHT: Final = {"Hani": 3, "Hira": 2, "Hang": 2}
_LEAST_OWN_SHARE: Final = 0.2


@cache
def script_of(sign: str) -> str | None:
    """ISO 15924 code of a letter's script; None for digits, marks and whatever all scripts share."""
    if len(plain := unicodedata.normalize("NFKC", sign)) == 1:
        sign = plain
    if not unicodedata.category(sign).startswith("L"):
        return None
    word = unicodedata.name(sign, "").split(" ")[0]
    return _SCRIPT_OF_NAME.get(
        word, "Zyyy" if word in ("MODIFIER", "MASCULINE", "FEMININE", "MICRO", "DOUBLE-STRUCK") else "Zzzz"
    )


@cache
def scripts_of(language: str) -> frozenset[str]:
    """The scripts that a BCP 47 language is written in."""
    script = _SCRIPTS.get(language) or langcodes.Language.get(language).maximize().script or "Latn"
    own = set(_PARTS.get(script, {script}))
    if language.split("-")[0] == "sr":
        own |= {"Cyrl", "Latn"}
    return frozenset(own)


def is_readable(text: str, language: str) -> bool:
    """Whether enough of ``text`` is in the language's own script for its voice to read it."""
    weights = _weights(text)
    own = sum(weight for script, weight in weights.items() if script in scripts_of(language))
    total = sum(weights.values())
    return total == 0 or own / total >= _LEAST_OWN_SHARE


def main_script(text: str) -> str | None:
    """The script that most of ``text`` is written in."""
    weights = _weights(text)
    if weights["Hira"]:
        return "Hira"
    return max(weights, key=lambda script: weights[script]) if weights else None


def reader_of(script: str) -> str | None:
    """Language whose voice reads a script; None if there is none."""
    if script in _READER:
        return _READER[script]
    language = langcodes.Language.make(script=script).maximize().language
    return None if language in (None, "und") else language


def with_foreign_runs(sentence: Sentence, language: str) -> Sentence:
    """``sentence`` with its words of other scripts marked; ``und`` where no language reads them.

    Latin words are left to the voice, which switches to English by itself; the Japanese voice alone spells them.
    """
    own = scripts_of(language) | ({"Latn"} if not language.startswith("ja") else set())
    runs = []
    for foreign, group in groupby(
        range(len(sentence.tokens)), key=lambda index: _foreign_language(_word(sentence, index), own)
    ):
        indices = list(group)
        if foreign is not None:
            first, last = sentence.tokens[indices[0]], sentence.tokens[indices[-1]]
            runs.append(ForeignRun(spoken_start=first.spoken_start, spoken_end=last.spoken_end, language=foreign))
    return replace(sentence, foreign=tuple(runs)) if runs else sentence


def _word(sentence: Sentence, index: int) -> str:
    token = sentence.tokens[index]
    return sentence.spoken[token.spoken_start : token.spoken_end]


def _foreign_language(word: str, own: frozenset[str] | set[str]) -> str | None:
    scripts = {script for sign in word if (script := script_of(sign)) not in (None, "Zyyy")}
    foreign = scripts - set(own)
    if not foreign or scripts & set(own):
        return None
    return reader_of("Hira" if "Hira" in foreign else min(map(str, foreign))) or "und"


def _weights(text: str) -> Counter[str]:
    weights: Counter[str] = Counter()
    for sign in text:
        script = script_of(sign)
        if script not in (None, "Zyyy"):
            weights[str(script)] += _WEIGHT.get(str(script), 1)
    return weights
