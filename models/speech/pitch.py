"""Pitch: measuring it, and shifting it by resampling."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Samples = NDArray[np.int16] | NDArray[np.float32]


def factor_of(semitones: float) -> float:
    """Factor on the fundamental frequency."""
    return float(2 ** (semitones / 12))


def median_f0_hz(samples: Samples, sample_rate_hz: int) -> float | None:
    """Median fundamental of the voiced parts, by autocorrelation; None if nothing is voiced."""
    sound = np.asarray(samples, np.float64)
    size, step = round(0.06 * sample_rate_hz), round(0.015 * sample_rate_hz)
    low, high = sample_rate_hz // 600, sample_rate_hz // 40
    floor = 0.1 * float(np.sqrt(np.mean(sound**2))) if len(sound) else 0.0
    heights = []
    for at in range(0, len(sound) - size, step):
        frame = sound[at : at + size] - np.mean(sound[at : at + size])
        if float(np.std(frame)) <= floor:
            continue
        spectrum = np.fft.rfft(frame, 2 * size)
        likeness = np.fft.irfft(np.abs(spectrum) ** 2)[:size] / (1 - np.arange(size) / size)
        likeness /= likeness[0]
        lag = low + int(np.argmax(likeness[low:high]))
        if likeness[lag] > 0.6:
            # the shortest lag that is nearly as good: the longest is an octave too low
            peaks = [one for one in range(low, lag) if likeness[one] > 0.93 * likeness[lag]]
            if peaks:
                lag = peaks[0] + int(np.argmax(likeness[peaks[0] : peaks[0] + max(peaks[0] // 4, 2)]))
            heights.append(sample_rate_hz / lag)
    return float(np.median(heights)) if heights else None


def shifted(samples: Samples, factor: float) -> NDArray[np.float32]:
    """Faster and higher by ``factor``: ``len(samples) / factor`` samples at the same rate."""
    import soxr

    scale = np.float32(32768 if samples.dtype == np.int16 else 1)
    sound = np.asarray(samples, np.float32) / scale
    return np.asarray(soxr.resample(sound, 1000 * factor, 1000.0, quality="HQ"), np.float32)
