"""PocketSphinx: which phone is spoken when, with the words known (alignment) or unknown (recognition).

The only module that touches pocketsphinx (BSD; it comes with the extra ``speech`` and carries an American English
model). Alignment serves every language that can be written in IPA: each phoneme is matched with the nearest English
one, which is enough to find its edges. Sounds of any length are taken in windows cut at pauses.
"""

from __future__ import annotations

import importlib.util
import math
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from models.speech.acoustics import Signal
from models.speech.arpabet import IPA_OF, PHONE_OF

RATE_HZ: Final = 16_000
_FRAMES_PER_S: Final = 100
_FRAME_CENTRE_S: Final = 0.01  # a frame is 25.6 ms long and says what is in its middle
_CONTEXT_S: Final = 0.3  # the recogniser settles on what comes before
_LONGEST_WINDOW_S: Final = 30.0
_WHOLE_S: Final = 40.0  # up to here one window takes all words
_RATE_RANGE: Final = (0.75, 1.3)  # a speaker's rate over one window, relative to the whole recording's
# How unlikely a path may be and still be followed. The narrow beam halves time and memory, but other languages than
# English often lose the chain's end with it: they are decoded again without any.
_BEAMS: Final = (1e-200, 0.0)
# Cost per frame of the transcript's phones over the best phones. Measured: right English 0.5 to 1.8, right in nine
# other languages 2.0 to 2.8, wrong transcripts 2.6 (a noisy recording of 1961) to 5.0.
_MISMATCH: Final = 3.0
_PAUSE_PROBABILITY: Final = 0.02
_UNSETTLED_S: Final = 5.0  # what a window says of its end is not trusted: it is aligned again in the next

_RAREST: Final = -9.0
_LOG_BASE: Final = 1e-4  # pocketsphinx counts logarithms to the base 1.0001

_PHONE_DECODER: Final = threading.Lock()  # one decoder serves all threads


@dataclass(frozen=True, slots=True)
class Phone:
    """A phone in IPA ("" for a pause or noise) and its time."""

    symbol: str
    start_s: float
    end_s: float


def is_installed() -> bool:
    return importlib.util.find_spec("pocketsphinx") is not None


def dictionary_phones(word: str) -> tuple[str, ...]:
    """An English word's phonemes in IPA by the CMU dictionary; empty for a word that it does not list."""
    phones = _word_decoder().lookup_word(word.lower())
    return tuple(IPA_OF[phone] for phone in phones.split()) if phones else ()


def recognised(
    samples: Signal, pauses: Sequence[tuple[float, float]], on_progress: Callable[[float], None]
) -> list[Phone]:
    """The phones heard in a sound at 16 kHz, of any length.

    Args:
        pauses: Where nobody speaks; long sounds are cut there.
    """
    phones: list[Phone] = []
    duration = len(samples) / RATE_HZ
    for start, end in _windows(duration, pauses):
        on_progress(start / duration)
        first = max(start - _CONTEXT_S, 0.0)
        with _PHONE_DECODER:
            decoder = _phone_decoder()
            _decode(decoder, samples[int(first * RATE_HZ) : int((end + _CONTEXT_S) * RATE_HZ)])
            segments = [(one.word, one.start_frame, one.end_frame + 1) for one in decoder.seg()]
        for name, begin, finish in segments:
            begin_s, end_s = (first + _seconds(frame) for frame in (begin, finish))
            if end_s > start and begin_s < end:
                phones.append(Phone(IPA_OF.get(name, ""), max(begin_s, start), min(end_s, end)))
    return phones


def familiarity(symbols: Sequence[str]) -> float:
    """How English a recognised sequence is: mean log probability of each phone after its neighbours, about -3.5 to -5.

    Measured: sixteen English readers and speakers -3.5 to -4.6, six of Mandarin -4.4 to -4.9, German -3.9, French -4.1,
    Russian -4.6: it tells far languages from English, not near ones.
    """
    model = _phone_model()
    names = [PHONE_OF.get(symbol, "SIL") for symbol in symbols]
    scores = [
        max(model.prob(names[at : at + 3][::-1]) * _LOG_BASE, _RAREST)
        for at in range(len(names) - 2)
        if names[at + 2] != "SIL"
    ]
    return float(np.mean(scores)) if scores else _RAREST


