"""What is said when: words and phonemes on the time axis of a piece of speech."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class TimelineSource(StrEnum):
    """Where a timeline's times come from; told in every job's result."""

    SYNTHESIS = "synthesis"  # the voice itself reported them
    ALIGNMENT = "alignment"  # a known transcript aligned to a recording
    PHONE_RECOGNITION = "phone_recognition"  # phones recognised in a recording, no transcript
    ENVELOPE = "envelope"  # no phonemes: the mouth follows energy and formants


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """One word as the viewer reads it, ``text[char_start:char_end]`` of the script as given."""

    text: str
    start_s: float
    end_s: float
    char_start: int
    char_end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Phoneme:
    """One phoneme in IPA without stress marks; a pause is ``symbol=""``."""

    symbol: str
    start_s: float
    end_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeechTimeline:
    """Words and phonemes in order, without overlap, inside ``[0, duration_s]``.

    ``phonemes`` is empty when ``source`` is ``envelope``.
    """

    duration_s: float
    source: TimelineSource
    words: tuple[Word, ...] = ()
    phonemes: tuple[Phoneme, ...] = ()
