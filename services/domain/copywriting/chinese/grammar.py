"""Chinese scripts: hook, introduction, benefits, price and offer, call to action."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random
from typing import Final

from services.domain.copywriting.chinese import frames
from services.domain.copywriting.chinese.closing import close_script, tell_offer, tell_price
from services.domain.copywriting.chinese.phrases import Form, Phrase, asked_of, is_person, phrase_of
from services.domain.copywriting.chinese.speaker import Speaker
from services.domain.copywriting.facts import Fact, FactRole
from services.domain.copywriting.sentences import Sentence

_TRADITIONAL_TAG: Final = re.compile(r"(?i)hant|[-_](?:tw|hk|mo)\b")
_PROOF: Final = re.compile(r"认证|認證|获奖|獲獎|专利|專利|检测|檢測|好评|好評|口碑|推荐|推薦")
_RECAP_FACTS: Final = 3  # nobody sums up fewer
_TABLES: Final = {Form.PREDICATE: frames.PREDICATES, Form.WISH: frames.WISHES, Form.PHRASE: frames.PHRASES}


class ChineseGrammar:
    """Drafts for one brief; ``language`` chooses simplified or traditional frame words."""

    separator = ""

    def __init__(self, facts: Sequence[Fact], language: str) -> None:
        self._phrases = {fact: phrase_of(fact) for fact in facts}
        self._traditional = bool(_TRADITIONAL_TAG.search(language))

    def draft(self, facts: Sequence[Fact], *, tone: str, roominess: float, random: Random) -> list[Sentence]:
        """See ``Grammar``."""
        one = {fact.role: fact for fact in facts}
        product, brand = one[FactRole.PRODUCT], one.get(FactRole.BRAND)
        told_brand = brand.text if brand and brand.text.casefold() not in product.text.casefold() else None
        speaker = Speaker(
            product.text, told_brand, tone=tone, roominess=roominess, random=random, traditional=self._traditional
        )
        named = (product, brand) if brand else (product,)
        benefits = [self._phrases[fact] for fact in facts if fact.role is FactRole.BENEFIT]
        keywords = [self._phrases[fact] for fact in facts if fact.role is FactRole.KEYWORD]
        audience = one.get(FactRole.AUDIENCE)
        untold = _open(speaker, self._phrases[audience] if audience else None, benefits, named)
        proofs = [phrase for phrase in untold if _PROOF.search(phrase.text)]
        for group in (*_grouped(speaker, [p for p in untold if p not in proofs]), *_grouped(speaker, proofs)):
            _tell(speaker, group)
        _tell_keywords(speaker, keywords)
        if price := one.get(FactRole.PRICE):
            tell_price(speaker, price)
        if offer := one.get(FactRole.OFFER):
            tell_offer(speaker, self._phrases[offer])
        if len(speaker.sentences) > 4 and speaker.chance(0.6 * roominess):
            _recap(speaker, [*benefits, *keywords])
        close_script(speaker, call=one.get(FactRole.CALL_TO_ACTION), named=named)
        return speaker.sentences


def _open(
    speaker: Speaker, audience: Phrase | None, benefits: list[Phrase], named: tuple[Fact, ...]
) -> Sequence[Phrase]:
    if speaker.chance(0.9 * speaker.roominess - 0.2):
        speaker.say(frames.GREETING)
    people = re.sub(r"^(?:给|給|适合|適合|面向)", "", audience.text) if audience else ""
    hooked = audience is not None and is_person(people) and "，" not in people and speaker.chance(0.7)
    wishes = [phrase for phrase in benefits[:2] if phrase.form is Form.WISH]
    asked = asked_of(people)
    if audience and hooked and asked:
        speaker.say(frames.HOOK_ASK, asked, facts=(audience.fact,))
    elif audience and hooked:
        speaker.say(frames.HOOK_PERSON, people, facts=(audience.fact,))
    elif wishes and len(benefits) > 1 and speaker.chance(0.6):
        benefits = [phrase for phrase in benefits if phrase is not wishes[0]]
        speaker.say(frames.HOOK_WISH, wishes[0].text, facts=(wishes[0].fact,))
    speaker.say(frames.INTRODUCTION, facts=named)
    if audience and not hooked:
        speaker.say(frames.AUDIENCE, people, facts=(audience.fact,))
    return benefits


def _grouped(speaker: Speaker, phrases: Sequence[Phrase]) -> list[list[Phrase]]:
    """Up to three to a sentence: neighbours of any kind, or those of one kind together."""
    lines: list[list[Phrase]] = [[]]
    by_kind = speaker.chance(0.4)
    for phrase in sorted(phrases, key=lambda p: list(Form).index(p.form)) if by_kind else phrases:
        last = lines[-1]
        parts = bool(last) and (
            Form.SENTENCE in (phrase.form, last[-1].form) or (by_kind and phrase.form is not last[-1].form)
        )
        if parts or len(last) >= (3 if speaker.roominess < 0.3 else speaker.random.randint(1, 3)):
            lines.append([])
        lines[-1].append(phrase)
    return [line for line in lines if line]


def _tell(speaker: Speaker, group: Sequence[Phrase]) -> None:
    facts = tuple(phrase.fact for phrase in group)
    text = "，".join(phrase.text for phrase in group)
    forms = {phrase.form for phrase in group}
    if Form.SENTENCE in forms:
        speaker.add(text, "benefit.sentence", facts)
        return
    form = forms.pop() if len(forms) == 1 else Form.PHRASE
    linked = speaker.sentences[-1].frame.startswith("benefit") and speaker.chance(0.3)
    speaker.say(_TABLES[form], text, facts=facts, name=f"benefit.{form}", link=linked)


def _tell_keywords(speaker: Speaker, keywords: Sequence[Phrase]) -> None:
    told = "".join(sentence.text for sentence in speaker.sentences).casefold()
    fresh = [phrase for phrase in keywords if phrase.text.casefold() not in told]
    for start in range(0, len(fresh), 4):
        group = fresh[start : start + 4]
        text = "、".join(phrase.text for phrase in group)
        table = frames.KEYWORDS if len(group) > 1 else frames.KEYWORD
        speaker.say(table, text, name="keywords", facts=tuple(phrase.fact for phrase in group))


def _recap(speaker: Speaker, phrases: Sequence[Phrase]) -> None:
    short = [phrase.text for phrase in phrases if phrase.form is Form.PHRASE and len(phrase.text) <= 10][:_RECAP_FACTS]
    if len(short) == _RECAP_FACTS:
        speaker.say(frames.RECAP, "，".join(short))
