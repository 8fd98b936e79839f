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
        planes: Four of float32 (h, w): the gain of red, of green and of blue (0 to 1), and the offset.
    """

    planes: tuple[Values, ...]

    def at(self, picture_rgb: NDArray[np.uint8]) -> Values:
        """The mask for the picture in any size, float32 (height, width), not yet clipped to 0 and 1."""
        import cv2

        height, width = picture_rgb.shape[:2]
        red, green, blue, offset = (
            plane if plane.shape == (height, width) else np.asarray(cv2.resize(plane, (width, height)), np.float32)
            for plane in self.planes
        )
        mask = offset.copy()
        for channel, gain in enumerate((red, green, blue)):
            mask += gain * np.multiply(picture_rgb[..., channel], 1 / 255, dtype=np.float32)
        return mask


class EdgeGuide:
    """A picture whose edges masks are fitted to: what all fits share is computed once.

    Args:
        guide: float32 (h, w, 3), RGB from 0 to 1.
        radius: Of the box in pixels.
        epsilon: Colour variance (of a range of 1) below which a box counts as flat.
    """

    def __init__(self, guide: Values, *, radius: int, epsilon: float) -> None:
        self._box = (2 * radius + 1,) * 2
        # One plane for each channel: numpy is slow on interleaved ones.
        self._planes = [np.ascontiguousarray(guide[..., channel]) for channel in range(3)]
        self._means = [self._smoothed(plane) for plane in self._planes]
        rr, rg, rb, gg, gb, bb = (
            self._smoothed(self._planes[i] * self._planes[j])
            - self._means[i] * self._means[j]
            + np.float32(epsilon if i == j else 0.0)
            for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
        )
        # The inverse of a symmetric 3x3 matrix, written out: a fifth of the time of a general solver.
        a, b, c = gg * bb - gb * gb, gb * rb - rg * bb, rg * gb - gg * rb
        d, e, f = rr * bb - rb * rb, rg * rb - rr * gb, rr * gg - rg * rg
        scale = 1 / (rr * a + rg * b + rb * c)
        self._inverse = tuple(part * scale for part in (a, b, c, d, e, f))

    def fit(self, values: Values) -> EdgeFit:
        """The filter's coefficients for ``values``, float32 (h, w)."""
        mean = self._smoothed(values)
        red, green, blue = (
            self._smoothed(plane * values) - own * mean for plane, own in zip(self._planes, self._means, strict=True)
        )
        a, b, c, d, e, f = self._inverse
        gains = (a * red + b * green + c * blue, b * red + d * green + e * blue, c * red + e * green + f * blue)
        offset = mean
        for gain, own in zip(gains, self._means, strict=True):
            offset = np.asarray(offset - gain * own, np.float32)
        return EdgeFit(planes=tuple(self._smoothed(part) for part in (*gains, offset)))

    def _smoothed(self, part: NDArray[np.floating]) -> Values:
        import cv2

        return np.asarray(cv2.blur(part, self._box), np.float32)


def fit(guide: Values, values: Values, *, radius: int, epsilon: float) -> EdgeFit:
    """``EdgeGuide.fit`` for a single mask."""
    return EdgeGuide(guide, radius=radius, epsilon=epsilon).fit(values)
