"""Lays something new over a picture so that every pixel beside it stays exactly as it was."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.uint8]
Matte = NDArray[np.float32]

_STEP = np.float32(1 / 512)
"""Less than half of this changes no pixel of 8 bits, so it is no change at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlay:
    """Any stack of layers, flattened: ``picture * (1 - alpha) + premultiplied`` is the picture under them.

    Layers are put in from the lowest to the topmost with ``over``; shadows are black layers.

    Attributes:
        premultiplied: float32 (h, w, 3), sRGB 0 to 255 times its own alpha.
        alpha: float32 (h, w), 0 where nothing lies over the picture.
    """

    premultiplied: Matte
    alpha: Matte

    @classmethod
    def nothing(cls, height: int, width: int) -> Overlay:
        return cls(premultiplied=np.zeros((height, width, 3), np.float32), alpha=np.zeros((height, width), np.float32))

    def over(self, rgb: NDArray[np.floating] | Picture, alpha: Matte) -> Overlay:
        """The same with one more layer on top; ``rgb`` is straight colour, one for all or (h, w, 3)."""
        rest = 1 - alpha
        return Overlay(
            premultiplied=self.premultiplied * rest[..., None] + np.asarray(rgb, np.float32) * alpha[..., None],
            alpha=1 - (1 - self.alpha) * rest,
        )

    def resized(self, width: int, height: int) -> Overlay:
        """The overlay for a picture of another size."""
        import cv2

        if self.alpha.shape == (height, width):
            return self
        method = cv2.INTER_AREA if width < self.alpha.shape[1] else cv2.INTER_CUBIC
        size = (width, height)
        alpha = np.clip(cv2.resize(self.alpha, size, interpolation=method), 0, 1)
        # Cubic weights ring: where the small overlay has nothing, the large one has nothing.
        touched = cv2.resize((self.alpha > _STEP / 2).astype(np.float32), size, interpolation=cv2.INTER_LINEAR) > 0
        premultiplied = np.clip(cv2.resize(self.premultiplied, size, interpolation=method), 0, 255)
        return Overlay(
            premultiplied=np.asarray(
                np.minimum(premultiplied, 255 * alpha[..., None]) * touched[..., None], np.float32
            ),
            alpha=np.asarray(alpha * touched, np.float32),
        )

    def changed(self) -> NDArray[np.bool_]:
        """Where the picture under the overlay may differ from the picture itself."""
        return np.asarray(self.alpha > _STEP / 2)


def composite(picture_rgb: Picture, overlay: Overlay, *, left: int = 0, top: int = 0) -> Picture:
    """The picture under the overlay; pixels that are not ``overlay.changed()`` are bit-identical.

    Args:
        left, top: Where in the picture the overlay begins; it must lie inside.
    """
    result = picture_rgb.copy()
    height, width = overlay.alpha.shape
    part = result[top : top + height, left : left + width]
    changed = overlay.changed()
    under = part[changed].astype(np.float32)
    mixed = under * (1 - overlay.alpha[changed, None]) + overlay.premultiplied[changed]
    part[changed] = np.clip(np.rint(mixed), 0, 255).astype(np.uint8)
    return result
