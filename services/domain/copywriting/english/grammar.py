"""English scripts: hook, introduction, benefits, price and offer, call to action."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from services.domain.copywriting.english.benefits import recap, tell_benefits, tell_keywords
from services.domain.copywriting.english.closing import close_script, tell_offer, tell_price
from services.domain.copywriting.english.naming import holds_brand, naming_of
from services.domain.copywriting.english.opening import open_script
from services.domain.copywriting.english.phrases import capitals_are_style, is_known, phrase_of, words_of
from services.domain.copywriting.english.speaker import Speaker
from services.domain.copywriting.facts import Fact, FactRole
from services.domain.copywriting.sentences import Sentence


class EnglishGrammar:
    """Drafts for one brief; its phrases are classified once."""

    separator = " "

    def __init__(self, facts: Sequence[Fact]) -> None:
        phrases = [fact for fact in facts if fact.role in (FactRole.BENEFIT, FactRole.KEYWORD)]
        named = [fact.text for fact in facts if fact.role in (FactRole.PRODUCT, FactRole.BRAND)]
        self._names = frozenset(
            word for text in named if text != text.lower() for word in words_of(text) if not is_known(word)
        )
        style = capitals_are_style(fact.text for fact in phrases)
        self._phrases = {fact: phrase_of(fact, style_capitals=style, names=self._names) for fact in phrases}

    def draft(self, facts: Sequence[Fact], *, tone: str, roominess: float, random: Random) -> list[Sentence]:
        """See ``Grammar``."""
        one = {fact.role: fact for fact in facts}
        product, brand = one[FactRole.PRODUCT], one.get(FactRole.BRAND)
        told_brand = brand.text if brand and not holds_brand(product.text, brand.text) else None
        speaker = Speaker(naming_of(product.text, told_brand), tone=tone, roominess=roominess, random=random)
        named = (product, brand) if brand else (product,)
        benefits = [self._phrases[fact] for fact in facts if fact.role is FactRole.BENEFIT]
        keywords = [self._phrases[fact] for fact in facts if fact.role is FactRole.KEYWORD]
        untold = open_script(
            speaker, audience=one.get(FactRole.AUDIENCE), benefits=benefits, named=named, names=self._names
        )
        tell_benefits(speaker, untold)
        tell_keywords(speaker, keywords)
        if price := one.get(FactRole.PRICE):
            tell_price(speaker, price)
        if offer := one.get(FactRole.OFFER):
            tell_offer(speaker, offer, self._names)
        if len(speaker.sentences) > 4 and speaker.chance(0.6 * roominess):
            recap(speaker, [*benefits, *keywords])
        close_script(speaker, call=one.get(FactRole.CALL_TO_ACTION), named=named, names=self._names)
        return speaker.sentences
