"""Where a text may be broken, and how well: sentences, clauses, words; Chinese, Japanese and Thai too."""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cache

import budoux
import regex


class Break(IntEnum):
    """How good it is to break after a piece, best first."""

    PARAGRAPH = 4
    SENTENCE = 3
    CLAUSE = 2
    WORD = 1
    POOR = 0  # after a small word that belongs to what follows, or inside a long one


@dataclass(frozen=True, slots=True)
class Piece:
    """``text[start:end]``, with the white space that follows it; ``quality`` is that of a break after it."""

    start: int
    end: int
    quality: Break


_CLOSING = r"[\p{Pe}\p{Pf}\"'”’»›」』】》〉）］｝]*"
_PARAGRAPH_END = regex.compile(r"\n\s*\n|\n|[\u2028\u2029]")
_SENTENCE_END = regex.compile(rf"[.!?…。！？｡؟۔।॥።៕။։‽]+{_CLOSING}\s*$")
_CLAUSE_END = regex.compile(rf"[,;:，、；：،؛፣–—]{_CLOSING}\s*$|\s[-–—]\s+$")
_ABBREVIATION = regex.compile(
    r"(?:^|[\s(])(?:\p{L}|(?:\p{L}\.)+\p{L}|mr|mrs|ms|dr|prof|st|sr|jr|vs|etc|no|nr|art|bzw|ca|inkl|usw|ggf|evtl|"
    r"mme|mlle|sra|dott|sig|гг|стр|тыс|млн|approx|incl|dept|est|fig|inc|ltd|co)\.\s*$",
    regex.IGNORECASE,
)
# Small words that lean on the next one (articles, prepositions, particles) are short in most alphabets.
_LEANING = regex.compile(r"^\p{L}{1,3}\s+$")
# Scripts written without spaces between words, and the parser that knows their phrases.
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ー々〆〇]")
_MARK_INSIDE = regex.compile(rf"[。！？｡!?…、，；：]+{_CLOSING}")
_KANA = regex.compile(r"[\p{Hiragana}\p{Katakana}]")
_THAI = regex.compile(r"\p{Thai}")
_HAN = regex.compile(r"\p{Han}")
_NO_LINE_START = set("、。，．・：；？！ー）］｝〕〉》」』】’”…ーぁぃぅぇぉっゃゅょァィゥェォッャュョ々%％℃ๆฯ")
_NO_LINE_END = set("（［｛〔〈《「『【‘“$￥¥£€#")
_HYPHENATED = regex.compile(r"[\p{Latin}\p{Cyrillic}\p{Greek}\p{M}]{4,}")
_SYLLABLE = regex.compile(
    r"(?![aeiouyäöüàâéèêëîïôûùáíóúãõåæøœаеёиоуыэюяіїєαεηιουω\p{M}])\p{L}[aeiouyäöüáéíóúàèêаеёиоуыэюяіїєαεηιουω]",
    regex.I,
)
_ADDRESS = regex.compile(r"[/@_\\\d=]|\.\p{L}")
_ONE_SOUND = regex.compile(r"[cspt]h|ck|qu|ng", regex.IGNORECASE)
_CLUSTER = regex.compile(r"\X")
_TRAILING = regex.compile(r"[\p{P}\p{S}\p{M}\u200d\ufe0f\s]*")


def pieces(text: str, language: str | None) -> list[Piece]:
    """``text`` cut at every place where a line may end; the pieces join to the whole text."""
    found: list[Piece] = []
    for match in regex.finditer(r"\s*\S+\s*", text):
        for start, end in _inside(text, match.start(), match.end(), language):
            found.append(Piece(start, end, _quality(text, start, end)))
    return found


def _quality(text: str, start: int, end: int) -> Break:
    piece = text[start:end]
    if _PARAGRAPH_END.search(piece[len(piece.rstrip()) :]):
        return Break.PARAGRAPH
    if _SENTENCE_END.search(piece):
        before = text[max(0, start - 12) : end]
        following = text[end : end + 1]
        is_abbreviation = _ABBREVIATION.search(before) or (piece.rstrip().endswith(".") and following.islower())
        return Break.POOR if is_abbreviation else Break.SENTENCE
    if _CLAUSE_END.search(piece):
        return Break.CLAUSE
    if not piece[-1:].isspace():
        return Break.WORD if _UNSPACED.search(piece) else Break.POOR
    if _THAI.search(piece):  # Thai writes a space where others write a comma or a full stop
        return Break.CLAUSE
    return Break.POOR if _LEANING.match(piece.lstrip()) else Break.WORD


