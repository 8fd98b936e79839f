"""What kind of phrase a fact is."""

from __future__ import annotations

import re
from enum import StrEnum
from itertools import pairwise
from typing import Final

from services.domain.copywriting.english import lexicon
from services.domain.copywriting.english.words import base_form, head_of, is_past, is_plural, words_of

_DISTANCE: Final = re.compile(
    r"(?i)\b(?:minutes?|steps?|km|kilometres?|kilometers?|miles?|metres?|meters?|walk|drive) from "
)


class Form(StrEnum):
    """The kinds that the sentences tell apart."""

    NOUNS = "nouns"  # "a soft lining", "free returns": follows "you get"
    LABEL = "label"  # a bare noun that may lack its article, or unknown: stands in a list or alone
    QUALITY = "quality"  # "waterproof", "made in Porto": follows "it is"
    PREDICATE = "predicate"  # "keeps you warm": follows "it"
    ACTION = "action"  # "sleep better": an order, or follows "you can"
    ADDITION = "addition"  # "with SPF 30", "for dry skin": follows "it comes" or "it is"
    NEGATION = "negation"  # "no parabens"
    SENTENCE = "sentence"  # "the battery lasts two days"


def form_of(text: str) -> Form:
    """The kind of phrase that ``text`` is, by its first words, its head and its verb."""
    words = words_of(text)
    first, second = words[0], words[1] if len(words) > 1 else ""
    if (first, second) == ("set", "up") or (", " in text and len(words) <= 3):
        return Form.SENTENCE
    if text.endswith("?") or re.search(r"[.!?;] \S", text) or first in lexicon.PRONOUN_STARTS:
        return Form.SENTENCE
    if " ".join(words) in lexicon.QUALITY_PHRASES:
        return Form.QUALITY
    if first in lexicon.NEGATIONS:
        return Form.NEGATION if first != "never" else Form.LABEL
    if first[0].isdigit() and len(words) <= 3 and _is_adjective(words[-1]):
        return Form.QUALITY
    if _DISTANCE.search(text) or (first == "rated" and second[:1].isdigit()):
        return Form.QUALITY
    if first in lexicon.DETERMINERS or first[0].isdigit():
        return _noun_or_clause(words)
    if first in ("with", "without", "for", "in"):
        return Form.ADDITION
    if _is_action(first, second):
        return Form.ACTION
    if _is_predicate(first, second, words[2] if len(words) > 2 else ""):
        return Form.PREDICATE
    if _is_quality(words):
        return Form.QUALITY
    return Form.LABEL if first in lexicon.PREPOSITIONS or first.endswith("ing") else _noun_or_clause(words)


def _is_adjective(word: str) -> bool:
    return word in lexicon.ADJECTIVES or (len(word) > 5 and word.endswith(lexicon.ADJECTIVE_ENDINGS))


def _is_quality(words: list[str]) -> bool:
    first, last = words[0], words[-1]
    if first in lexicon.PARTICIPLES or (first.endswith("ed") and len(words) > 1):
        follower = words[1] if len(words) > 1 else ""
        if len(words) == 1 or follower in lexicon.PREPOSITIONS or follower in ("fresh", "daily", "weekly"):
            return True
        if first.endswith("ly"):
            return any(word.endswith("ed") or word in lexicon.PARTICIPLES for word in words[1:2]) and not (
                len(words) > 2 and words[2] not in lexicon.PREPOSITIONS
            )
    if _is_adjective(first) and len(words) > 1 and words[1] in lexicon.PREPOSITIONS:
        return True
    if (
        first == "open"
        and len(words) > 1
        and (words[1] in lexicon.DETERMINERS | lexicon.PREPOSITIONS or words[1] in ("daily", "late", "24/7"))
    ):
        return True
    acts = len(words) > 1 and first.endswith("s") and base_form(first) != first  # "rolls up small"
    return len(words) <= 4 and _is_adjective(last) and not acts


def _is_action(first: str, second: str) -> bool:
    if first in lexicon.VERBS_OR_NOUNS:
        return second in lexicon.VERB_COMPLEMENTS or second.endswith("ly")
    return first in lexicon.VERBS and bool(second) and not second.endswith("ing")


def _is_predicate(first: str, second: str, third: str) -> bool:
    if first in ("is", "are", "has", "can", "does", "isn't", "doesn't", "won't", "will"):
        return True
    if first not in lexicon.PARTICIPLES and is_past(first):
        counts = third[:1].isdigit() and second not in lexicon.PREPOSITIONS  # "saved users 6 hours a month"
        return counts or second[:1].isdigit() or second in lexicon.DETERMINERS or second in ("you", "me", "us")
    base = base_form(first)
    if base == first or not first.endswith("s"):
        return False
    if base in lexicon.VERBS or base + "e" in lexicon.VERBS:
        return True
    return base in lexicon.VERBS_OR_NOUNS and (
        second in lexicon.VERB_COMPLEMENTS or second[:1].isdigit() or second.endswith("ly")
    )


def _noun_or_clause(words: list[str]) -> Form:
    for before, word in pairwise(words):
        if before in ("to", "that", "which", "who", "and", "or"):
            if before in ("that", "which", "who"):
                break
            continue
        base = base_form(word)
        finite = word in lexicon.BE_AND_MODALS or (base != word and base in lexicon.VERBS)
        if finite and words[0] not in lexicon.PREPOSITIONS:
            return Form.SENTENCE
        if word in lexicon.VERBS and (before.endswith("s") or before in ("people", "children")):
            return Form.SENTENCE
    base = base_form(words[0])
    ambiguous = base != words[0] and base in lexicon.VERBS_OR_NOUNS
    if ambiguous and len(words) > 1 and words[1] not in lexicon.PREPOSITIONS:
        return Form.SENTENCE  # "covers accidents": as likely a verb as a noun, so it stands alone
    head = head_of(words)
    settled = (
        words[0] in lexicon.DETERMINERS
        or is_plural(" ".join(words))
        or head in lexicon.MASS_NOUNS
        or head in lexicon.COUNT_NOUNS
        or head.endswith(("ness", "ity", "ment", "ship", "ism"))
        or words[0] == "free"
    )
    return Form.NOUNS if settled else Form.LABEL
