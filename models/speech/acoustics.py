"""Measures of a sound on a fine time grid: what the mouth planner and the voice detector listen to."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

Signal = NDArray[np.float32]

DIGITAL_SILENCE_DB: Final = -75.0  # below the dither of a 12-bit recording: nobody hears or speaks this


def levels_db(samples: Signal, sample_rate_hz: int, *, rate_hz: int = 200, smooth_s: float = 0.02) -> Signal:
    """Short-time level in dB below full scale at ``(index + .5) / rate_hz``, shape ``(ceil(duration * rate_hz),)``.

    The blocks are cut at exact times for any sample rate, so that long sounds do not drift.
    """
    num_blocks = int(np.ceil(len(samples) * rate_hz / sample_rate_hz))
    if num_blocks == 0:
        return np.zeros(0, np.float32)
    edges = (np.arange(num_blocks + 1) * sample_rate_hz) // rate_hz
    edges[-1] = len(samples)
    energies = np.empty(num_blocks)
    for first in range(0, num_blocks, 20_000):  # squares of 100 s at a time, so that memory stays flat
        last = min(first + 20_000, num_blocks)
        part = samples[edges[first] : edges[last]].astype(np.float64)
        starts = np.minimum(edges[first:last] - edges[first], max(len(part) - 1, 0))
        lengths = np.maximum(np.diff(edges[first : last + 1]), 1)
        energies[first:last] = np.add.reduceat(part * part, starts) / lengths
    width = max(round(smooth_s * rate_hz), 1)
    if width > 1:
        window = np.hanning(width + 2)[1:-1]
        energies = np.convolve(energies, window / window.sum(), mode="full")[(width - 1) // 2 :][:num_blocks]
    return (10.0 * np.log10(np.maximum(energies, 1e-12))).astype(np.float32)


def resampled(samples: Signal, sample_rate_hz: int, target_rate_hz: int) -> Signal:
    """The same sound at another rate, duration kept."""
    if sample_rate_hz == target_rate_hz:
        return np.asarray(samples, np.float32)
    import soxr

    result: Signal = np.asarray(soxr.resample(samples, sample_rate_hz, target_rate_hz), np.float32)
    return result
