"""What is seen but not spoken: emoji, Markdown, HTML tags. Replaced by spaces, so that offsets stay as they are."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Final

import emoji
import regex

from models.markup import entities, markup_spans

_FULL_WIDTH_MARKS: Final = "，．：；！？（）"  # never part of a number

_EMOTICONS: Final = tuple(
    regex.compile(pattern) for pattern in (r"(?<!\S)<3+(?!\S)", r"(?<!\S)[:;=8][-o^']?[)(\]\[DPp3](?!\S)")
)


def without_markup(text: str) -> str:
    """``text`` in the same length, with what is not spoken blanked and look-alike signs made plain."""
    signs = list(text)

    def blank(start: int, end: int) -> None:
        for index in range(start, end):
            if signs[index] != "\n":
                signs[index] = " "

    for found in emoji.emoji_list(text):
        blank(found["match_start"], found["match_end"])
    for start, end in markup_spans("".join(signs)):
        blank(start, end)
    for pattern in _EMOTICONS:
        for match in pattern.finditer("".join(signs)):
            blank(*match.span())
    for start, end, sign in entities("".join(signs)):
        if len(sign) == 1:
            blank(start, end)
            signs[start] = sign
    return "".join(map(_plain_sign(), signs))


def _plain_sign() -> Callable[[str], str]:
    table = {
        "’": "'", "ʼ": "'", "‘": "'", "＇": "'", "′": "'",
        "‐": "-", "‑": "-", "−": "-", "﹣": "-", "\u00ad": " ",
        "\r": " ", "\t": " ", "\v": "\n", "\f": "\n", "\u2028": "\n", "\u2029": "\n", "\x85": "\n",
        "\u200b": " ", "\u2060": " ", "\ufeff": " ", "\ufe0f": " ", "\ufffd": " ",
        "℃": "℃", "℉": "℉", "№": "№",
    }  # fmt: skip

    def plain(sign: str) -> str:
        if sign in table:
            return table[sign]
        if sign.isascii():
            return sign if sign >= " " or sign == "\n" else " "
        category = unicodedata.category(sign)
        if category == "Nd":
            return str(unicodedata.digit(sign))
        if category in ("Cc", "Co", "Cn", "Cs"):
            return " "
        if "\uff01" <= sign <= "\uff5e" and sign not in _FULL_WIDTH_MARKS:  # full-width Latin
            return chr(ord(sign) - 0xFEE0)
        if "\u2100" <= sign <= "\u214f" or "\u2460" <= sign <= "\u24ff" or "\U0001d400" <= sign <= "\U0001d7ff":
            letter = unicodedata.normalize("NFKC", sign)  # 𝓯𝓪𝓷𝓬𝔂, ①
            return letter if len(letter) == 1 else sign
        return sign

    return plain
