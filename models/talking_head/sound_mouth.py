"""The mouth of speech of which only energy and formants are known: no recogniser, any language."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.signal import convolve

Curve = NDArray[np.float64]

_WIDEST: Final = 0.36
_DECADE_DB: Final = 45.0  # compression: 45 dB less opens a tenth as wide


def mouth_of_sound(levels: Curve, formants: Curve, spoken: Sequence[tuple[float, float]], *, rate_hz: int) -> Curve:
    """Aperture, width, pucker, teeth and tongue on the grid of the levels, shape ``(5, num_steps)``.

    The lips open with the energy, and most with that of the second and third formants; a sound that is dark for its
    energy (o, u) draws them together.

    Args:
        levels, formants: Overall level and level of the 2 to 4 kHz band, dB.
        spoken: Where somebody speaks, seconds.
    """
    curves = np.zeros((5, len(levels)))
    curves[1] = 1.0
    inside = np.zeros(len(levels), bool)
    for start, end in spoken:
        inside[int(start * rate_hz) : int(end * rate_hz) + 1] = True
    if not inside.any():
        return curves
    strength = 0.5 * (levels - np.percentile(levels[inside], 95)) + 0.5 * (
        formants - np.percentile(formants[inside], 95)
    )  # fmt: skip
    curves[0] = _WIDEST * 10 ** (np.clip(strength, -60, 3) / _DECADE_DB)
    brightness = formants - levels
    brightness = np.clip(brightness - np.median(brightness[inside]), -15, 15)
    smooth = np.hanning(round(0.12 * rate_hz) + 2)
    brightness = convolve(brightness, smooth / smooth.sum(), mode="same", method="direct")
    curves[1] = 1.0 + np.where(brightness > 0, 0.007, 0.016) * brightness
    curves[2] = np.clip(-0.05 * brightness, 0, 0.7)
    return curves
