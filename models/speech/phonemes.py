"""espeak-ng's phoneme names as plain IPA."""

from __future__ import annotations

from functools import cache
from typing import Final

_STRESS_AND_TIES: Final = str.maketrans("", "", "ˈˌ͡'\u200d\u200b|")

# Phonemes for which espeak-ng has no IPA string come under their internal names.
_INTERNAL: Final = (
    ("ts.h", "tʂʰ"),
    ("ts.", "tʂ"),
    ("tsh", "tsʰ"),
    ("tɕh", "tɕʰ"),
    ("ph", "pʰ"),
    ("th", "tʰ"),
    ("kh", "kʰ"),
    ("s.", "ʂ"),
    ("z.", "ʐ"),
    ("i.", "ɨ"),
    ("i[", "ɨ"),
    ("o-", "ɤ"),
    ("s-", "s͈"),
    ("onɡ", "ʊŋ"),
    ("iɑŋ", "iɑŋ"),
)
_VOICELESS_STOPS: Final = ("p", "t", "k", "c", "q", "ʈ", "ʔ")


@cache
def ipa(name: str) -> str:
    """IPA without stress marks and ties; empty for a pause or a language switch such as ``(en)``."""
    if name.startswith("("):
        return ""
    symbol = name.translate(_STRESS_AND_TIES)
    for internal, plain in _INTERNAL:
        symbol = symbol.replace(internal, plain)
    return "".join(sign for sign in symbol if not sign.isascii() or sign.isalpha())


def is_modifier(symbol: str) -> bool:
    """Whether ``symbol`` only colours the phoneme before it (ʲ, ʰ, ː)."""
    return bool(symbol) and all("ʰ" <= sign <= "\u036f" for sign in symbol)


def starts_with_closure(symbol: str) -> bool:
    """Whether ``symbol`` begins with a silent closure (p, t, k and their affricates)."""
    return symbol.startswith(_VOICELESS_STOPS)
