"""The middle of a script: benefits, proofs, keywords, and the recap."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from services.domain.copywriting.english import frames
from services.domain.copywriting.english.forms import Form
from services.domain.copywriting.english.phrases import Phrase
from services.domain.copywriting.english.speaker import Speaker, listed
from services.domain.copywriting.english.words import base_form, is_plural

_PROOF: Final = re.compile(r"(?i)\b(rated|stars?|reviews?|award|trusted|loved|certified|tested|recommended|patented)\b")
_TABLES: Final = {
    Form.QUALITY: frames.QUALITIES,
    Form.NOUNS: frames.NOUNS,
    Form.LABEL: frames.LABELS,
    Form.ACTION: frames.ACTIONS,
    Form.PREDICATE: frames.PREDICATES,
}
_LISTED: Final = (Form.QUALITY, Form.NOUNS, Form.LABEL)
_PAIRED: Final = (Form.ACTION, Form.PREDICATE, Form.NEGATION)
_RECAP_CHARACTERS: Final = 28
_RECAP_FACTS: Final = 3  # nobody sums up fewer


def tell_benefits(speaker: Speaker, benefits: Sequence[Phrase]) -> None:
    """Neighbours of one kind share a sentence; what proves a claim comes last."""
    plain = [phrase for phrase in benefits if not _PROOF.search(phrase.text)]
    proofs = [phrase for phrase in benefits if _PROOF.search(phrase.text)]
    for group in (*_grouped(speaker, plain), *_grouped(speaker, proofs)):
        linked = bool(speaker.sentences) and speaker.sentences[-1].frame.startswith("benefit")
        _tell(speaker, group, link=linked and speaker.chance(0.35))


def tell_keywords(speaker: Speaker, keywords: Sequence[Phrase]) -> None:
    """The keywords that no sentence has said yet."""
    fresh = [phrase for phrase in keywords if not speaker.said(phrase.fact.text)]
    qualities = [phrase for phrase in fresh if phrase.form is Form.QUALITY]
    others = [phrase for phrase in fresh if phrase.form is not Form.QUALITY]
    if len(qualities) < 2 and others:
        qualities, others = [], fresh
    for part in (qualities, others):
        for start in range(0, len(part), 4):
            group = part[start : start + 4]
            facts = tuple(phrase.fact for phrase in group)
            if part is qualities and speaker.naming.subject is not None:
                table, name = frames.QUALITIES, "benefit.quality"
            else:
                table, name = (frames.KEYWORDS if len(group) > 1 else frames.KEYWORD), "keywords"
            speaker.say(table, listed([phrase.text for phrase in group]), facts=facts, name=name)


def recap(speaker: Speaker, phrases: Sequence[Phrase]) -> None:
    """Three short facts, or what the customer can do, again, when there is time for them."""
    short = [p for p in phrases if p.form in (*_LISTED, Form.ACTION) and len(p.text) <= _RECAP_CHARACTERS]
    same = [phrase for phrase in short if phrase.form is short[0].form][:_RECAP_FACTS]
    if len(same) < _RECAP_FACTS and not (same and same[0].form is Form.ACTION):
        return
    table = frames.RECAP_ACTIONS if same[0].form is Form.ACTION else frames.RECAP
    speaker.say(table, listed([phrase.text for phrase in same]))


def _grouped(speaker: Speaker, phrases: Sequence[Phrase]) -> list[list[Phrase]]:
    """By kind, in the order of the brief; fewer to a sentence when there is room."""
    by_form: dict[Form, list[Phrase]] = {}
    for phrase in phrases:
        by_form.setdefault(phrase.form, []).append(phrase)
    groups = []
    for form, members in by_form.items():
        largest = 3 if form in _LISTED else 2 if form in _PAIRED else 1
        while members:
            size = largest if speaker.roominess < 0.3 else speaker.random.randint(1, largest)
            groups.append(members[:size])
            members = members[size:]
    return groups


def _tell(speaker: Speaker, group: Sequence[Phrase], *, link: bool) -> None:
    form = group[0].form
    facts = tuple(phrase.fact for phrase in group)
    texts = [phrase.text for phrase in group]
    if form is Form.SENTENCE:
        speaker.add(texts[0], "benefit.sentence", facts)
    elif form is Form.NEGATION:
        speaker.add(", ".join(texts), "benefit.negation", facts)
    elif form is Form.ADDITION:
        text = _addition(speaker, texts[0])
        linked = link and speaker.naming.subject is not None
        speaker.add(speaker.linked(text) if linked else text, "benefit.addition", facts)
    else:
        if form is Form.PREDICATE and speaker.naming.is_plural:
            texts = [_plural(text) for text in texts]
        many = bool(is_plural(texts[0]))
        speaker.say(_TABLES[form], listed(texts), facts=facts, name=f"benefit.{form}", link=link, many=many)


def _addition(speaker: Speaker, text: str) -> str:
    naming = speaker.naming
    if naming.subject is None:
        return text  # "With SPF 30.": a pronoun's number would be a guess
    if text.startswith("for "):
        return f"{naming.contracted} {text}"
    return f"{naming.subject} {naming.verb('comes', 'come')} {text}"


def _plural(predicate: str) -> str:
    """Each third-person verb that can be told apart loses its ending: "keeps dry and lasts" -> "keep dry and last"."""
    verb, _, rest = predicate.partition(" ")
    return f"{base_form(verb)} {rest}".strip()
