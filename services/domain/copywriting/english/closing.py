"""Price, offer, call to action, sign-off."""

from __future__ import annotations

import re
from typing import Final

from services.domain.copywriting.english import frames
from services.domain.copywriting.english.forms import Form
from services.domain.copywriting.english.phrases import Phrase
from services.domain.copywriting.english.speaker import PLACE, Speaker
from services.domain.copywriting.english.words import words_of
from services.domain.copywriting.facts import Fact

_PHONE: Final = re.compile(r"^\+?[\d\s()/.-]{5,}$")
_TERMS: Final = re.compile(r"(?i)\b(per|a|an|each|monthly|yearly)\b|/")
_SMALL_START: Final = re.compile(r"^(?:From|Free|Start\w*|Only|Just|Now|At|Under|About)\b")
_PLAIN_PRICE: Final[frames.Table] = {"any": ("The price is {x}.", "The price: {x}.")}
_CALL_PHONE: Final[frames.Table] = {"any": ("Call {x}.", "Call us: {x}.")}


def tell_price(speaker: Speaker, price: Fact) -> None:
    text = _SMALL_START.sub(lambda match: match[0].lower(), price.text)
    start = re.match(r"(?i)^(?:starting |starts )?(?:from|at)\s+", text)
    if start:
        speaker.say(frames.PRICE_FROM, text[start.end() :], facts=(price,))
    elif not re.match(r"^(?:[^a-z]*|[A-Za-z]{1,3}\.? ?)\d", text):
        speaker.say(frames.PRICE_FREE, text, facts=(price,))
    elif _TERMS.search(text):
        speaker.say(_PLAIN_PRICE, text, facts=(price,), name="price")
    else:
        speaker.say(frames.PRICE, text, facts=(price,))


def tell_offer(speaker: Speaker, offer: Phrase) -> None:
    text, form, facts = offer.text, offer.form, (offer.fact,)
    words = words_of(text)
    settled = words[0] in ("a", "an") or (words[0] == "free" and form is Form.NOUNS)
    if ":" in text or form is Form.SENTENCE:
        speaker.add(text, "offer.sentence", facts)
    elif form is Form.ACTION:
        speaker.say(frames.OFFER_ACTION, text, facts=facts)
    elif settled or re.match(r"\d+\s?(?:%|percent) off\b", text):
        table = frames.OFFER_NOUNS if speaker.chance(0.6) else frames.OFFER
        speaker.say(table, text, facts=facts)
    else:
        speaker.say(frames.OFFER, text, facts=facts)


def close_script(speaker: Speaker, *, call: Phrase | None, named: tuple[Fact, ...]) -> None:
    """The call to action, the brief's own if it has one, and perhaps a sign-off."""
    place = None
    if call is None:
        if speaker.roominess > 0.2:
            speaker.say(frames.CALL_NONE, facts=named)
    elif PLACE.match(call.fact.text):
        place = call.fact.text
        speaker.say(frames.CALL_PLACE, place, facts=(call.fact,))
    elif _PHONE.match(call.fact.text):
        speaker.say(_CALL_PHONE, call.fact.text, facts=(call.fact,), name="call")
    else:
        place = _call(speaker, call)
    if not speaker.chance(0.7 * speaker.roominess - 0.2):
        return
    if place and speaker.chance(0.5):
        speaker.say(frames.SIGN_OFF_PLACE, place)
    else:
        speaker.say(frames.SIGN_OFF)


def _call(speaker: Speaker, call: Phrase) -> str | None:
    """Say it; the web address at its end, if it has one."""
    if call.form is Form.ACTION:
        speaker.say(frames.CALL_ACTION, call.text, facts=(call.fact,))
    else:
        speaker.add(call.text, "call.sentence", (call.fact,))
    last = call.text.split()[-1]
    return last if PLACE.match(last) else None