def aligned(
    samples: Signal,
    words: Sequence[Sequence[str]],
    pauses: Sequence[tuple[float, float]],
    on_progress: Callable[[float], None],
) -> list[list[tuple[float, float]]] | None:
    """Start and end of every phone of every word, in the same shape; None when the words do not fit the sound.

    Args:
        samples: At 16 kHz.
        words: ARPABET phones of each word, none empty.
        pauses: Where nobody speaks.
    """
    duration = len(samples) / RATE_HZ
    aligner = _Aligner(words)
    sizes = np.cumsum([0] + [len(word) for word in words])
    times: list[list[tuple[float, float]]] = []
    start = 0.0
    while len(times) < len(words):
        first = len(times)
        on_progress(start / duration)
        if duration - start <= _WHOLE_S:
            found = aligner.align(_cut(samples, start, duration), first, (len(words), len(words)))
            return None if found is None else times + _shifted(found, start)
        end = _window_end(start, duration, pauses)
        expected = (sizes[-1] - sizes[first]) * _spoken_s(start, end, pauses) / _spoken_s(start, duration, pauses)
        fewest, most = np.searchsorted(sizes, sizes[first] + expected * np.array(_RATE_RANGE))
        last = (max(int(fewest), first + 1), min(max(int(most) + 1, first + 2), len(words)))
        found = aligner.align(_cut(samples, start, end), first, last)
        if found is None:
            return None
        settled = [word for word in _shifted(found, start) if word[-1][1] < end - _UNSETTLED_S][: last[0] - first]
        if not settled:
            return None
        times += settled
        start = settled[-1][-1][1]
    return times


def _cut(samples: Signal, start: float, end: float) -> Signal:
    return samples[int(start * RATE_HZ) : int(end * RATE_HZ)]


def _shifted(words: list[list[tuple[float, float]]], by: float) -> list[list[tuple[float, float]]]:
    return [[(start + by, end + by) for start, end in word] for word in words]


def _spoken_s(start: float, end: float, pauses: Sequence[tuple[float, float]]) -> float:
    return end - start - sum(max(min(b, end) - max(a, start), 0.0) for a, b in pauses) + 1e-3


class _Aligner:
    """Finds a known sequence of phones.

    Every phone is a word of its own in the decoder's grammar, in a chain, with an optional pause between words. That
    gives phone times in a single pass; pocketsphinx's own second pass for phones fails on many utterances (its pull
    requests 468 and 500).
    """

    def __init__(self, words: Sequence[Sequence[str]]) -> None:
        import pocketsphinx

        self._words = words
        self._checked = False
        with tempfile.TemporaryDirectory() as folder:
            dictionary = Path(folder) / "phones.dict"
            dictionary.write_text("".join(f"{phone} {phone}\n" for phone in IPA_OF), "utf-8")
            settings = {"dict": str(dictionary), "wip": 1.0, "pip": 1.0, "bestpath": False, "fsgusefiller": False}
            self._decoders = [
                pocketsphinx.Decoder(_config(beam=beam, pbeam=beam, wbeam=beam, **settings)) for beam in _BEAMS
            ]

    def align(self, samples: Signal, first: int, last: tuple[int, int]) -> list[list[tuple[float, float]]] | None:
        """Phone times of the words from ``first`` up to whichever end within ``last`` fits the sound best."""
        decoder = self._through(samples, *self._chain(first, last))
        if decoder is None:
            return None
        if not self._checked:
            if _disfavour(decoder) - _disfavour_of_best(samples) > _MISMATCH:
                return None
            self._checked = True
        times = [
            (_seconds(segment.start_frame), _seconds(segment.end_frame + 1))
            for segment in decoder.seg()
            if segment.word in IPA_OF
        ]
        found: list[list[tuple[float, float]]] = []
        for word in self._words[first : last[1]]:
            if len(times) < len(word):
                break
            found.append(times[: len(word)])
            times = times[len(word) :]
        return found if found and not times else None

    def _chain(self, first: int, last: tuple[int, int]) -> tuple[list[tuple[Any, ...]], int]:
        """The grammar's transitions and its last state."""
        transitions: list[tuple[Any, ...]] = [(0, 0, _PAUSE_PROBABILITY, "<sil>")]
        state = 0
        ends: list[int] = []
        for word in self._words[first : last[1]]:
            for phone in word:
                transitions.append((state, state + 1, 1.0, phone))
                state += 1
            transitions.append((state, state, _PAUSE_PROBABILITY, "<sil>"))
            ends.append(state)
        transitions += [(end, state, 1.0) for end in ends[last[0] - first - 1 : -1]]
        return transitions, state

    def _through(self, samples: Signal, transitions: list[tuple[Any, ...]], final: int) -> Any:
        """A decoder that found a way from the grammar's first to its final state; None when there is none."""
        while True:
            decoder = self._decoders[0]
            decoder.add_fsg("words", decoder.create_fsg("words", 0, final, transitions))
            decoder.activate_search("words")
            _decode(decoder, samples)
            if decoder.hyp() is not None:
                return decoder
            if len(self._decoders) == 1:
                return None
            del self._decoders[0]  # this speech needs the wider beam


