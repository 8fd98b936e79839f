"""Facts as phrases: their kind, and their text as it stands in a sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from services.domain.copywriting.english import lexicon
from services.domain.copywriting.english.casing import (
    Names,
    calm,
    is_name,
    mid_sentence,
    order_mid_sentence,
    with_article,
)
from services.domain.copywriting.english.forms import Form, form_of
from services.domain.copywriting.english.words import head_of, is_plural, words_of
from services.domain.copywriting.facts import Fact, FactRole

_UNITS: Final = ("minute", "hour", "day", "night", "week", "month", "year", "step")  # "a 3 week battery"


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    """``text`` as it stands mid-sentence, with its article where it needs one."""

    form: Form
    text: str
    fact: Fact


def phrase_of(fact: Fact, *, style_capitals: bool, names: Names) -> Phrase:
    """``fact`` with its kind."""
    text = calm(fact.text.rstrip("!.;,: "), names)
    if fact.role is FactRole.CALL_TO_ACTION:
        form = form_of(text)
        return Phrase(form=form, text=text if form is Form.SENTENCE else order_mid_sentence(text, names), fact=fact)
    words = text.split(" ")
    starts_with_name = 0 in names.places(words) and words[0].lower() not in lexicon.VERBS | lexicon.VERBS_OR_NOUNS
    text = text.replace(" & ", " and ")
    exclaims = fact.text.endswith("!") and fact.role in (FactRole.BENEFIT, FactRole.KEYWORD)
    form = Form.SENTENCE if exclaims else form_of(text)
    if form is not Form.SENTENCE or not fact.text.endswith("?"):
        text = mid_sentence(text, style_capitals=style_capitals, names=names)
    if starts_with_name and len(words) > 1 and fact.role is FactRole.BENEFIT:
        form = Form.SENTENCE  # "Calmly tracks your sleep"
    if text[:1].isupper() and not style_capitals and not is_name(text.split()[0], names):
        form = Form.SENTENCE  # a capital that may be a name's: it stands alone, at the start, where it is right anyway
    if form is Form.NOUNS and _needs_article(words_of(text)):
        text = with_article(text)
    return Phrase(form=form, text=text, fact=fact)


def _needs_article(words: list[str]) -> bool:
    first, head = words[0], head_of(words)
    if first in lexicon.DETERMINERS or first.endswith("'s") or is_plural(" ".join(words)):
        return False
    if first.isdigit() and (first == "1" or words[1] not in _UNITS):
        return False
    return head in lexicon.COUNT_NOUNS
