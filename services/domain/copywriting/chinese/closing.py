"""Price, offer, call to action, sign-off."""

from __future__ import annotations

import re
from typing import Final

from services.domain.copywriting.chinese import frames
from services.domain.copywriting.chinese.phrases import Form, Phrase, punctuated
from services.domain.copywriting.chinese.speaker import Speaker
from services.domain.copywriting.facts import Fact

_PLACE: Final = re.compile(r"(?i)^(?:https?://)?(?:www\.)?[\w-]+(?:\.[\w-]+)+(?:/\S*)?$")
_PHONE: Final = re.compile(r"^\+?[\d\s()/.-]{5,}$")
_TERMS: Final = re.compile(r"[每起/免至到]")
_SERVICES: Final = ("家", "门", "門", "项", "項")  # measure words of what nobody carries home
_ASKS: Final = re.compile(r"^(?:快|来|來|点|點|立|马|馬|现|現|扫|掃|搜|关注|關注|预|預|下载|下載|联系|聯繫)")
_SETTLED_END: Final = re.compile(r"[吧吗嗎呢哦啦！!”」\da-zA-Z]$")
_LONG_OFFER: Final = 20


def tell_price(speaker: Speaker, price: Fact) -> None:
    table = frames.PRICE_TERMS if _TERMS.search(price.text) or speaker.measure in _SERVICES else frames.PRICE
    speaker.say(table, punctuated(price.text), facts=(price,), name="price")


def tell_offer(speaker: Speaker, offer: Phrase) -> None:
    if offer.form is Form.SENTENCE and len(offer.text) > _LONG_OFFER:
        speaker.add(offer.text, "offer.sentence", (offer.fact,))
    else:
        speaker.say(frames.OFFER, offer.text, facts=(offer.fact,))


def close_script(speaker: Speaker, *, call: Fact | None, named: tuple[Fact, ...]) -> None:
    """The call to action, the brief's own if it has one, and perhaps a sign-off."""
    if call is None:
        if speaker.roominess > 0.2:
            speaker.say(frames.CALL_NONE, facts=named)
    elif _PLACE.match(call.text):
        speaker.say(frames.CALL_PLACE, call.text, facts=(call,))
    elif _PHONE.match(call.text):
        speaker.say(frames.CALL_PHONE, call.text, facts=(call,))
    elif _ASKS.match(call.text) and not _SETTLED_END.search(call.text):
        speaker.say(frames.CALL, punctuated(call.text), facts=(call,))
    else:
        speaker.add(punctuated(call.text), "call.sentence", (call,))
    if speaker.chance(0.7 * speaker.roominess - 0.2):
        speaker.say(frames.SIGN_OFF)
