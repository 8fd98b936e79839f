"""Capitals and articles: how a fact is written in the middle of a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from services.domain.copywriting.english import lexicon
from services.domain.copywriting.english.words import is_known

_VOWEL_SOUND: Final = re.compile(
    r"^(?:[aeiouAEIOU]|8|11\b|18\b|[Hh]our|[Hh]onest|[Hh]eir|[Hh]onou?r|[FHLMNRSX](?=[A-Z0-9]|\b))"
)
_CONSONANT_SOUND: Final = re.compile(r"(?i)^(?:uni(?!n)|us[ae]|util|eu|one\b|once\b|one-|ufo|uk\b|us\b|u-)")


def capitals_are_style(texts: Iterable[str]) -> bool:
    """Whether facts start with capitals as a habit, so that a first capital does not mark a name."""
    starts = [text[0] for text in texts if text and text[0].isalpha()]
    return all(letter.isupper() for letter in starts)


def mid_sentence(text: str, *, style_capitals: bool, names: frozenset[str] = frozenset()) -> str:
    """``text`` without capitals that only its start or a title gave it; names, codes and acronyms keep theirs."""
    words = text.split(" ")
    is_title = len(words) > 1 and all(
        word[:1].isupper() or not word[:1].isalpha() or word in lexicon.TITLE_SMALL_WORDS for word in words
    )
    changed = []
    for index, word in enumerate(words):
        bare = word.strip(".,!?\"'()").lower()
        keep = is_name(word, names)
        at_start = index == 0 and (style_capitals or is_known(bare))
        in_title = is_title and is_known(bare)
        changed.append(word.lower() if not keep and (at_start or in_title) else word)
    return " ".join(changed)


def is_name(word: str, names: frozenset[str]) -> bool:
    bare = word.strip(".,!?\"'()").lower()
    return (
        word[1:] != word[1:].lower()  # PDF, iPhone
        or any(character.isdigit() for character in word)
        or bare in names
        or bare.split("-")[0] in lexicon.PROPER_WORDS
    )


def calm(text: str, names: frozenset[str]) -> str:
    """``text`` without shouting: a line all in capitals becomes small, names and acronyms aside."""
    words = text.split(" ")
    if len(words) < 2 or text != text.upper() or text == text.lower():
        return text
    kept = names | lexicon.ACRONYMS
    small = [word if word.strip(".,!?").lower() in kept else word.lower() for word in words]
    return " ".join(small)


def with_article(noun_phrase: str) -> str:
    first = noun_phrase.split(" ", 1)[0]
    vowel = _VOWEL_SOUND.match(first) and not _CONSONANT_SOUND.match(first)
    return f"{'an' if vowel else 'a'} {noun_phrase}"
