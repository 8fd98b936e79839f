"""Addresses, handles, telephone numbers, versions and codes such as 705A."""

from __future__ import annotations

from typing import Final

import regex

from models.speech.normalize.reader import END, LETTER, START, Reader

_TLD: Final = (
    "com|org|net|io|ai|app|dev|shop|store|info|biz|edu|gov|tv|me|co|eu|uk|us|de|at|ch|fr|es|pt|br|it|ru|ua|pl|nl|be|se|no|dk|fi|"
    "cn|jp|kr|vn|in|ca|au|nz|mx|ar|ie|gr|cz|hu|ro|tr|ae|za|sg|hk|tw|ph|cl|lu|lt|lv|ee|sk|hr|bg|rs|example|online|site|tech|"
    "cloud|studio|blog|club|beauty|fashion|shoes|coffee|hotel|travel|health|global|agency|digital|xyz|vip"
)
_HOST: Final = rf"(?:[\p{{L}}\p{{N}}](?:[\p{{L}}\p{{N}}-]*[\p{{L}}\p{{N}}])?\.)+(?:{_TLD})"

WEB: Final = (
    rf"(?<![\p{{L}}\p{{N}}@])(?:https?://)?(?P<host>{_HOST}|localhost)"
    rf"(?P<path>(?:[/?#:][^\s<>\"'，。）)]*[^\s<>\"'，。）).,;:!?])?/?)(?![\p{{L}}\p{{N}}])"
)
LINK: Final = r"https?://(?P<host>[^\s/<>\"'，。）)]+)(?P<path>(?:[^\s<>\"'，。）)]*[^\s<>\"'，。）).,;:!?])?)"
EMAIL: Final = rf"(?<![\p{{L}}\p{{N}}])(?P<user>[A-Za-z0-9._%+-]+)@(?P<host>{_HOST})(?![\p{{L}}\p{{N}}])"
HANDLE: Final = r"(?<![\p{L}\p{N}])@(?P<name>[\p{L}\p{N}_]+(?:\.[\p{L}\p{N}_]+)*)"
HASHTAG: Final = r"(?<![\p{L}\p{N}&])#(?P<name>(?=[\p{L}\p{N}_]*\p{L})[\p{L}\p{M}\p{N}_]+)"
PHONE: Final = (
    rf"{START}(?P<plus>\+)?(?:\d{{1,3}}[ .\-])?(?:\(\d{{1,5}}\)[ .\-]?)?\d{{2,5}}(?:[ .\-]\d{{2,8}}){{1,5}}{END}"
)
LONG_PHONE: Final = rf"{START}(?:\+\d{{7,15}}|1[3-9]\d{{9}}){END}"
VERSION: Final = (
    rf"(?<![\p{{L}}\p{{N}}.])(?:(?P<v>[vV])\.? ?)?(?P<parts>\d+(?:\.\d+){{2,}}){END}"
    rf"|(?<![\p{{L}}\p{{N}}])[vV](?P<parts>\d+(?:\.\d+)*){END}"
)
NUMBER_SIGN: Final = rf"(?<![\p{{L}}\p{{N}}])(?:No\.|Nr\.|[Nn]\.?[º°]|№|#) ?(?P<digits>\d+){END}"
CODE: Final = (
    rf"(?<![\p{{L}}\p{{N}}])(?<!\d[.,:])(?=[A-Za-z0-9-]*\d)(?=[A-Za-z0-9-]*[A-Za-z])"
    rf"[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*(?!\d)(?!{LETTER})"
)
NAME_WITH_DIGITS: Final = (
    rf"(?<![\p{{L}}\p{{N}}])(?<!\d[.,:])(?=[\p{{L}}\p{{M}}\d-]*{LETTER})(?=[\p{{L}}\d-]*\d)"
    rf"[\p{{Latin}}\p{{Cyrillic}}\p{{Devanagari}}\p{{M}}\d]+(?:-[\p{{Latin}}\p{{Cyrillic}}\d]+)*(?!\d)(?!{LETTER})"
)


