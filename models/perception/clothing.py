"""What a person wears, and where."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class ClothingMask:
    """Masks are float32 (height, width) of the picture, 0 to 1.

    Attributes:
        mask: All clothes, shoes left out.
        upper: Shirt, jacket, or the bodice of a dress, with sleeves.
        lower: Trousers, skirt, or the skirt of a dress; empty when the picture ends above it.
        shoes: Whatever covers the feet.
        sleeves: The part of ``upper`` on the arms.
        in_front: Forearms and hands, bare or in sleeves, that lie over the torso or the hips.
        is_one_piece: Whether upper and lower part are one cloth: a dress, an overall, a coat.
        waist_y: Mean height of the border between ``upper`` and ``lower`` in pixels, None without ``lower``.
        confidence: 0 to 1.
    """

    mask: NDArray[np.float32]
    upper: NDArray[np.float32]
    lower: NDArray[np.float32]
    shoes: NDArray[np.float32]
    sleeves: NDArray[np.float32]
    in_front: NDArray[np.float32]
    is_one_piece: bool
    waist_y: float | None
    confidence: float


def no_clothing(nothing: NDArray[np.float32]) -> ClothingMask:
    """The mask of a person of whom it cannot be told; ``nothing`` is all zeros, of the picture's size."""
    return ClothingMask(
        mask=nothing,
        upper=nothing,
        lower=nothing,
        shoes=nothing,
        sleeves=nothing,
        in_front=nothing,
        is_one_piece=False,
        waist_y=None,
        confidence=0.0,
    )
