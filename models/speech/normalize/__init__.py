"""Text as a person would read it aloud in its language, with the way back to the client's characters.

``speakable`` is the only entrance. Rules live by subject (``quantities``, ``calendar``, ``codes``), what languages
differ in lives in ``data/*.toml`` and CLDR, number words in ``numbers``. No sound and no engine here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from models.speech.normalize.scanner import Kind, Piece, pieces
from models.speech.sentence import Sentence, Token

__all__ = ["speakable"]

_STRENGTH = {",": 0, ":": 1, ";": 1, ".": 2, "!": 3, "?": 3}
_SHOUT = 4  # words in capitals that make a headline, not abbreviations
_LONGEST = 600  # characters; espeak-ng cuts longer ones anywhere


def speakable(text: str, *, language: str, pronunciations: Mapping[str, str]) -> tuple[Sentence, ...]:
    """The sentences of ``text`` as they are to be spoken; empty if there is nothing to say.

    Args:
        language: BCP 47 tag of the voice.
        pronunciations: Written form to spoken form, by whole words, before any other rule.
    """
    sentences: list[Sentence] = []
    words: list[Piece] = []
    marks: dict[int, str] = {}  # after how many words, which mark

    def close(*, paragraph: bool) -> None:
        if words:
            sentences.append(_sentence(words, marks, paragraph=paragraph))
        elif paragraph and sentences:
            sentences[-1] = _ending_paragraph(sentences[-1])
        words.clear()
        marks.clear()

    length = 0
    for piece in pieces(text, language=language, pronunciations=pronunciations):
        if piece.kind is Kind.WORD:
            words.append(piece)
            length += len(piece.spoken) + 1
        elif piece.kind is Kind.MARK:
            if words and _STRENGTH[piece.spoken] >= _STRENGTH.get(marks.get(len(words), ","), 0):
                marks[len(words)] = piece.spoken
            if piece.spoken in ".?!" or (length > _LONGEST and piece.spoken in ",;:"):
                close(paragraph=False)
                length = 0
        else:
            close(paragraph=piece.kind is Kind.PARAGRAPH)
            length = 0
    close(paragraph=False)
    return tuple(sentences)


def _sentence(words: Sequence[Piece], marks: Mapping[int, str], *, paragraph: bool) -> Sentence:
    spoken, tokens = "", []
    shouted = _shouted(words)
    for index, piece in enumerate(words):
        if spoken and not (piece.glued and index not in marks):
            spoken += " "
        start = len(spoken)
        spoken += piece.spoken.lower() if index in shouted else piece.spoken
        tokens.append(Token(spoken_start=start, spoken_end=len(spoken), char_start=piece.start, char_end=piece.end))
        mark = marks.get(index + 1, "")
        if index + 1 == len(words) and mark in ("", ",", ";", ":"):
            mark = "."
        spoken += "" if mark == "." and spoken.endswith(".") else mark
    return Sentence(spoken=spoken, tokens=tuple(tokens), ends_paragraph=paragraph)


def _shouted(words: Sequence[Piece]) -> set[int]:
    """Words of headlines in capitals, which voices would spell if they are short; abbreviations stand alone."""
    shouted: set[int] = set()
    run: list[int] = []
    for index, piece in enumerate([*words, None]):
        if piece is not None and piece.spoken.isupper():
            run.append(index)
            continue
        if len(run) >= _SHOUT:
            shouted |= set(run)
        run = []
    return shouted


def _ending_paragraph(sentence: Sentence) -> Sentence:
    return Sentence(spoken=sentence.spoken, tokens=sentence.tokens, foreign=sentence.foreign, ends_paragraph=True)
