"""What is seen but not spoken: emoji, Markdown, HTML tags. Replaced by spaces, so that offsets stay as they are."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Callable
from typing import Final

import emoji
import regex

_FULL_WIDTH_MARKS: Final = "，．：；！？（）"  # never part of a number

# Each pattern blanks its whole match but for the group named "kept".
_MARKUP: Final = tuple(
    regex.compile(pattern, regex.MULTILINE)
    for pattern in (
        r"<!--.*?-->",
        r"</?[A-Za-z][^<>\n]{0,200}>",
        r"^[ \t]*(?:```|~~~)[^\n]*$",
        r"^[ \t]*(?:[-*_=][ \t]*){3,}$",
        r"^[ \t]*\|?(?:[ \t]*:?-{3,}:?[ \t]*\|)+[ \t]*(?::?-{3,}:?)?[ \t]*$",
        r"!\[[^\]\n]*\]\([^)\n]*\)",
        r"\[(?P<kept>[^\]\n]+)\]\([^)\n]*\)",
        r"\[(?P<kept>[^\]\n]+)\]\[[^\]\n]*\]",
        r"^[ \t]*>+[ \t]?",
        r"^[ \t]*#{1,6}[ \t]+",
        r"^[ \t]*[-*+•‣▪◦·][ \t]+(?:\[[ xX]\][ \t]+)?",
        r"\*{1,3}(?=\S)(?P<kept>[^*\n]+?)(?<=\S)\*{1,3}",
        r"(?<![\p{L}\p{N}_])_{1,3}(?=\S)(?P<kept>[^_\n]+?)(?<=\S)_{1,3}(?![\p{L}\p{N}_])",
        r"~~(?P<kept>[^~\n]+)~~",
        r"`+(?P<kept>[^`\n]+)`+",
        r"(?<!\S)<3+(?!\S)",
        r"(?<!\S)[:;=8][-o^']?[)(\]\[DPp3](?!\S)",
    )
)
_ENTITY: Final = regex.compile(r"&(?:#\d{1,7}|#x[0-9A-Fa-f]{1,6}|[A-Za-z]{2,8});")


def without_markup(text: str) -> str:
    """``text`` in the same length, with what is not spoken blanked and look-alike signs made plain."""
    signs = list(text)

    def blank(start: int, end: int) -> None:
        for index in range(start, end):
            if signs[index] != "\n":
                signs[index] = " "

    for found in emoji.emoji_list(text):
        blank(found["match_start"], found["match_end"])
    for pattern in _MARKUP:
        for match in pattern.finditer("".join(signs)):
            kept = match.span("kept") if "kept" in pattern.groupindex else (match.end(), match.end())
            blank(match.start(), kept[0])
            blank(kept[1], match.end())
    for match in _ENTITY.finditer("".join(signs)):
        sign = html.unescape(match[0])
        if len(sign) == 1:
            blank(*match.span())
            signs[match.start()] = sign
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
