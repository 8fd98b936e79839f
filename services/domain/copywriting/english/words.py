"""Words: their splitting, their inflection, and whether one is known."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from services.domain.copywriting.english import lexicon

_WORD: Final = re.compile(r"[^\s,;:()]+")


def words_of(text: str) -> list[str]:
    return [word.strip(".!?\"'“”‘’").lower().replace("’", "'") for word in _WORD.findall(text)]


def head_of(words: list[str]) -> str:
    """The noun that the phrase is about: the last word before a preposition, or before "made of" and its like."""
    head = words[0]
    for word, follower in pairwise([*words[1:], ""]):
        if word in lexicon.PREPOSITIONS or (word in lexicon.PARTICIPLES and follower in lexicon.PREPOSITIONS):
            break
        head = word
    return head


def is_plural(noun_phrase: str) -> bool | None:
    """Whether the head of ``noun_phrase`` is plural; None when it cannot be told."""
    words = words_of(noun_phrase)
    if not words or "and" in words or "&" in words:
        return None
    head = head_of(words)
    if head in ("people", "men", "women", "children", "parents", "jeans", "folks"):
        return True
    return head.endswith("s") and not head.endswith(("ss", "us", "is")) and head not in lexicon.SINGULAR_IN_S


def base_form(verb: str) -> str:
    """The plural of a third-person verb: "keeps" -> "keep", "is" -> "are"."""
    irregular = {"has": "have", "is": "are", "does": "do", "goes": "go", "isn't": "aren't", "doesn't": "don't"}
    if verb in irregular:
        return irregular[verb]
    if verb.endswith("ies") and len(verb) > 4:
        return verb[:-3] + "y"
    if verb.endswith(("ss", "us", "is")):
        return verb
    if verb.endswith(("sses", "shes", "ches", "xes", "zzes")):
        return verb[:-2]
    return verb.removesuffix("s")


def is_past(word: str) -> bool:
    """Whether ``word`` is the past of a listed verb: "helped", "saved", "tried", "stopped"."""
    if word in ("found", "gave", "grew", "kept", "led", "sent", "sold", "taught", "won"):
        return True
    stem = word.removesuffix("ed")
    candidates = (stem, stem + "e", stem[:-1] + "y", stem[:-1] if stem[-1:] == stem[-2:-1] else stem)
    return stem != word and any(candidate in lexicon.VERBS for candidate in candidates)


def is_known(word: str) -> bool:
    parts = [word, base_form(word), word.split("-")[-1]]
    listed = (
        lexicon.VERBS | lexicon.VERBS_OR_NOUNS | lexicon.DETERMINERS | lexicon.ADJECTIVES | lexicon.PARTICIPLES
        | lexicon.MASS_NOUNS | lexicon.COUNT_NOUNS | lexicon.PREPOSITIONS | lexicon.NEGATIONS | lexicon.BE_AND_MODALS
        | lexicon.PRONOUN_STARTS
    )  # fmt: skip
    return (
        any(part in listed for part in parts)
        or is_past(word)
        or word.endswith((*lexicon.ADJECTIVE_ENDINGS, "ing", "ly", "tion", "ness", "ity"))
    )
