"""What in a brief is no fact of a product, but tells a language model what to do."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from typing import Any, Final

from services.domain.brief import Brief
from services.domain.errors import ContentRejected

_ORDER: Final = re.compile(
    r"(?i)\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}\b(?:rules?|instructions?|prompts?|above|previous|"
    r"guidelines|restrictions|brief|everything)\b|\b(?:system|developer) (?:prompt|message)\b|\byou are now\b|"
    r"\bact as (?:an?|the)\b|"
    r"\bpretend (?:to|that)\b|\bjailbreak|\bnew instructions?\b|</?(?:system|assistant|user|instructions?)>|\[/?inst\]|"
    r"(?:忽略|无视|無視|忘记|忘記|不要理会|跳过).{0,12}(?:规则|規則|指令|指示|提示|要求|限制|以上|之前)|系统提示|系統提示|你现在是|你現在是|"
    r"\b(?:ignorez?|oublie[zr]?|ignoriere?|vergiss|ignora|olvida|ignore|esqueça)\b.{0,40}\b(?:règles?|instructions?|regeln?|"
    r"anweisungen|reglas?|instrucciones|regole|istruzioni|regras?|instruções)\b"
)
_SINGLE: Final = ("brand", "audience", "offer", "price", "call_to_action", "tone")


def is_order(fact: str) -> bool:
    """Whether ``fact`` speaks to a model. A product may say "forget the rules of the road"; that one is lost, too."""
    return _ORDER.search(unicodedata.normalize("NFKC", fact)) is not None


def without_orders(brief: Brief, *, param: str = "brief") -> tuple[Brief, tuple[str, ...]]:
    """``brief`` without the facts that are orders, and those.

    They are neither shown to a model, nor spoken, nor evidence for what a script claims.

    Args:
        param: Where the brief stands in the request.

    Raises:
        ContentRejected: ``order_in_brief``: the product itself is one.
    """
    if is_order(brief.product):
        raise ContentRejected(
            "The product's name reads like an order to a language model; say in `product` what is sold.",
            code="order_in_brief",
            param=f"{param}.product",
        )
    single: dict[str, Any] = {name: getattr(brief, name) for name in _SINGLE}
    orders = [text for text in single.values() if text and is_order(text)]
    orders += [text for text in (*brief.benefits, *brief.keywords) if is_order(text)]
    if not orders:
        return brief, ()
    kept: Any = {name: None if text in orders else text for name, text in single.items()}
    kept["benefits"] = tuple(text for text in brief.benefits if text not in orders)
    kept["keywords"] = tuple(text for text in brief.keywords if text not in orders)
    return replace(brief, **kept), tuple(orders)