def _seconds(frame: int) -> float:
    return frame / _FRAMES_PER_S + _FRAME_CENTRE_S


def _disfavour(decoder: Any) -> float:
    """Acoustic cost per frame of the path that the decoder took; only differences mean something."""
    cost = -sum(math.log(max(segment.ascore, 1e-300)) for segment in decoder.seg())
    return 1000 * cost / float(decoder.n_frames())


def _disfavour_of_best(samples: Signal) -> float:
    with _PHONE_DECODER:
        decoder = _phone_decoder()
        _decode(decoder, samples)
        return _disfavour(decoder)


def _decode(decoder: Any, samples: Signal) -> None:
    pcm: NDArray[np.int16] = np.clip(samples * 32767, -32768, 32767).astype("<i2")
    decoder.start_utt()
    decoder.process_raw(pcm.tobytes(), full_utt=True)
    decoder.end_utt()


def _config(**settings: Any) -> Any:
    import pocketsphinx

    acoustic_model = pocketsphinx.get_model_path("en-us/en-us")
    return pocketsphinx.Config(hmm=acoustic_model, lm=None, samprate=RATE_HZ, loglevel="FATAL", **settings)


@cache
def _phone_decoder() -> Any:
    import pocketsphinx

    phones = pocketsphinx.get_model_path("en-us/en-us-phone.lm.bin")
    return pocketsphinx.Decoder(_config(allphone=phones, lw=1.0, pip=0.3, beam=1e-20, pbeam=1e-20))


@cache
def _phone_model() -> Any:
    import pocketsphinx

    path = pocketsphinx.get_model_path("en-us/en-us-phone.lm.bin")
    return pocketsphinx.NGramModel(_config(), pocketsphinx.LogMath(), path)


@cache
def _word_decoder() -> Any:
    import pocketsphinx

    return pocketsphinx.Decoder(_config(dict=pocketsphinx.get_model_path("en-us/cmudict-en-us.dict")))


def _windows(duration: float, pauses: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    windows: list[tuple[float, float]] = []
    start = 0.0
    while start < duration:
        end = duration if duration - start <= _LONGEST_WINDOW_S else _window_end(start, duration, pauses)
        windows.append((start, end))
        start = end
    return windows


def _window_end(start: float, duration: float, pauses: Sequence[tuple[float, float]]) -> float:
    """The middle of the longest pause in the second half of the window, else its end."""
    latest = min(start + _LONGEST_WINDOW_S, duration)
    inside = [(b - a, (a + b) / 2) for a, b in pauses if start + _LONGEST_WINDOW_S / 2 < (a + b) / 2 < latest]
    return max(inside)[1] if inside else latest
