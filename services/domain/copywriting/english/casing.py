"""Capitals and articles: how a fact is written in the middle of a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from services.domain.copywriting.english import lexicon
from services.domain.copywriting.english.words import is_known

_VOWEL_SOUND: Final = re.compile(
    r"^(?:[aeiouAEIOU]|8|11\b|18\b|[Hh]our|[Hh]onest|[Hh]eir|[Hh]onou?r|[FHLMNRSX](?=[A-Z0-9]|\b))"
)
_MARKS: Final = ".,!?\"'()"
_BEFORE_PLACES: Final = ("at", "by", "from", "in", "on", "via", "with")
_CONSONANT_SOUND: Final = re.compile(r"(?i)^(?:uni(?!n)|us[ae]|util|eu|one\b|once\b|one-|ufo|uk\b|us\b|u-)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What keeps its capitals.

    Attributes:
        words: In small letters; each is no ordinary word, so it is a name wherever it stands.
        phrases: Product and brand as given. Their words may be ordinary ("Calm"), the whole is a name.
    """

    words: frozenset[str] = frozenset()
    phrases: tuple[str, ...] = ()

    def places(self, words: Sequence[str], *, any_case: bool = False) -> dict[int, str]:
        """Indexes of ``words`` that belong to a product or brand, with the word as it is given there."""
        found: dict[int, str] = {}
        bare = [word.strip(_MARKS) for word in words]
        for phrase in self.phrases:
            parts = phrase.split(" ")
            for start in range(len(words) - len(parts) + 1):
                there = bare[start : start + len(parts)]
                same = [part.casefold() for part in there] == [part.casefold() for part in parts]
                if there == parts or (same and any_case):
                    found |= dict(enumerate(parts, start))
        return found


NO_NAMES: Final = Names()


def capitals_are_style(texts: Iterable[str]) -> bool:
    """Whether facts start with capitals as a habit, so that a first capital does not mark a name."""
    starts = [text[0] for text in texts if text and text[0].isalpha()]
    return all(letter.isupper() for letter in starts)


def mid_sentence(text: str, *, style_capitals: bool, names: Names = NO_NAMES) -> str:
    """``text`` without capitals that only its start or a title gave it; names, codes and acronyms keep theirs."""
    words = text.split(" ")
    is_title = len(words) > 1 and all(
        word[:1].isupper() or not word[:1].isalpha() or word in lexicon.TITLE_SMALL_WORDS for word in words
    )
    places = names.places(words)
    if words[0].lower() in lexicon.VERBS | lexicon.VERBS_OR_NOUNS | lexicon.ADJECTIVES and len(words) > 1:
        places.pop(0, None)  # "Calm your mind" of the brand Calm
    changed = []
    for index, word in enumerate(words):
        bare = word.strip(_MARKS).lower()
        keep = index in places or is_name(word, names)
        at_start = index == 0 and (style_capitals or is_known(bare))
        in_title = is_title and is_known(bare)
        changed.append(word.lower() if not keep and (at_start or in_title) else word)
    return " ".join(changed)


def is_name(word: str, names: Names) -> bool:
    bare = word.strip(_MARKS).lower()
    return (
        word[1:] != word[1:].lower()  # PDF, iPhone
        or any(character.isdigit() for character in word)
        or bare in names.words
        or bare.split("-")[0] in lexicon.PROPER_WORDS
    )


def calm(text: str, names: Names) -> str:
    """``text`` without shouting: a line all in capitals becomes small, names and acronyms aside."""
    words = text.split(" ")
    if len(words) < 2 or text != text.upper() or text == text.lower():
        return text
    kept = names.words | lexicon.ACRONYMS
    small = [word if word.strip(".,!?").lower() in kept else word.lower() for word in words]
    for index, given in names.places(words, any_case=True).items():
        small[index] = words[index].replace(words[index].strip(_MARKS), given)
    return " ".join(small)


def order_mid_sentence(text: str, names: Names) -> str:
    """An order to the viewer with a small first letter, its other words as they are given.

    Capitals of a title are folded only where they are surely a habit: all words or none.
    """
    words = text.split(" ")
    places = names.places(words, any_case=True)
    if text == text.upper() and len(words) == 1:
        return text if text.strip(_MARKS).lower() in names.words | lexicon.ACRONYMS else text.lower()
    folds = _is_title_by_habit(words, places, names)
    changed = [
        word.lower() if folds and index not in places and not is_name(word, names) else word
        for index, word in enumerate(words)
    ]
    first = words[0]
    if is_known(first.strip(_MARKS).lower()) and not is_name(first, names):
        changed[0] = first.lower()
    return " ".join(changed)


def _is_title_by_habit(words: Sequence[str], places: Mapping[int, str], names: Names) -> bool:
    """Whether words have capitals that no name has ("Your", "Today"), and none of the others can be a name."""
    others = [word for index, word in enumerate(words) if index not in places and not is_name(word, names)]
    if not all(word[:1].isupper() or word in lexicon.TITLE_SMALL_WORDS for word in others if word[:1].isalpha()):
        return False
    if not all(is_known(word.strip(_MARKS).lower()) or word.lower() in lexicon.NEVER_NAMES for word in others[1:]):
        return False
    for before, word in pairwise(words):
        if before.lower() in _BEFORE_PLACES and word[:1].isupper() and word.lower() not in lexicon.DETERMINERS:
            return False
    return any(word.strip(_MARKS).lower() in lexicon.NEVER_NAMES for word in others[1:] if word[:1].isupper())


def with_article(noun_phrase: str) -> str:
    first = noun_phrase.split(" ", 1)[0]
    vowel = _VOWEL_SOUND.match(first) and not _CONSONANT_SOUND.match(first)
    return f"{'an' if vowel else 'a'} {noun_phrase}"
