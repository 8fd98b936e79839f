"""What is said when in a recording that a client uploaded."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from models.speech import sphinx
from models.speech.acoustics import Signal, resampled
from models.speech.arpabet import english_phones
from models.speech.pronunciation import PronouncedWord, pronounced
from models.speech.voice_activity import speech_spans
from services.domain.timeline import Phoneme, SpeechTimeline, TimelineSource, Word

Spans = list[tuple[float, float]]

_ENGLISH_ENOUGH: Final = -4.65  # of sphinx.familiarity, when nobody says which language it is
_SHORTEST_S: Final = 0.02
_EDGE_S: Final = 0.04  # soft consonants at the edges of speech that the level misses
# Words as far as spaces tell, single signs in scripts without spaces (kana, Chinese, Thai, Lao, Burmese, Khmer).
_UNSPACED: Final = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_PIECE: Final = re.compile(rf"[{_UNSPACED}][\u0300-\u036f]*|[^\s{_UNSPACED}]+")


def timeline_of_recording(
    samples: Signal,
    sample_rate_hz: int,
    *,
    language: str | None,
    transcript: str | None,
    on_progress: Callable[[float], None] = lambda fraction: None,
) -> SpeechTimeline:
    """Words and phonemes of a recording; ``source`` says how they were found.

    With a transcript: its words, aligned (any language that espeak-ng reads; English also without it). A transcript
    that is not what is said, or cannot be pronounced, serves subtitles only: its words are spread over the speech.
    Without: phones are recognised in English, or in speech of an unknown language that sounds enough like it. Else the
    timeline is an envelope, without phonemes. Where nobody speaks there are no phonemes in any mode.

    Args:
        samples: Mono, -1 to 1.
        language: BCP 47; None looks at the transcript, then at the sound.
        on_progress: Told the fraction done, now and then; what it raises ends the work.
    """
    duration_s = len(samples) / sample_rate_hz
    spans = speech_spans(samples, sample_rate_hz)
    if not spans:
        return SpeechTimeline(duration_s=duration_s, source=TimelineSource.ENVELOPE)
    text = (transcript or "").strip() and transcript
    if text and language is None:
        language = _language_of(text)
    sound = resampled(samples, sample_rate_hz, sphinx.RATE_HZ) if sphinx.is_installed() else None
    if text and language and sound is not None:
        words = pronounced(text, language)
        aligned = _aligned(sound, words, spans, duration_s, on_progress)
        if aligned is not None:
            return aligned
    words_as_guessed = _spread(text, spans) if text else ()
    if sound is not None and (language is None or _is_english(language)):
        phonemes = _recognised(sound, spans, duration_s, on_progress)
        if language is not None or sphinx.familiarity([p.symbol for p in phonemes]) >= _ENGLISH_ENOUGH:
            return SpeechTimeline(
                duration_s=duration_s,
                source=TimelineSource.PHONE_RECOGNITION,
                words=words_as_guessed,
                phonemes=tuple(phonemes),
            )
    return SpeechTimeline(duration_s=duration_s, source=TimelineSource.ENVELOPE, words=words_as_guessed)


def phonemes_heard(
    samples: Signal, sample_rate_hz: int, spans: Spans, on_progress: Callable[[float], None] = lambda fraction: None
) -> list[Phoneme]:
    """The nearest English phonemes of speech in any language, with pauses; empty without a recogniser.

    Not a transcription: it tells open from close and spread from round, as formants would, and better.
    """
    if not sphinx.is_installed() or not spans:
        return []
    sound = resampled(samples, sample_rate_hz, sphinx.RATE_HZ)
    return _recognised(sound, spans, len(samples) / sample_rate_hz, on_progress)


def _is_english(language: str) -> bool:
    return language.replace("_", "-").split("-")[0].lower() == "en"


def _language_of(text: str) -> str:
    import py3langid

    return str(py3langid.classify(text)[0])


def _pauses(spans: Spans, duration_s: float) -> Spans:
    edges = [0.0, *(edge for span in spans for edge in span), duration_s]
    return [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if b > a]


def _aligned(
    sound: Signal,
    words: list[PronouncedWord],
    spans: Spans,
    duration_s: float,
    on_progress: Callable[[float], None],
) -> SpeechTimeline | None:
    phones = [[english_phones(symbol) for symbol in word.phonemes] for word in words]
    said = [index for index, word in enumerate(phones) if any(word)]
    chains = [[phone for symbol in phones[index] for phone in symbol] for index in said]
    if not chains:
        return None
    times = sphinx.aligned(sound, chains, _pauses(spans, duration_s), on_progress)
    if times is None:
        return None
    timed: list[sphinx.Phone] = []
    spoken: list[Word] = []
    for index, word_times in zip(said, times, strict=True):
        at = 0
        for symbol, symbol_phones in zip(words[index].phonemes, phones[index], strict=True):
            if symbol_phones:
                first, last = word_times[at], word_times[at + len(symbol_phones) - 1]
                timed.append(sphinx.Phone(symbol, first[0], last[1]))
                at += len(symbol_phones)
        spoken.append(
            Word(
                text=words[index].text,
                start_s=word_times[0][0],
                end_s=min(word_times[-1][1], duration_s),
                char_start=words[index].char_start,
                char_end=words[index].char_end,
            )
        )
    return SpeechTimeline(
        duration_s=duration_s,
        source=TimelineSource.ALIGNMENT,
        words=tuple(spoken),
        phonemes=tuple(_while_spoken(timed, spans, duration_s)),
    )


def _recognised(sound: Signal, spans: Spans, duration_s: float, on_progress: Callable[[float], None]) -> list[Phoneme]:
    return _while_spoken(sphinx.recognised(sound, _pauses(spans, duration_s), on_progress), spans, duration_s)


def _while_spoken(phones: Iterable[sphinx.Phone], spans: Spans, duration_s: float) -> list[Phoneme]:
    """The phones as far as somebody speaks, with a pause wherever there is none.

    A decoder has to put its phones somewhere: breath, barks and music would otherwise move the mouth.
    """
    found: list[Phoneme] = []
    now = 0.0
    at = 0
    for phone in phones:
        while at < len(spans) and spans[at][1] + _EDGE_S <= phone.start_s:
            at += 1
        if at == len(spans):
            break
        start = max(phone.start_s, spans[at][0] - _EDGE_S, now)
        end = min(phone.end_s, spans[at][1] + _EDGE_S, duration_s)
        if not phone.symbol or end - start < _SHORTEST_S:
            continue
        if start - now >= _SHORTEST_S:
            found.append(Phoneme(symbol="", start_s=now, end_s=start))
        found.append(Phoneme(symbol=phone.symbol, start_s=start, end_s=end))
        now = end
    if duration_s - now >= _SHORTEST_S:
        found.append(Phoneme(symbol="", start_s=now, end_s=duration_s))
    return found


def _spread(text: str, spans: Spans) -> tuple[Word, ...]:
    """The words of a text over the speech, by their length: an estimate that subtitles can use."""
    pieces = [match.span() for match in _PIECE.finditer(text)]
    total = sum(b - a + 1 for a, b in pieces)
    spoken = sum(b - a for a, b in spans)
    words: list[Word] = []
    done = 0
    for first, last in pieces:
        start_s = _after_speech(done / total * spoken, spans)
        done += last - first + 1
        end_s = _after_speech(done / total * spoken, spans, at_end=True)
        words.append(Word(text=text[first:last], start_s=start_s, end_s=end_s, char_start=first, char_end=last))
    return tuple(words)


def _after_speech(spoken_s: float, spans: Spans, *, at_end: bool = False) -> float:
    """The time at which so much has been spoken."""
    for start, end in spans:
        length = end - start
        if spoken_s < length or (at_end and spoken_s <= length + 1e-9):
            return start + spoken_s
        spoken_s -= length
    return spans[-1][1]
