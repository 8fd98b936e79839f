"""From a text to pieces: words as they are read, and the marks that pause or end a sentence."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

import regex

from models.speech.normalize import japanese
from models.speech.normalize.language import rules_of
from models.speech.normalize.markup import without_markup
from models.speech.normalize.reader import LETTER
from models.speech.normalize.rules import table


class Kind(Enum):
    WORD = "word"
    MARK = "mark"  # , ; : . ? !
    BREAK = "break"  # end of a line
    PARAGRAPH = "paragraph"


@dataclass(frozen=True, slots=True)
class Piece:
    """``text[start:end]`` and how it is read; ``glued`` writes it to the piece before without a space."""

    kind: Kind
    spoken: str
    start: int
    end: int
    glued: bool = False


_UNSPACED: Final = r"[\p{Han}\p{Hiragana}\p{Katakana}ー々〆ヶ]"
_WORD: Final = (
    r"\d+(?:[.,:]\d+)+|(?:(?!"
    + _UNSPACED
    + r")[\p{L}\p{M}\p{N}])+(?:['\-·](?:(?!"
    + _UNSPACED
    + r")[\p{L}\p{M}\p{N}])+)*"
)
_TOKEN: Final = regex.compile(
    rf"(?P<kana>{_UNSPACED}+)|(?P<word>{_WORD})|(?P<newline>[ ]*\n\s*)|(?P<space>[\s]+)|(?P<sign>.)", regex.DOTALL
)
_MARKS: Final = {
    **dict.fromkeys(",،、，", ","),
    **dict.fromkeys(";；؛", ";"),
    **dict.fromkeys(":：", ":"),
    **dict.fromkeys(".。．｡।॥۔።", "."),
    **dict.fromkeys("?？؟", "?"),
    **dict.fromkeys("!！", "!"),
    **dict.fromkeys("…", "…"),
    **dict.fromkeys("—–―()（）[]{}【】《》〈〉|｜•·→", ","),
}
_FULL_WIDTH_ENDS: Final = "。．｡।॥۔።？！"
_LEFT_TO_VOICE: Final = "%‰€$£¥&+=°§"  # in a language without rules the voice has its own words for them
_CLOSERS: Final = "\"'”’»)]}）】」』》"


def pieces(text: str, *, language: str, pronunciations: Mapping[str, str]) -> list[Piece]:
    """All pieces of ``text`` in order. Nothing that is spoken is left out."""
    fixed = _pronounced(text, pronunciations, language)
    visible = list(without_markup(text))
    for piece in fixed:  # what the client wants said is no markup
        visible[piece.start : piece.end] = "\ufffc" * (piece.end - piece.start)
    seen = "".join(visible)
    read = sorted([*fixed, *_read(seen, language)], key=lambda piece: piece.start)
    out: list[Piece] = []
    at = 0
    for piece in read:
        out += _plain(seen, at, piece.start, language)
        out.append(piece)
        if piece.kind is Kind.WORD and _ends_sentence(seen, piece, language):
            out.append(Piece(Kind.MARK, ".", piece.end, piece.end))
        at = piece.end
    return out + list(_plain(seen, at, len(seen), language))


def _pronounced(text: str, pronunciations: Mapping[str, str], language: str) -> list[Piece]:
    if not pronunciations:
        return []
    forms = "|".join(
        (r"(?<![\p{L}\p{M}\p{N}])" if _bounded(form[0]) else "")
        + regex.escape(form, literal_spaces=True)
        + (r"(?![\p{L}\p{M}\p{N}])" if _bounded(form[-1]) else "")
        for form in sorted(filter(None, pronunciations), key=len, reverse=True)
    )
    return [
        Piece(Kind.WORD, _reread(pronunciations[match[0]], language), *match.span())
        for match in regex.finditer(forms, text)
        if pronunciations[match[0]].strip()
    ]


def _bounded(sign: str) -> bool:
    return bool(regex.match(r"[\p{L}\p{M}\p{N}]", sign)) and not regex.match(_UNSPACED, sign)


def _reread(spoken: str, language: str) -> str:
    words = [piece.spoken for piece in pieces(spoken, language=language, pronunciations={}) if piece.kind is Kind.WORD]
    return " ".join(words) or spoken


def _read(seen: str, language: str) -> list[Piece]:
    """Pieces whose reading differs from their writing; the earlier rule wins, then the earlier place."""
    taken = bytearray(len(seen))
    found = []
    for pattern, read in table(language):
        for match in pattern.finditer(seen):
            start, end = match.span()
            if start == end or any(taken[start:end]):
                continue
            spoken = read(match)
            if spoken is None:
                continue
            written = seen[start:end]
            start += len(written) - len(written.lstrip())
            end -= len(written) - len(written.rstrip())
            taken[start:end] = b"\x01" * (end - start)
            spoken = " ".join(spoken.replace("\u00a0", " ").split())
            if language.startswith("ja"):
                spoken = regex.sub(
                    _UNSPACED + "+", lambda run: "".join(k for _, k in japanese.readings(run[0])), spoken
                )
            found.append(Piece(Kind.WORD, spoken, start, end, _is_joined(seen, start, language)))
    return found


def _plain(seen: str, start: int, end: int, language: str) -> Iterator[Piece]:
    """Words as they are written, marks and breaks between ``start`` and ``end``."""
    at = start
    while at < end:
        match = _TOKEN.match(seen, at, end)
        assert match is not None
        if match["kana"]:
            yield from _unspaced(seen, at, match.end(), language)
        elif match["word"]:
            word = unicodedata.normalize("NFC", match["word"])
            after_sign = rules_of(language) is None and at > 0 and seen[at - 1] in _LEFT_TO_VOICE
            yield Piece(Kind.WORD, word, at, match.end(), after_sign or _glued(seen, at))
        elif match["newline"]:
            yield from _line_end(seen, match)
        elif match["sign"]:
            yield from _sign(seen, at, match[0], language)
        at = match.end()


def _unspaced(seen: str, start: int, end: int, language: str) -> Iterator[Piece]:
    run = seen[start:end]
    if language.startswith("ja") or regex.search(r"[\p{Hiragana}\p{Katakana}]", run):
        at = start
        for original, kana in japanese.readings(run):
            if kana.strip():
                glued = bool(regex.fullmatch(r"\p{Hiragana}{1,3}", original)) and (at > start or _glued(seen, at))
                yield Piece(Kind.WORD, kana, at, min(at + len(original), end), glued)
            at += len(original)
        return
    for at in range(start, end):
        yield Piece(Kind.WORD, seen[at], at, at + 1, at > start or _glued(seen, at))


def _glued(seen: str, at: int) -> bool:
    """Whether an unspaced script or Hangul goes on here without a space."""
    if at == 0 or seen[at - 1].isspace():
        return False
    return bool(regex.match(rf"{_UNSPACED}|\p{{Hangul}}", seen[at])) or bool(
        regex.match(rf"{_UNSPACED}", seen[at - 1]) and not regex.match(LETTER, seen[at])
    )


def _is_joined(seen: str, start: int, language: str) -> bool:
    """The same for a reading: in Chinese and Korean it is written to the sign before it."""
    if start == 0 or language.split("-")[0] not in ("zh", "ko"):
        return False
    return bool(regex.match(rf"{_UNSPACED}|\p{{Hangul}}", seen[start - 1]))


def _line_end(seen: str, match: regex.Match[str]) -> Iterator[Piece]:
    following = seen[match.end() : match.end() + 1]
    blank = match[0].count("\n") > 1
    if match[0].endswith("\n") and not blank and following.islower():  # a hard-wrapped line, not a pause
        return
    yield Piece(Kind.PARAGRAPH if blank else Kind.BREAK, "", *match.span())


def _sign(seen: str, at: int, sign: str, language: str) -> Iterator[Piece]:
    if sign in _LEFT_TO_VOICE and rules_of(language) is None:
        yield Piece(Kind.WORD, sign, at, at + 1, at > 0 and not seen[at - 1].isspace())
        return
    yield from _mark(seen, at, sign)


def _mark(seen: str, at: int, sign: str) -> Iterator[Piece]:
    mark = _MARKS.get(sign)
    after = seen[at + 1 : at + 2]
    if sign == "-":
        spaced = at > 0 and seen[at - 1].isspace() and (after.isspace() or not after)
        mark = "," if spaced else None
    if mark is None:
        return
    if mark == "…" or (mark == "." and "." in (after, seen[at - 1 : at])):
        rest = regex.match(r"[.…\s]*(.?)", seen[at:], regex.DOTALL)
        mark = "," if rest and rest[1].islower() else "."
    elif mark in ".?!" and sign not in _FULL_WIDTH_ENDS:
        rest = seen[at + 1 :].lstrip(_CLOSERS + ".?!…")[:1]
        if (
            rest
            and not rest.isspace()
            and not regex.match(r"\p{Lu}|[\p{Han}\p{Hiragana}\p{Katakana}]|[¿¡\ufffc]", rest)
        ):
            mark = "," if mark == "." else mark
    elif sign == ":" and not (after.isspace() or not after):
        return
    yield Piece(Kind.MARK, mark, at, at + 1)


def _ends_sentence(seen: str, piece: Piece, language: str) -> bool:
    """Whether the dot of an abbreviation is the full stop too."""
    written = seen[piece.start : piece.end]
    rules = rules_of(language)
    if not written.endswith(".") or rules is None:
        return False
    rest = seen[piece.end :]
    last = not rest.strip() or rest.lstrip(" ")[:1] == "\n"
    return last or (written in rules.final and bool(regex.match(r"\s+\p{Lu}", rest)))
