"""Where a person's bare skin is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class SkinMask:
    """Masks are float32 (height, width) of the picture, 0 to 1; ``left`` and ``right`` are the person's own.

    Attributes:
        mask: All bare skin; hair, lips and eyes of the face belong to it where they lie inside its outline.
        face: Face and ears.
        neck: Neck and whatever a neckline bares below it.
        left_arm, right_arm: Bare parts of the arms with the hands.
        left_hand, right_hand: From the wrists on.
        legs: Bare parts of legs and feet.
        confidence: 0 to 1; low where clothes have the colour of the skin.
    """

    mask: NDArray[np.float32]
    face: NDArray[np.float32]
    neck: NDArray[np.float32]
    left_arm: NDArray[np.float32]
    right_arm: NDArray[np.float32]
    left_hand: NDArray[np.float32]
    right_hand: NDArray[np.float32]
    legs: NDArray[np.float32]
    confidence: float


def no_skin(nothing: NDArray[np.float32]) -> SkinMask:
    """The mask of a person of whom it cannot be told; ``nothing`` is all zeros, of the picture's size."""
    return SkinMask(
        mask=nothing,
        face=nothing,
        neck=nothing,
        left_arm=nothing,
        right_arm=nothing,
        left_hand=nothing,
        right_hand=nothing,
        legs=nothing,
        confidence=0.0,
    )
