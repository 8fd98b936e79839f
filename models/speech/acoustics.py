"""Measures of a sound on a fine time grid: what the mouth planner and the voice detector listen to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.signal import convolve

Signal = NDArray[np.float32]

DIGITAL_SILENCE_DB: Final = -75.0  # below the dither of a 12-bit recording: nobody hears or speaks this

_BLOCK_S: Final = 20  # sounds are measured in pieces of this length, so that memory stays flat
_CONTEXT_S: Final = 0.1


def levels_db(samples: Signal, sample_rate_hz: int, *, rate_hz: int = 200, smooth_s: float = 0.02) -> Signal:
    """Short-time level in dB below full scale at ``(index + .5) / rate_hz``, shape ``(ceil(duration * rate_hz),)``.

    The blocks are cut at exact times for any sample rate, so that long sounds do not drift.
    """
    parts = [
        _energies(samples[block], sample_rate_hz, rate_hz) for block in _blocks(len(samples), sample_rate_hz)
    ]  # fmt: skip
    return _decibels(np.concatenate(parts or [np.zeros(0)]), round(smooth_s * rate_hz))


def formant_levels_db(samples: Signal, sample_rate_hz: int, *, rate_hz: int = 200, smooth_s: float = 0.06) -> Signal:
    """As ``levels_db``, of the band between 2 and 4 kHz only.

    The lips' opening follows the energy of the second and third formants much better than the overall loudness
    (Grant and Seitz 2000, "The use of visible speech cues for improving auditory detection of spoken sentences").
    """
    context = int(_CONTEXT_S * sample_rate_hz)
    parts: list[NDArray[np.float64]] = []
    for block in _blocks(len(samples), sample_rate_hz):
        first = max(block.start - context, 0)
        piece = resampled(samples[first : block.stop + context], sample_rate_hz, 8000)
        high = convolve(piece, _high_pass(2000 / 8000), mode="same", method="direct")
        skip = round((block.start - first) / sample_rate_hz * 8000)
        length = round((block.stop - block.start) / sample_rate_hz * 8000)
        parts.append(_energies(high[skip : skip + length].astype(np.float32), 8000, rate_hz))
    return _decibels(np.concatenate(parts or [np.zeros(0)]), round(smooth_s * rate_hz))


def resampled(samples: Signal, sample_rate_hz: int, target_rate_hz: int) -> Signal:
    """The same sound at another rate, duration kept."""
    if sample_rate_hz == target_rate_hz:
        return np.asarray(samples, np.float32)
    import soxr

    result: Signal = np.asarray(soxr.resample(samples, sample_rate_hz, target_rate_hz, "MQ"), np.float32)
    return result


def on_grid(values: Signal, num_steps: int, fill: float) -> NDArray[np.float64]:
    """``values`` cut or filled up to ``num_steps``."""
    grid = np.full(num_steps, fill)
    grid[: min(len(values), num_steps)] = values[:num_steps]
    return grid


def _blocks(num_samples: int, sample_rate_hz: int) -> Iterator[slice]:
    step = _BLOCK_S * sample_rate_hz
    for first in range(0, num_samples, step):
        yield slice(first, min(first + step, num_samples))


def _energies(samples: Signal, sample_rate_hz: int, rate_hz: int) -> NDArray[np.float64]:
    num_steps = int(np.ceil(len(samples) * rate_hz / sample_rate_hz))
    if num_steps == 0:
        return np.zeros(0)
    edges = (np.arange(num_steps + 1) * sample_rate_hz) // rate_hz
    edges[-1] = len(samples)
    squares = np.square(samples, dtype=np.float64)
    return np.add.reduceat(squares, edges[:-1]) / np.maximum(np.diff(edges), 1)


def _decibels(energies: NDArray[np.float64], width: int) -> Signal:
    if width > 1 and len(energies):
        window = np.hanning(width + 2)[1:-1]
        energies = np.convolve(energies, window / window.sum())[(width - 1) // 2 :][: len(energies)]
    return np.asarray(10.0 * np.log10(np.maximum(energies, 1e-12)), np.float32)


def _high_pass(cutoff: float, num_taps: int = 31) -> NDArray[np.float32]:
    """Windowed-sinc filter; ``cutoff`` in cycles per sample."""
    n = np.arange(num_taps) - num_taps // 2
    taps = -2 * cutoff * np.sinc(2 * cutoff * n)
    taps[num_taps // 2] += 1
    return np.asarray(taps * np.hamming(num_taps), np.float32)
