"""The generative pass over a finished preview, as the preview's makers see it; ``models.diffusion`` has one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.uint8]
Matte = NDArray[np.float32]


class Refiner(Protocol):
    """Repaints what a preview had to invent."""

    def __call__(
        self,
        picture_rgb: Picture,
        *,
        seams: Matte,
        protected: NDArray[np.bool_],
        product_rgb: Picture | None,
        seed: int,
        check_canceled: Callable[[], None],
    ) -> tuple[Picture, Mapping[str, Any]]:
        """The picture after the pass, and facts for the client.

        Args:
            picture_rgb: The preview before any label, uint8 (height, width, 3).
            seams: float32 (height, width), 0 to 1: edges of the product, new skin, what came to light behind.
            protected: Pixels of the product and the face; they come back bit-identical.
            product_rgb: The product alone on white.
        """
        ...


def seams_of(product_alpha: Matte, invented: Matte, *, width_px: float) -> tuple[Matte, NDArray[np.bool_]]:
    """Where a preview may be repainted, and the product's pixels that may not.

    Args:
        product_alpha: How much of each pixel is product, float32 (height, width).
        invented: How much of each pixel no photo showed: filled skin, restored background.
        width_px: Half the width of a seam: how far it reaches from the product's edge to either side.
    """
    import cv2

    inside = (product_alpha > 0.97).astype(np.uint8)
    # Where two of its layers meet the product may be a little thin; that is no edge.
    side = 2 * max(1, round(width_px / 2)) + 1
    whole = cv2.morphologyEx(inside, cv2.MORPH_CLOSE, cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (side, side)))
    inside = np.maximum(inside, whole * (product_alpha > 0.5)).astype(np.uint8)
    outside = (product_alpha < 0.03).astype(np.uint8)
    deep = cv2.distanceTransform(inside, cv2.DIST_L2, cv2.DIST_MASK_5) > width_px
    far = cv2.distanceTransform(outside, cv2.DIST_L2, cv2.DIST_MASK_5) > width_px
    band = (~deep & ~far).astype(np.float32)
    softened = cv2.GaussianBlur(band, (0, 0), max(0.5, width_px / 3))
    seams = np.clip(np.maximum(softened * ~deep, invented), 0, 1)
    return np.asarray(seams, np.float32), np.asarray(deep)
