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
        where = _used(alpha, 0.0)
        if where is None:
            return
        outer = (box or self.whole).slices
        part, shown = self.colours[outer][where], alpha[where]
        part += shown[..., None] * (colours[where] - part)
        changed = self.changed[outer][where]
        np.maximum(changed, shown, out=changed)

    def shade(self, factor: Mask, box: Box | None = None) -> None:
        """Multiplies what is there; 1 leaves a pixel alone."""
        where = _used(np.abs(factor - 1), 1e-3)
        if where is None:
            return
        outer = (box or self.whole).slices
        shown = np.where(np.abs(factor[where] - 1) > 1e-3, factor[where], 1)
        part = self.colours[outer][where]
        part *= shown[..., None]
        changed = self.changed[outer][where]
        np.maximum(changed, (shown != 1).astype(np.float32), out=changed)

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


def _used(values: Mask, above: float) -> tuple[slice, slice] | None:
    """The smallest box that holds all values above a bound; None when there are none."""
    over = values > above
    rows, columns = np.flatnonzero(over.any(1)), np.flatnonzero(over.any(0))
    if not len(rows):
        return None
    return slice(int(rows[0]), int(rows[-1]) + 1), slice(int(columns[0]), int(columns[-1]) + 1)
