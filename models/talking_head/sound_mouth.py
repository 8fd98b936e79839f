"""The mouth of speech that is only heard: no phonemes, any language."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from models.speech.acoustics import Signal, levels_db

Curve = NDArray[np.float64]


def mouth_of_sound(samples: Signal, sample_rate_hz: int, *, rate_hz: int, num_steps: int) -> tuple[Curve, Curve]:
    """Curves of aperture, width, pucker, teeth and tongue, shape ``(5, num_steps)``, and speech activity 0 to 1."""
    levels = np.full(num_steps, -120.0)
    measured = levels_db(samples, sample_rate_hz, rate_hz=rate_hz, smooth_s=0.06)
    levels[: len(measured)] = measured
    loud = float(np.percentile(levels, 95))
    curves = np.zeros((5, num_steps))
    curves[1] = 1.0
    activity = np.zeros(num_steps)
    if loud < -60:
        return curves, activity
    relative = np.clip((levels - (loud - 30)) / 30, 0, 1)
    curves[0] = 0.32 * relative**1.5
    activity[relative > 0] = 1.0
    return curves, activity
