"""How a transcript is pronounced: its words with their phonemes, as a voice would read them."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from services.domain.errors import ContentRejected, SpokesmodelError
from services.domain.timeline import SpeechTimeline
from services.domain.video import VoiceSettings
from services.ports.speech import SpeechSynthesizer

_PIECE: Final = 1200  # characters spoken at a time, so that memory stays flat
_BREAK: Final = re.compile(r"(?<=[.!?。！？।؟…\n])\s*")
# The recogniser's model is of American English.
_VOICE_NAMES: Final = {"en": "en-us", "zh": "cmn"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PronouncedWord:
    """One word of the transcript, ``transcript[char_start:char_end]``; ``phonemes`` in IPA, none empty."""

    text: str
    char_start: int
    char_end: int
    phonemes: tuple[str, ...]


def pronounced(transcript: str, language: str) -> list[PronouncedWord]:
    """The transcript's words as espeak-ng reads them, numbers and dates included; empty when it cannot.

    No voice for the language, or no espeak-ng: English words are looked up in the pronouncing dictionary instead.
    """
    voice = _voice_name(language)
    if voice is not None:
        from models.speech import synthesizer

        return _as_spoken(transcript, synthesizer(voice), VoiceSettings(voice_id=voice), language)
    return _as_listed(transcript) if language.split("-")[0].lower() == "en" else []


def _voice_name(language: str) -> str | None:
    from models.speech import espeak
    from models.speech.synthesis import offered

    if not espeak.is_installed():
        return None
    tag = language.lower().replace("_", "-")
    primary = tag.split("-")[0]
    candidates = (_VOICE_NAMES.get(tag, tag), _VOICE_NAMES.get(primary, primary), primary)
    return next((name for name in candidates if name in offered()), None)


def _as_spoken(
    transcript: str, voice: SpeechSynthesizer, settings: VoiceSettings, language: str
) -> list[PronouncedWord]:
    words: list[PronouncedWord] = []
    for offset, piece in _pieces(transcript):
        try:
            timeline = voice.synthesize(piece, settings, language=language).timeline
        except ContentRejected:  # this piece has nothing to say
            continue
        except SpokesmodelError:
            return []
        words += [
            PronouncedWord(
                text=word.text, char_start=word.char_start + offset, char_end=word.char_end + offset, phonemes=phonemes
            )
            for word, phonemes in zip(timeline.words, _phonemes_of_words(timeline), strict=True)
        ]
    return words


def _phonemes_of_words(timeline: SpeechTimeline) -> list[tuple[str, ...]]:
    """Phonemes by word: each belongs to the last word that has started by its middle."""
    found: list[list[str]] = [[] for _ in timeline.words]
    at = -1
    for phoneme in timeline.phonemes:
        middle = (phoneme.start_s + phoneme.end_s) / 2
        while at + 1 < len(found) and timeline.words[at + 1].start_s <= middle:
            at += 1
        if phoneme.symbol and found:
            found[max(at, 0)].append(phoneme.symbol)
    return [tuple(symbols) for symbols in found]


def _as_listed(transcript: str) -> list[PronouncedWord]:
    """English words by the CMU dictionary that pocketsphinx carries; unknown words are left out."""
    if importlib.util.find_spec("pocketsphinx") is None:
        return []
    from models.speech import sphinx

    words = [
        (match.group(), match.start(), match.end(), sphinx.dictionary_phones(match.group().replace("’", "'")))
        for match in re.finditer(r"[A-Za-z]+(?:['’][A-Za-z]+)?", transcript)
    ]
    return [
        PronouncedWord(text=text, char_start=start, char_end=end, phonemes=phones)
        for text, start, end, phones in words
        if phones
    ]


def _pieces(transcript: str) -> Iterator[tuple[int, str]]:
    """Whole sentences up to the piece length, with their offsets."""
    start = 0
    last_break = 0
    for match in _BREAK.finditer(transcript):
        if match.end() - start > _PIECE and last_break > start:
            yield start, transcript[start:last_break]
            start = last_break
        last_break = match.end()
    if last_break > start and len(transcript) - start > _PIECE:
        yield start, transcript[start:last_break]
        start = last_break
    if start < len(transcript):
        yield start, transcript[start:]