def _inside(text: str, start: int, end: int, language: str | None) -> Iterator[tuple[int, int]]:
    """The places to break inside a run without spaces."""
    run = text[start:end]
    if not _UNSPACED.search(run):
        yield from _after_dashes(text, start, end)
        return
    cuts = {0, len(run)}
    for stretch in regex.finditer(
        r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}ー々〆〇]+|\p{Thai}+|[\p{Lao}]+|[\p{Khmer}]+|[\p{Myanmar}]+", run
    ):
        cuts.update((stretch.start(), stretch.end()))
        position = stretch.start()
        for phrase in _phrases(stretch.group(), text, language):
            position += len(phrase)
            cuts.add(position)
    cuts.update(match.end() for match in _MARK_INSIDE.finditer(run))
    # A number stays with its counter: 24時間.
    cuts -= {cut for cut in cuts if 0 < cut < len(run) and run[cut - 1].isdigit()}
    ordered = [cut for cut in sorted(cuts) if may_break(run, cut)]
    for first, last in itertools.pairwise(ordered):
        yield start + first, start + last


def _after_dashes(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Words joined by long dashes or hyphens come apart after them; numbers and addresses do not."""
    position = start
    for match in regex.finditer(r"(?<=\p{L})(?:[—–]|-(?=\p{L}{3}))(?=\p{L})", text[start:end]):
        if start + match.end() - position >= 4:
            yield position, start + match.end()
            position = start + match.end()
    yield position, end


def _phrases(stretch: str, text: str, language: str | None) -> list[str]:
    if _THAI.match(stretch):
        return _parser("th").parse(stretch)
    base = (language or "").lower()
    if _HAN.search(stretch) or _KANA.search(stretch):
        if base.startswith("ja") or (not base.startswith(("zh", "cmn", "yue")) and _KANA.search(text)):
            return _parser("ja").parse(stretch)
        return _parser("zh-hant" if base in ("zh-tw", "zh-hk", "zh-hant", "yue") else "zh-hans").parse(stretch)
    # Lao, Khmer, Burmese: no dictionary here; between whole letters with their marks is at least never wrong to read.
    return clusters(stretch)


@cache
def _parser(name: str) -> budoux.Parser:
    match name:
        case "ja":
            return budoux.load_default_japanese_parser()
        case "zh-hans":
            return budoux.load_default_simplified_chinese_parser()
        case "zh-hant":
            return budoux.load_default_traditional_chinese_parser()
        case _:
            return budoux.load_default_thai_parser()


def may_break(run: str, cut: int) -> bool:
    """Whether a line may end before ``run[cut]``.

    The Japanese and Chinese rules for the ends of lines (JIS X 4051), and never inside a letter with its marks.
    """
    if cut in (0, len(run)):
        return True
    before, after = run[cut - 1], run[cut]
    if after in _NO_LINE_START or before in _NO_LINE_END:
        return False
    if unicodedata.combining(after) or after in "\u200d\ufe0f" or before == "\u200d":
        return False
    category = unicodedata.category(after)
    return not (category in ("Pe", "Pf", "Po", "Mn", "Mc") and after not in "¿¡") and not after.isspace()


def is_address(run: str) -> bool:
    """Whether ``run`` is a web or mail address, a file or a code: a hyphen would change it."""
    return _ADDRESS.search(run) is not None


def hyphenation_point(word: str, latest: int) -> int | None:
    """The last place up to ``latest`` where ``word`` may be parted with a hyphen; None where its script has none.

    Before a consonant that a vowel follows, which is where a syllable begins in most languages; else anywhere.
    """
    if not _HYPHENATED.fullmatch(word[max(0, latest - 3) : latest + 3]):
        return None
    for cut in range(min(latest, len(word) - 3), max(2, latest // 2), -1):
        if not _HYPHENATED.fullmatch(word[cut - 3 : cut + 3]):
            break
        if _SYLLABLE.match(word, cut) and not _ONE_SOUND.fullmatch(word[cut - 1 : cut + 1]):
            return cut
    return latest


def clusters(text: str) -> list[str]:
    """The characters as a reader sees them: a letter with its marks, a whole emoji."""
    return list(_CLUSTER.findall(text))


def width(text: str) -> float:
    """Room that ``text`` takes in a line, in Latin letters; a Chinese character or an emoji takes about two and a half.

    The ratio is that of the usual limits of subtitling, 42 Latin letters or 16 Chinese characters a line.
    """
    total = 0.0
    for cluster in clusters(text):
        first = cluster[0]
        if unicodedata.category(first) in ("Cf", "Cc", "Mn"):
            continue
        total += 42 / 16 if unicodedata.east_asian_width(first) in ("W", "F") else 1.0
    return total


def reading_length(text: str) -> int:
    """Characters that are read: letters with their marks, without white space."""
    return sum(1 for cluster in clusters(text) if not cluster.isspace())


def is_unspaced(text: str) -> bool:
    """Whether most of ``text`` is of a script without spaces, which is read at fewer characters a second."""
    letters = [c for c in clusters(text) if not c.isspace()]
    return bool(letters) and sum(1 for c in letters if _UNSPACED.match(c)) * 2 > len(letters)
