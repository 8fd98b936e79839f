"""Greeting, hook, introduction."""

from __future__ import annotations

import re
from typing import Final

from services.domain.copywriting.english import frames, lexicon
from services.domain.copywriting.english.forms import Form
from services.domain.copywriting.english.phrases import Phrase
from services.domain.copywriting.english.speaker import Speaker
from services.domain.copywriting.english.words import base_form, is_plural, words_of
from services.domain.copywriting.facts import Fact

_PEOPLE_WITH: Final = re.compile(r"(?i)^(?:people|anyone|everyone|those|men|women) (with|who) (.+)$")
_CANNOT: Final = re.compile(r"(?i)^(?:can't|cannot) (?!\S+ing\b)")
_TO_YOU: Final = {"their": "your", "themselves": "yourself", "theirs": "yours"}


def open_script(
    speaker: Speaker, *, audience: Phrase | None, benefits: list[Phrase], named: tuple[Fact, ...]
) -> list[Phrase]:
    """Say the beginning; the benefits that it left to tell."""
    people = re.sub(r"^for\s+", "", audience.text) if audience else ""
    question = _question(people) if audience else None
    cannot = _cannot(people) if audience else None
    greets = speaker.chance(0.9 * speaker.roominess - 0.2)
    hooked = True
    if audience and cannot and speaker.chance(0.7):
        _greet(speaker, greets=greets)
        speaker.say(frames.HOOK_CANNOT, cannot, facts=(audience.fact,))
    elif audience and question and speaker.chance(0.7):
        _greet(speaker, greets=greets)
        speaker.say(frames.HOOK_QUESTION, question, facts=(audience.fact,))
    elif audience and is_plural(people) and len(words_of(people)) <= 6 and "," not in people and speaker.chance(0.7):
        speaker.say(frames.HOOK_PEOPLE, people, facts=(audience.fact,))
    else:
        hooked = False
        _greet(speaker, greets=greets)
        actions = [phrase for phrase in benefits[:2] if phrase.form is Form.ACTION]
        if actions and len(benefits) > 1 and speaker.chance(0.6):
            benefits = [phrase for phrase in benefits if phrase is not actions[0]]
            speaker.say(frames.HOOK_ACTION, actions[0].text, facts=(actions[0].fact,))
    speaker.say(frames.INTRODUCTION, facts=named)
    if audience and not hooked:
        speaker.say(frames.AUDIENCE, people, facts=(audience.fact,))
    return benefits


def _greet(speaker: Speaker, *, greets: bool) -> None:
    if greets:
        speaker.say(frames.GREETING)


def _question(people: str) -> str | None:
    """What to ask: "have dry skin" of "people with dry skin", "travel a lot" of "anyone who travels a lot"."""
    match = _PEOPLE_WITH.match(people)
    if not match:
        return None
    if match.group(1).lower() == "with":
        return _to_you(f"have {match.group(2)}")
    verb, _, rest = match.group(2).partition(" ")
    singular = people.lower().startswith(("anyone", "everyone"))
    base = base_form(verb) if singular else verb
    if verb in lexicon.BE_AND_MODALS or singular == (base == verb):
        return None
    if base not in lexicon.VERBS | lexicon.VERBS_OR_NOUNS | lexicon.ASKED_VERBS:
        return None
    return _to_you(f"{base} {rest}".strip())


def _cannot(people: str) -> str | None:
    """What "can't" is followed by: "sleep" of "people who can't sleep"."""
    match = _PEOPLE_WITH.match(people)
    if not match or match.group(1).lower() == "with" or not _CANNOT.match(match.group(2)):
        return None
    return _to_you(_CANNOT.sub("", match.group(2)))


def _to_you(text: str) -> str | None:
    """``text`` said of the listener; None where a pronoun could be somebody else's."""
    words = text.split(" ")
    if {"they", "them"} & set(words_of(text)):
        return None
    return " ".join(_TO_YOU.get(word, word) for word in words)