def web(reader: Reader, match: regex.Match[str]) -> str | None:
    """Host and a short path; protocol, ``www.`` and queries are not read."""
    host = match["host"].removeprefix("www.")
    segments = [part for part in regex.split(r"[?#:]", match["path"])[0].split("/") if part]
    words = [_dotted(reader, host)]
    if len(segments) <= 2 and sum(map(len, segments)) <= 30:
        for segment in segments:
            words += [reader.rules.slash, _dotted(reader, segment)]
    return " ".join(words)


def email(reader: Reader, match: regex.Match[str]) -> str | None:
    return f"{_dotted(reader, match['user'])} {reader.rules.at} {_dotted(reader, match['host'])}"


def handle(reader: Reader, match: regex.Match[str]) -> str | None:
    return f"{reader.rules.at} {_dotted(reader, match['name'])}"


def hashtag(reader: Reader, match: regex.Match[str]) -> str | None:
    return f"{reader.rules.hashtag} {_words_of(reader, match['name'])}"


def phone(reader: Reader, match: regex.Match[str]) -> str | None:
    """Digit by digit in its own groups; pairs as numbers in French."""
    written = match[0]
    digits = regex.sub(r"\D", "", written)
    shaped = regex.search(
        r"\d{3}[-.]\d{4}$|^0|^\+|\(|^\d{3}-\d{3}|^1-\d{3}|^\d{3} \d{4} \d{4}$|^1\d\d[ -]\d{4}|^1[3-9]\d{9}$", written
    )
    if not 7 <= len(digits) <= 15 or not shaped or regex.fullmatch(r"\d{1,3}(?:[ .]\d{3})+", written):
        return None
    groups = regex.findall(r"\d+", written)
    if len(groups) == 1:
        groups = _grouped(groups[0])
    words = [_phone_group(reader, group) for group in groups]
    plus = f"{reader.rules.plus} " if written.startswith("+") else ""
    return plus + ", ".join(words)


def version(reader: Reader, match: regex.Match[str]) -> str | None:
    parts = match.captures("parts")[0].split(".")
    dot = reader.rules.dot if reader.rules.tag != "en" else reader.rules.point
    words = f" {dot} ".join(reader.numbers.cardinal(int(part)) for part in parts)
    return f"{reader.rules.version} {words}" if match[0][0] in "vV" else words


def number_sign(reader: Reader, match: regex.Match[str]) -> str | None:
    return reader.numbers.joined(reader.rules.number, reader.numbers.cardinal(int(match["digits"])))


def code(reader: Reader, match: regex.Match[str]) -> str | None:
    """Letters and digits mixed: 705A, MP3, B2B, COVID-19, iPhone15."""
    words = []
    for run in regex.findall(r"\d+|[^\d-]+", match[0]):
        if run.isdigit():
            words.append(reader.numbers.code(run) if len(run) <= 8 else reader.numbers.digits(run))
        elif run.isupper() and len(run) <= 3:
            words.append(reader.spelled(run))
        else:
            words.append(run)
    return " ".join(words)


def _phone_group(reader: Reader, group: str) -> str:
    if reader.rules.tag == "fr" and len(group) == 2:
        return reader.numbers.digits(group) if group.startswith("0") else reader.numbers.cardinal(int(group))
    words = reader.numbers.digits(group)
    return words.replace("一", "幺") if reader.rules.tag == "zh" else words


def _grouped(digits: str) -> list[str]:
    head = len(digits) % 4 or 4
    return [digits[:head], *(digits[at : at + 4] for at in range(head, len(digits), 4))]


def _dotted(reader: Reader, name: str) -> str:
    return f" {reader.rules.dot} ".join(_words_of(reader, part) for part in name.split(".") if part)


def _words_of(reader: Reader, name: str) -> str:
    """Camel case, underscores and digits apart: ``SummerSale2025`` -> Summer Sale 2025 in words."""
    words = []
    for part in regex.findall(r"\d+|\p{Lu}+(?!\p{Ll})|\p{L}[\p{Ll}\p{M}\p{Lo}]*|[\p{L}\p{M}]+|-", name):
        if part.isdigit():
            year = len(part) == 4 and part[:2] in ("19", "20")
            words.append(reader.numbers.year(int(part)) if year else reader.numbers.code(part))
        elif part != "-":
            words.append(part)
    return " ".join(words)
