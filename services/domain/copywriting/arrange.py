"""Which facts, in which forms, fill the asked seconds: many drafts are made, the best one is taken."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import Final

from services.domain.copywriting.facts import Fact, FactRole
from services.domain.copywriting.sentences import Grammar, Sentence

_NUM_DRAFTS: Final = 720
_NUM_LEAST_DRAFTS: Final = 200
_GOOD_COST: Final = 0.06  # every fact told, nothing repeated, within the tolerance: no need to look further
_NEAR: Final = 0.15  # half of the drafts vary the best one's share of facts and roominess by up to this
_TOLERANCE: Final = 0.05  # drafts this near to the asked length are equally good
_LENGTH_COST: Final = 120.0  # of being off by the whole length; so 1 % off weighs as much as an unimportant fact
_REPEATED_FRAME_COST: Final = 4.0
_REPEATED_START_COST: Final = 2.0
_REPEATED_NAME_COST: Final = 1.0
_NAME_AGAIN_COST: Final = 3.0  # in the very next sentence, where a pronoun would do
_EMPTY_SENTENCE_COST: Final = 0.8  # less than any benefit's importance: a greeting gives way to a fact


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrangement:
    text: str
    length: float
    used: frozenset[Fact]


def arrange(
    facts: Sequence[Fact], grammar: Grammar, *, tone: str, target: float, length_of: Callable[[str], float], seed: str
) -> Arrangement:
    """The draft that comes nearest to ``target`` while telling the important facts and repeating no pattern.

    Args:
        target: In the unit of ``length_of``.
        seed: The same facts, tone, target and seed give the same text.
    """
    number = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8], "big")
    product = facts[0]
    others = sorted((fact for fact in facts[1:] if fact.importance), key=lambda fact: -fact.importance)
    best: tuple[float, Arrangement] | None = None
    best_share = best_roominess = 0.5
    for trial in range(_NUM_DRAFTS):
        random = Random(number + trial)
        share, roominess = random.random() * 1.2, random.random()
        if trial % 2:
            share = best_share + random.uniform(-_NEAR, _NEAR)
            roominess = best_roominess + random.uniform(-_NEAR, _NEAR)
        told = sorted([product, *_choice(others, random, share)], key=facts.index)
        sentences = grammar.draft(told, tone=tone, roominess=roominess, random=random)
        arrangement = _joined(sentences, facts, grammar.separator, length_of)
        cost = _cost(arrangement, sentences, facts, target)
        if best is None or cost < best[0]:
            best, best_share, best_roominess = (cost, arrangement), share, roominess
        if trial >= _NUM_LEAST_DRAFTS and best[0] < _GOOD_COST:
            break
    assert best is not None
    return best[1]


def _choice(others: Sequence[Fact], random: Random, share: float) -> list[Fact]:
    """About ``share`` of the facts, the important ones first, now and then another one instead."""
    count = max(0, round(share * len(others)))
    skipped = random.randrange(len(others)) if count < len(others) and random.random() < 0.3 else -1
    return [fact for rank, fact in enumerate(others) if rank != skipped][:count]


def _joined(
    sentences: Sequence[Sentence], facts: Sequence[Fact], separator: str, length_of: Callable[[str], float]
) -> Arrangement:
    text = separator.join(sentence.text for sentence in sentences)
    told = {fact for sentence in sentences for fact in sentence.facts}
    folded = text.casefold()
    said = {fact for fact in facts if fact.role is FactRole.KEYWORD and fact.text.casefold() in folded}
    return Arrangement(text=text, length=length_of(text), used=frozenset(told | said))


def _cost(arrangement: Arrangement, sentences: Sequence[Sentence], facts: Sequence[Fact], target: float) -> float:
    miss = abs(arrangement.length - target) / target
    cost: float = _LENGTH_COST * max(0.0, miss - _TOLERANCE) + miss
    cost += sum(fact.importance for fact in facts if fact not in arrangement.used)
    cost += _EMPTY_SENTENCE_COST * sum(not sentence.facts for sentence in sentences)
    frames = Counter(sentence.frame for sentence in sentences)
    cost += _REPEATED_FRAME_COST * sum(count - 1 for count in frames.values())
    starts = [re.split(r"[\s,，。:：]", sentence.text, maxsplit=1)[0] for sentence in sentences]
    cost += _REPEATED_START_COST * sum(a == b for a, b in pairwise(starts))
    cost += _REPEATED_START_COST * sum(max(0, count - 2) for count in Counter(starts).values())
    two_words = Counter(" ".join(sentence.text.split(" ")[:2]) for sentence in sentences)
    cost += _REPEATED_START_COST * sum(count - 1 for count in two_words.values())
    name = facts[0].text.casefold()
    names_it = [name in sentence.text.casefold() for sentence in sentences]
    cost += _NAME_AGAIN_COST * sum(a and b for a, b in pairwise(names_it))
    cost += _REPEATED_NAME_COST * max(0, arrangement.text.casefold().count(name) - 2)
    return cost
