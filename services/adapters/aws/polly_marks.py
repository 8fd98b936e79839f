"""Polly's speech marks as a timeline.

Visemes stand for the sounds that look alike in every language that Polly speaks ("Phoneme and viseme tables for
supported languages" in its developer guide); each becomes the IPA sign of a sound that looks so. A word's ``start`` and
``end`` are bytes of the text that was sent, tags included.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from typing import Any, Final

from services.adapters.aws.polly_text import Part
from services.domain.errors import Unavailable
from services.domain.timeline import Phoneme, Word

_IPA: Final = {
    "sil": "",
    "p": "p",  # b m p
    "t": "t",  # d n t, in older tables l
    "S": "ʃ",  # d͡ʒ ʃ t͡ʃ ʒ, ʂ
    "T": "θ",  # ð θ
    "f": "f",  # f v
    "k": "k",  # ɡ h k ŋ, ʁ x
    "i": "i",  # i ɪ j
    "r": "ɹ",
    "l": "l",
    "s": "s",  # s z, t͡s
    "u": "u",  # u ʊ w, y ɥ
    "@": "ə",
    "a": "a",  # æ a ɑ and the diphthongs that begin so
    "e": "e",
    "E": "ɛ",  # ɛ ɝ ʌ
    "o": "o",  # o, ø
    "O": "ɔ",  # ɔ, œ
    "J": "ɲ",  # ɲ ʎ ʝ, ɕ
    "B": "β",
}
_UNKNOWN: Final = "ə"  # a viseme of a later table: a mouth half open, neither round nor spread
_SHORTEST_S: Final = 0.001


def read_marks(data: bytes) -> list[dict[str, Any]]:
    """One mark a line of JSON, in order of time.

    Raises:
        Unavailable: ``speech_unavailable``: they cannot be read, or there are none.
    """
    try:
        marks = [json.loads(line) for line in data.decode("utf-8").splitlines() if line.strip()]
        marks = [mark for mark in marks if isinstance(mark["time"], int | float) and mark["type"]]
    except (ValueError, KeyError, TypeError) as error:
        raise Unavailable("Polly's speech marks cannot be read.", code="speech_unavailable") from error
    if not any(mark["type"] == "viseme" for mark in marks):
        raise Unavailable("Polly gave no visemes with its speech.", code="speech_unavailable")
    return sorted(marks, key=lambda mark: float(mark["time"]))


def phonemes_of(marks: Sequence[dict[str, Any]], *, duration_s: float, offset_s: float) -> list[Phoneme]:
    """Each viseme until the next one, the last until the sound's end."""
    visemes = [mark for mark in marks if mark["type"] == "viseme"]
    starts = [min(float(mark["time"]) / 1000, duration_s) for mark in visemes]
    ends = [*starts[1:], duration_s]
    return [
        Phoneme(symbol=_IPA.get(str(mark["value"]), _UNKNOWN), start_s=offset_s + start, end_s=offset_s + end)
        for mark, start, end in zip(visemes, starts, ends, strict=True)
        if end > start
    ]


def words_of(
    marks: Sequence[dict[str, Any]], part: Part, text: str, *, duration_s: float, offset_s: float
) -> list[Word]:
    """Each word as the viewer reads it, until the next word or the silence before that.

    Tags come as words, too, and are left out. What is spoken as several words and written as one is one word.
    """
    silences = [float(mark["time"]) / 1000 for mark in marks if mark["type"] == "viseme" and mark["value"] == "sil"]
    found: list[tuple[int, int, float]] = []
    for mark in marks:
        if mark["type"] != "word" or str(mark.get("value", "")).startswith("<"):
            continue
        start, end = _trimmed(text, *part.span(int(mark["start"]), int(mark["end"])))
        if end <= start or (found and start < found[-1][1]):
            continue
        found.append((start, end, min(float(mark["time"]) / 1000, duration_s)))
    words = []
    for index, (start, end, at) in enumerate(found):
        until = found[index + 1][2] if index + 1 < len(found) else duration_s
        until = min([until, *(silence for silence in silences if at < silence)])
        if until - at >= _SHORTEST_S:
            words.append(
                Word(
                    text=text[start:end],
                    start_s=offset_s + at,
                    end_s=offset_s + until,
                    char_start=start,
                    char_end=end,
                )
            )
    return words


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and _is_around_words(text[start]):
        start += 1
    while end > start and _is_around_words(text[end - 1]):
        end -= 1
    return start, end


def _is_around_words(character: str) -> bool:
    return character.isspace() or (unicodedata.category(character).startswith("P") and character not in "%&#@")
