"""Fits soft masks to the picture's own edges: the colour guided filter (He, Sun and Tang 2013, section 3.4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeFit:
    """The mask as a local linear function of the picture's colours.

    Attributes:
        gain: float32 (h, w, 3).
        offset: float32 (h, w).
    """

    gain: Values
    offset: Values

    def at(self, picture_rgb: NDArray[np.uint8]) -> Values:
        """The mask for the picture in any size, float32 (height, width), not yet clipped to 0 and 1."""
        import cv2

        height, width = picture_rgb.shape[:2]
        gain, offset = self.gain, self.offset
        if offset.shape != (height, width):
            gain, offset = (np.asarray(cv2.resize(part, (width, height)), np.float32) for part in (gain, offset))
        return np.asarray(np.einsum("hwc,hwc->hw", gain, np.divide(picture_rgb, 255, dtype=np.float32)) + offset)


def fit(guide: Values, values: Values, *, radius: int, epsilon: float) -> EdgeFit:
    """The filter's coefficients.

    Args:
        guide: float32 (h, w, 3), RGB from 0 to 1.
        values: float32 (h, w), what shall follow the guide's edges.
        radius: Of the box in pixels.
        epsilon: Colour variance (of a range of 1) below which a box counts as flat.
    """
    import cv2

    def mean(part: NDArray[np.floating]) -> Values:
        return np.asarray(cv2.blur(part, (2 * radius + 1,) * 2), np.float32)

    guide_mean, values_mean = mean(guide), mean(values)
    covariance = mean(guide * values[..., None]) - guide_mean * values_mean[..., None]
    rr, rg, rb, gg, gb, bb = (
        mean(guide[..., i] * guide[..., j]) - guide_mean[..., i] * guide_mean[..., j] + (epsilon if i == j else 0.0)
        for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
    )
    # The inverse of a symmetric 3x3 matrix, written out: a fifth of the time of a general solver.
    a, b, c = gg * bb - gb * gb, gb * rb - rg * bb, rg * gb - gg * rb
    d, e, f = rr * bb - rb * rb, rg * rb - rr * gb, rr * gg - rg * rg
    red, green, blue = (covariance[..., i] for i in range(3))
    rows = (a * red + b * green + c * blue, b * red + d * green + e * blue, c * red + e * green + f * blue)
    gain = np.stack(rows, -1) / (rr * a + rg * b + rb * c)[..., None]
    offset = values_mean - np.einsum("hwc,hwc->hw", gain, guide_mean)
    return EdgeFit(gain=mean(gain), offset=mean(offset))
