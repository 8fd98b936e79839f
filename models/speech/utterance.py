"""Sentences as a voice spoke them, joined to one piece of sound with one timeline.

Engine-neutral: each engine delivers a ``Clip`` a sentence, in samples; here they are trimmed to their sound,
separated by exact digital silence, and their times are told in seconds and in offsets of the client's text.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.speech.phonemes import is_modifier, starts_with_closure
from models.speech.sentence import Sentence, Token
from services.domain.errors import ContentRejected
from services.domain.timeline import Phoneme, SpeechTimeline, TimelineSource, Word

LEAD_S: Final = 0.1  # silence before the first and after the last word: the mouth starts and ends closed
TAIL_S: Final = 0.3
SENTENCE_GAP_S: Final = 0.32  # at speed 1
PARAGRAPH_GAP_S: Final = 0.55

_BRIEF_PAUSE_S: Final = 0.03  # shorter ones belong to the phoneme before them
_SILENCE: Final = 1.5 / 32768
_AROUND_S: Final = 0.06
_FADE_S: Final = 0.004
_MAX_CLOSURE_S: Final = 0.08
_USUAL_CLOSURE_S: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Clip:
    """One spoken sentence.

    Attributes:
        samples: int16 or float32, mono.
        phonemes: (IPA, first sample), in order; "" is a pause.
        marks: (offset in the spoken text, first sample) of each word that the engine reported.
    """

    samples: NDArray[np.int16] | NDArray[np.float32]
    phonemes: Sequence[tuple[str, int]]
    marks: Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class _Span:
    symbol: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Part:
    """A trimmed clip: ``samples[first:last]`` and its spans and words, still in samples of the clip."""

    clip: Clip
    first: int
    last: int
    spans: list[_Span]
    words: list[tuple[Token, int, int]]
    gap_s: float


def nothing_to_say() -> ContentRejected:
    """The refusal of a text without a word that can be spoken."""
    return ContentRejected(
        "The text has no word that can be spoken: it is empty or has only punctuation, emoji or markup.",
        code="nothing_to_say",
        param="text",
    )


def join(
    text: str,
    spoken: Iterable[tuple[Sentence, Clip]],
    *,
    sample_rate_hz: int,
    speed: float,
    pause_s: float,
    gain: float,
    bursts: bool,
) -> tuple[NDArray[np.float32], SpeechTimeline]:
    """All sentences as one piece of sound, and its timeline.

    Args:
        text: As the client gave it; word offsets refer to it.
        spoken: Sentences with their sound; consumed one by one.
        gain: Factor on the samples; what would exceed full scale is limited softly.
        bursts: The engine reports p, t, k at their burst; their closure is looked up in the sound.

    Raises:
        ContentRejected: ``nothing_to_say``: the voice has no sound for any of it.
    """
    parts = []
    for sentence, clip in spoken:
        gap_s = (PARAGRAPH_GAP_S if sentence.ends_paragraph else SENTENCE_GAP_S) / speed + pause_s
        part = _part(sentence, clip, gap_s=gap_s, rate=sample_rate_hz, bursts=bursts)
        if part is not None:
            parts.append(part)
    if not parts:
        raise nothing_to_say()
    total = round(LEAD_S * sample_rate_hz)
    for index, part in enumerate(parts):
        gap_s = part.gap_s if index + 1 < len(parts) else TAIL_S + pause_s
        total += part.last - part.first + round(gap_s * sample_rate_hz)
    samples = np.zeros(total, np.float32)
    words: list[Word] = []
    spans: list[_Span] = []
    at = round(LEAD_S * sample_rate_hz)
    while parts:
        part = parts.pop(0)  # its samples are freed as soon as they are copied
        length = part.last - part.first
        samples[at : at + length] = _faded(part.clip.samples[part.first : part.last], gain, sample_rate_hz)
        shift = at - part.first
        spans += [_Span(span.symbol, span.start + shift, span.end + shift) for span in part.spans]
        words += [
            Word(
                text=text[token.char_start : token.char_end],
                start_s=(start + shift) / sample_rate_hz,
                end_s=(end + shift) / sample_rate_hz,
                char_start=token.char_start,
                char_end=token.char_end,
            )
            for token, start, end in part.words
        ]
        at += length + round(part.gap_s * sample_rate_hz)
    duration_s = total / sample_rate_hz
    return samples, SpeechTimeline(
        duration_s=duration_s,
        source=TimelineSource.SYNTHESIS,
        words=tuple(words),
        phonemes=tuple(_with_pauses(spans, total, sample_rate_hz)),
    )


def _with_pauses(spans: Sequence[_Span], total: int, rate: int) -> Iterable[Phoneme]:
    at = 0
    for span in spans:
        if span.start > at:
            yield Phoneme(symbol="", start_s=at / rate, end_s=span.start / rate)
        yield Phoneme(symbol=span.symbol, start_s=span.start / rate, end_s=span.end / rate)
        at = span.end
    if at < total:
        yield Phoneme(symbol="", start_s=at / rate, end_s=total / rate)


def _part(sentence: Sentence, clip: Clip, *, gap_s: float, rate: int, bursts: bool) -> _Part | None:
    spans = _spans(clip, rate, bursts=bursts)
    if not spans:
        return None
    # What sounds just outside the phonemes (breath, decay) stays; a network's faint noise beyond does not.
    around = round(_AROUND_S * rate)
    begin, end = max(spans[0].start - around, 0), min(spans[-1].end + around, len(clip.samples))
    loud = begin + np.flatnonzero(np.abs(_as_float(clip.samples[begin:end])) > _SILENCE)
    first = min(spans[0].start, int(loud[0])) if loud.size else spans[0].start
    last = max(spans[-1].end, int(loud[-1]) + 1) if loud.size else spans[-1].end
    return _Part(clip, max(first, 0), min(last, len(clip.samples)), spans, _words(sentence, clip, spans), gap_s)


def _spans(clip: Clip, rate: int, *, bursts: bool) -> list[_Span]:
    """The sounding phonemes; gaps between them are pauses."""
    marked = [(symbol, min(max(at, 0), len(clip.samples))) for symbol, at in clip.phonemes]
    edges = [*marked, ("", len(clip.samples))]
    spans: list[_Span] = []
    for (symbol, start), (_, end) in pairwise(edges):
        if end <= start:
            continue
        if symbol == "" or is_modifier(symbol):
            joins = spans and spans[-1].end == start
            if joins and (symbol or end - start < _BRIEF_PAUSE_S * rate):
                spans[-1] = _Span(spans[-1].symbol + symbol, spans[-1].start, end)
            continue
        spans.append(_Span(symbol, start, end))
    return _with_closures(spans, clip.samples, rate) if bursts else spans


def _with_closures(spans: list[_Span], samples: NDArray[np.int16] | NDArray[np.float32], rate: int) -> list[_Span]:
    """p, t, k start where the sound before their burst falls silent, not at the burst.

    Where no silence is found, they start 50 ms earlier; never more than half of the phoneme before is taken.
    """
    moved = list(spans)
    for index, span in enumerate(spans):
        if not starts_with_closure(span.symbol):
            continue
        before = moved[index - 1] if index else _Span("", 0, 0)
        follows = index > 0 and before.end == span.start
        room = (before.end - before.start) // 2 if follows else span.start - before.end
        room = min(room, round(_MAX_CLOSURE_S * rate))
        silent = _silent_before(samples, span.start, room)
        if silent < round(0.005 * rate):
            silent = min(room, round(_USUAL_CLOSURE_S * rate))
        if follows:
            moved[index - 1] = _Span(before.symbol, before.start, span.start - silent)
        moved[index] = _Span(span.symbol, span.start - silent, span.end)
    return moved


def _silent_before(samples: NDArray[np.int16] | NDArray[np.float32], at: int, room: int) -> int:
    window = np.flatnonzero(np.abs(_as_float(samples[at - room : at])) > _SILENCE)
    return room - 1 - int(window[-1]) if window.size else room


def _words(sentence: Sentence, clip: Clip, spans: Sequence[_Span]) -> list[tuple[Token, int, int]]:
    """Each token with its first and last sample.

    Engines merge short words ("of the") and split long ones; tokens that got no mark of their own share the
    phonemes of the one before, in proportion to their letters.
    """
    starts = [token.spoken_start for token in sentence.tokens]
    groups: list[tuple[int, int]] = []  # (first token, first span)
    span_starts = [span.start for span in spans]
    for offset, at in sorted(clip.marks, key=lambda mark: mark[1]):
        token = max(bisect_right(starts, offset) - 1, 0)
        span = min(max(bisect_right(span_starts, at) - 1, 0), len(spans) - 1)
        if spans[span].end <= at or (span + 1 < len(spans) and at - spans[span].start > spans[span + 1].start - at):
            span = min(span + 1, len(spans) - 1)
        if not groups:
            groups.append((0, 0))
        elif token > groups[-1][0] and span > groups[-1][1]:
            groups.append((token, span))
    if not groups and sentence.tokens:
        groups.append((0, 0))
    words = []
    for (token, span), (next_token, next_span) in pairwise([*groups, (len(starts), len(spans))]):
        words += _shared(sentence.tokens[token:next_token], spans[span:next_span])
    return words


def _shared(tokens: Sequence[Token], spans: Sequence[_Span]) -> list[tuple[Token, int, int]]:
    if len(tokens) == 1:
        return [(tokens[0], spans[0].start, spans[-1].end)]
    weights = np.array([max(token.spoken_end - token.spoken_start, 1) for token in tokens], np.float64)
    edges = np.concatenate([[0.0], np.cumsum(weights)]) / weights.sum()
    if len(spans) >= len(tokens):
        cuts = np.rint(edges * len(spans)).astype(int)
        for index in range(1, len(cuts)):  # at least one phoneme each
            cuts[index] = min(max(cuts[index], cuts[index - 1] + 1), len(spans) - (len(tokens) - index))
        return [
            (token, spans[first].start, spans[last - 1].end)
            for token, (first, last) in zip(tokens, pairwise(cuts.tolist()), strict=True)
        ]
    begin, length = spans[0].start, spans[-1].end - spans[0].start
    times = [begin + round(length * edge) for edge in edges.tolist()]
    return [(token, start, end) for token, (start, end) in zip(tokens, pairwise(times), strict=True)]


def _as_float(samples: NDArray[np.int16] | NDArray[np.float32]) -> NDArray[np.float32]:
    if samples.dtype == np.int16:
        return samples.astype(np.float32) / np.float32(32768)
    return np.asarray(samples, np.float32)


def _faded(samples: NDArray[np.int16] | NDArray[np.float32], gain: float, rate: int) -> NDArray[np.float32]:
    sound = _as_float(samples) * np.float32(gain)
    fade = min(round(_FADE_S * rate), len(sound) // 2)
    ramp = np.linspace(0, 1, fade, endpoint=False, dtype=np.float32)
    sound[:fade] *= ramp
    sound[len(sound) - fade :] *= ramp[::-1]
    return _limited(sound)


def _limited(sound: NDArray[np.float32]) -> NDArray[np.float32]:
    """Untouched below 0.8 of full scale, bent smoothly towards 1 above."""
    knee = np.float32(0.8)
    over = np.abs(sound) > knee
    if over.any():
        excess = (np.abs(sound[over]) - knee) / (1 - knee)
        sound[over] = np.sign(sound[over]) * (knee + (1 - knee) * np.tanh(excess))
    return sound
