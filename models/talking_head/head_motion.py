"""Plans how the head moves while it speaks: slow sways, nods on stressed words, blinks."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.talking_head.tracks import Curve, HeadTrack
from services.domain.timeline import SpeechTimeline

_BLINK_SHAPE_S: Final = (0.0, 0.08, 0.14, 0.19, 0.24, 0.30, 0.36)
_BLINK_SHAPE: Final = (0.0, 0.85, 1.0, 1.0, 0.6, 0.22, 0.0)
_BLINK_EVERY_S: Final = (2.4, 5.0)
_SWAYS: Final = ((0.11, 0.19), (0.23, 0.37), (0.43, 0.61))  # frequency ranges in Hz, amplitudes fall as 1/n
_YAW, _PITCH, _ROLL, _SHIFT = 0.035, 0.018, 0.014, 0.006  # radians and face widths


def plan_head(timeline: SpeechTimeline | None, *, num_frames: int, fps: float, seed: int) -> HeadTrack:
    """Head motion for ``num_frames`` frames; the same seed gives the same motion.

    Args:
        timeline: Its longer words get small nods and brow lifts, and the end of speech a blink; None moves without.
    """
    generator = np.random.default_rng(seed)
    times = np.asarray((np.arange(num_frames) + 0.5) / fps, np.float64)
    yaw, pitch, roll, shift_x, shift_y = (_sway(times, generator) for _ in range(5))
    accents = _accents(timeline, generator)
    nod, brow = np.zeros(num_frames), np.zeros(num_frames)
    for at_s, strength in accents:
        nod += strength * np.exp(-(((times - at_s - 0.08) / 0.13) ** 2))
        nod -= 0.35 * strength * np.exp(-(((times - at_s - 0.38) / 0.18) ** 2))
        brow += max(strength - 0.45, 0) * np.exp(-(((times - at_s) / 0.22) ** 2))
    return HeadTrack(
        yaw=_curve(_YAW * yaw),
        pitch=_curve(_PITCH * pitch - 0.016 * nod),
        roll=_curve(_ROLL * (roll + 0.35 * yaw)),
        shift_x=_curve(_SHIFT * shift_x),
        shift_y=_curve(_SHIFT * shift_y + 0.004 * nod),
        blink=_curve(_blinks(times, generator, timeline)),
        brow=_curve(np.clip(brow, 0, 1)),
    )


def _curve(values: NDArray[np.float64]) -> Curve:
    return values.astype(np.float32)


def _sway(times: NDArray[np.float64], generator: np.random.Generator) -> NDArray[np.float64]:
    total = np.zeros_like(times)
    for number, (low, high) in enumerate(_SWAYS, 1):
        frequency, phase = generator.uniform(low, high), generator.uniform(0, 2 * np.pi)
        total += np.sin(2 * np.pi * frequency * times + phase) / number
    return total / sum(1 / number for number in range(1, len(_SWAYS) + 1))


def _accents(timeline: SpeechTimeline | None, generator: np.random.Generator) -> list[tuple[float, float]]:
    """Times and strengths (0 to 1) of nods: long words, at least .9 s apart."""
    if timeline is None:
        return []
    accents: list[tuple[float, float]] = []
    for word in timeline.words:
        length_s = word.end_s - word.start_s
        chance, strength = generator.uniform(), generator.uniform(0.4, 1.0)
        if length_s < 0.28 or chance > min(length_s / 0.6, 0.8):
            continue
        at_s = word.start_s + 0.35 * length_s
        if not accents or at_s - accents[-1][0] > 0.9:
            accents.append((at_s, strength))
    return accents


def _blinks(
    times: NDArray[np.float64], generator: np.random.Generator, timeline: SpeechTimeline | None
) -> NDArray[np.float64]:
    """Lid travel; a blink that falls within .6 s after a pause's start moves onto it, as people do."""
    closed = np.zeros_like(times)
    if not len(times):
        return closed
    pauses = [
        phoneme.start_s
        for phoneme in (timeline.phonemes if timeline else ())
        if not phoneme.symbol and phoneme.end_s - phoneme.start_s > 0.15
    ]
    start_s = float(generator.uniform(0.8, 2.4))
    while start_s < times[-1]:
        near = [pause for pause in pauses if -0.6 < pause - start_s < 0.6]
        at_s = near[0] if near else start_s
        closed = np.maximum(closed, np.interp(times - at_s, _BLINK_SHAPE_S, _BLINK_SHAPE, left=0, right=0))
        start_s = max(start_s, at_s) + float(generator.uniform(*_BLINK_EVERY_S))
    return closed
