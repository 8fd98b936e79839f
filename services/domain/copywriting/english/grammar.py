"""English scripts: hook, introduction, benefits, price and offer, call to action."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Final

from services.domain.copywriting.english import lexicon
from services.domain.copywriting.english.benefits import recap, tell_benefits, tell_keywords
from services.domain.copywriting.english.casing import Names, capitals_are_style
from services.domain.copywriting.english.closing import close_script, tell_offer, tell_price
from services.domain.copywriting.english.forms import Form
from services.domain.copywriting.english.naming import holds_brand, naming_of
from services.domain.copywriting.english.opening import open_script
from services.domain.copywriting.english.phrases import Phrase, phrase_of
from services.domain.copywriting.english.speaker import Speaker
from services.domain.copywriting.english.words import is_known, words_of
from services.domain.copywriting.facts import Fact, FactRole
from services.domain.copywriting.sentences import Sentence

_TOLD_AS_PHRASES: Final = (FactRole.BENEFIT, FactRole.KEYWORD)


class EnglishGrammar:
    """Drafts for one brief; its phrases are classified once."""

    separator = " "

    def __init__(self, facts: Sequence[Fact]) -> None:
        named = [fact.text for fact in facts if fact.role in (FactRole.PRODUCT, FactRole.BRAND)]
        names = Names(
            words=frozenset(
                word for text in named if text != text.lower() for word in words_of(text) if not is_known(word)
            ),
            phrases=tuple(text for text in named if not _is_plain(text)),
        )
        told = [fact for fact in facts if fact.role in _TOLD_AS_PHRASES]
        style = capitals_are_style(fact.text for fact in told)
        plural = naming_of(facts[0].text, None).is_plural
        self._phrases = {
            fact: _with_subject(
                phrase_of(fact, style_capitals=style or fact.role not in _TOLD_AS_PHRASES, names=names), plural=plural
            )
            for fact in facts
        }
        product, brand = facts[0], next((fact for fact in facts if fact.role is FactRole.BRAND), None)
        told_brand = brand.text if brand and not holds_brand(product.text, brand.text) else None
        self._naming, self._naming_with_brand = naming_of(product.text, None), naming_of(product.text, told_brand)

    def draft(self, facts: Sequence[Fact], *, tone: str, roominess: float, random: Random) -> list[Sentence]:
        """See ``Grammar``."""
        one = {fact.role: self._phrases[fact] for fact in facts}
        brand = one.get(FactRole.BRAND)
        speaker = Speaker(
            self._naming_with_brand if brand else self._naming, tone=tone, roominess=roominess, random=random
        )
        named = (one[FactRole.PRODUCT].fact, *((brand.fact,) if brand else ()))
        benefits = [self._phrases[fact] for fact in facts if fact.role is FactRole.BENEFIT]
        keywords = [self._phrases[fact] for fact in facts if fact.role is FactRole.KEYWORD]
        untold = open_script(speaker, audience=one.get(FactRole.AUDIENCE), benefits=benefits, named=named)
        tell_benefits(speaker, untold)
        tell_keywords(speaker, keywords)
        if price := one.get(FactRole.PRICE):
            tell_price(speaker, price.fact)
        if offer := one.get(FactRole.OFFER):
            tell_offer(speaker, offer)
        if len(speaker.sentences) > 4 and speaker.chance(0.6 * roominess):
            recap(speaker, [*benefits, *keywords])
        close_script(speaker, call=one.get(FactRole.CALL_TO_ACTION), named=named)
        return speaker.sentences


def _is_plain(name: str) -> bool:
    """Whether ``name`` has no capital besides its first letter's, and that one may be a sentence's: "Ceramic mug"."""
    return name == name.lower() or (" " in name and name == name.capitalize())


def _with_subject(phrase: Phrase, *, plural: bool) -> Phrase:
    """Of a plural product, "burn for 40 hours" is what the candles do, not what the customer may do."""
    words = words_of(phrase.text)
    customers = phrase.fact.role not in _TOLD_AS_PHRASES or (
        words[0] in lexicon.CUSTOMER_VERBS and words[1:2] != ["like"]
    )
    if plural and phrase.form is Form.ACTION and not customers:
        return replace(phrase, form=Form.PREDICATE)
    return phrase
