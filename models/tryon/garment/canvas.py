"""The picture while layers are laid on it, and where it has changed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from models.tryon.garment.warp import Box, Colours, Mask


class Canvas:
    """Float colours over the person's photo; knows which pixels anything was laid on.

    Args:
        picture_rgb: uint8 (h, w, 3); never written to.
    """

    def __init__(self, picture_rgb: NDArray[np.uint8]) -> None:
        self._picture = picture_rgb
        self.colours: Colours = picture_rgb.astype(np.float32)
        self.changed: Mask = np.zeros(picture_rgb.shape[:2], np.float32)

    @property
    def shape(self) -> tuple[int, int]:
        return self._picture.shape[0], self._picture.shape[1]

    @property
    def whole(self) -> Box:
        height, width = self.shape
        return Box(left=0, top=0, right=width, bottom=height)

    def lay(self, colours: Colours, alpha: Mask, box: Box | None = None) -> None:
        """``colours`` over what is there; both of the size of ``box``, the whole picture when None."""
        if box is not None and box.is_empty:
            return
        where = (box or self.whole).slices
        part = self.colours[where]
        part += alpha[..., None] * (colours - part)
        changed = self.changed[where]
        np.maximum(changed, alpha, out=changed)

    def shade(self, factor: Mask, box: Box | None = None) -> None:
        """Multiplies what is there; 1 leaves a pixel alone."""
        where = (box or self.whole).slices
        self.colours[where] *= factor[..., None]
        changed = self.changed[where]
        np.maximum(changed, (np.abs(factor - 1) > 1e-3).astype(np.float32), out=changed)

    def restore(self, alpha: Mask) -> None:
        """The photo's own pixels come to the front: what is wholly restored counts as unchanged."""
        rows, columns = np.nonzero(alpha > 0)
        share = alpha[rows, columns][:, None]
        self.colours[rows, columns] += share * (self._picture[rows, columns] - self.colours[rows, columns])
        self.changed[alpha >= 1] = 0

    def picture(self) -> NDArray[np.uint8]:
        """The result; pixels on which nothing was laid are the photo's, bit for bit."""
        rounded = np.clip(np.rint(self.colours), 0, 255).astype(np.uint8)
        return np.where(self.changed[..., None] > 0, rounded, self._picture)
