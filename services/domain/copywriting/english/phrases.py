"""What kind of phrase a fact is, and how it is written in the middle of a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Final

from services.domain.copywriting.english import lexicon
from services.domain.copywriting.facts import Fact, FactRole


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    """``text`` as it stands mid-sentence, with its article where it needs one."""

    form: Form
    text: str
    fact: Fact


_WORD: Final = re.compile(r"[^\s,;:()]+")
_VOWEL_SOUND: Final = re.compile(
    r"^(?:[aeiouAEIOU]|8|11\b|18\b|[Hh]our|[Hh]onest|[Hh]eir|[Hh]onou?r|[FHLMNRSX](?=[A-Z0-9]|\b))"
)
_CONSONANT_SOUND: Final = re.compile(r"(?i)^(?:uni(?!n)|us[ae]|util|eu|one\b|once\b|one-|ufo|uk\b|us\b|u-)")
_DISTANCE: Final = re.compile(
    r"(?i)\b(?:minutes?|steps?|km|kilometres?|kilometers?|miles?|metres?|meters?|walk|drive) from "
)


def words_of(text: str) -> list[str]:
    return [word.strip(".!?\"'“”‘’").lower().replace("’", "'") for word in _WORD.findall(text)]


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
        keep = _is_name(word, names)
        at_start = index == 0 and (style_capitals or is_known(bare))
        in_title = is_title and is_known(bare)
        changed.append(word.lower() if not keep and (at_start or in_title) else word)
    return " ".join(changed)


def _is_name(word: str, names: frozenset[str]) -> bool:
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


def is_plural(noun_phrase: str) -> bool | None:
    """Whether the head of ``noun_phrase`` is plural; None when it cannot be told."""
    words = words_of(noun_phrase)
    if not words or "and" in words or "&" in words:
        return None
    head = head_of(words)
    if head in ("people", "men", "women", "children", "parents", "jeans", "folks"):
        return True
    return head.endswith("s") and not head.endswith(("ss", "us", "is")) and head not in lexicon.SINGULAR_IN_S


def head_of(words: list[str]) -> str:
    """The noun that the phrase is about: the last word before the first preposition."""
    head = words[0]
    for word in words[1:]:
        if word in lexicon.PREPOSITIONS:
            break
        head = word
    return head


def phrase_of(fact: Fact, *, style_capitals: bool, names: frozenset[str]) -> Phrase:
    """``fact`` with its kind."""
    text = calm(fact.text.rstrip("!.;,: "), names).replace(" & ", " and ")
    exclaims = fact.text.endswith("!") and fact.role in (FactRole.BENEFIT, FactRole.KEYWORD)
    form = Form.SENTENCE if exclaims else form_of(text)
    if form is not Form.SENTENCE or not fact.text.endswith("?"):
        text = mid_sentence(text, style_capitals=style_capitals, names=names)
    if text[:1].isupper() and not style_capitals and not _is_name(text.split()[0], names):
        form = Form.SENTENCE  # a capital that may be a name's: it stands alone, at the start, where it is right anyway
    if form is Form.NOUNS and _needs_article(words_of(text)):
        text = with_article(text)
    return Phrase(form=form, text=text, fact=fact)


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
    if _DISTANCE.search(text):
        return Form.QUALITY
    if first in lexicon.DETERMINERS or first[0].isdigit():
        return _noun_or_clause(words)
    if first in ("with", "without", "for", "in"):
        return Form.ADDITION
    if _is_action(first, second):
        return Form.ACTION
    if _is_predicate(first, second):
        return Form.PREDICATE
    if _is_quality(words):
        return Form.QUALITY
    return Form.LABEL if first in lexicon.PREPOSITIONS or first.endswith("ing") else _noun_or_clause(words)


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


def is_known(word: str) -> bool:
    parts = [word, base_form(word), word.split("-")[-1]]
    listed = (
        lexicon.VERBS | lexicon.VERBS_OR_NOUNS | lexicon.DETERMINERS | lexicon.ADJECTIVES | lexicon.PARTICIPLES
        | lexicon.MASS_NOUNS | lexicon.COUNT_NOUNS | lexicon.PREPOSITIONS | lexicon.NEGATIONS | lexicon.BE_AND_MODALS
        | lexicon.PRONOUN_STARTS
    )  # fmt: skip
    return any(part in listed for part in parts) or word.endswith(
        (*lexicon.ADJECTIVE_ENDINGS, "ing", "ly", "tion", "ness", "ity")
    )


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
        and (words[1] in lexicon.DETERMINERS or words[1] in ("daily", "late", "24/7"))
    ):
        return True
    return len(words) <= 4 and _is_adjective(last)


def _is_action(first: str, second: str) -> bool:
    if first in lexicon.VERBS_OR_NOUNS:
        return second in lexicon.VERB_COMPLEMENTS or second.endswith("ly")
    return first in lexicon.VERBS and bool(second) and not second.endswith("ing")


def _is_predicate(first: str, second: str) -> bool:
    if first in ("is", "are", "has", "can", "does", "isn't", "doesn't", "won't", "will"):
        return True
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


def _needs_article(words: list[str]) -> bool:
    first, head = words[0], head_of(words)
    if first in lexicon.DETERMINERS or first.endswith("'s") or is_plural(" ".join(words)):
        return False
    return head in lexicon.COUNT_NOUNS and not (first[0].isdigit() and first.isdigit())
