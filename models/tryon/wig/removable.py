"""Says when a sitter's own hair or hat cannot be hidden believably."""

from __future__ import annotations

from typing import Final

from models.tryon.wig.seeing import SeenHead
from models.tryon.wig.worn import WornWig
from services.domain.errors import ContentRejected

_UNSURE: Final = 0.3  # confidence of the hair mask
_MOST_INVENTED: Final = 5.0  # squared face widths of picture that nobody photographed


def require_removable(seen: SeenHead, worn: WornWig) -> None:
    """Refuse the portrait when the result would show what cannot be true.

    Raises:
        ContentRejected: ``hair_not_removable``.
    """
    if seen.is_covered:
        raise ContentRejected(
            "The head is under a hat or scarf: what the wig would leave free of it is not known. Use a portrait with a "
            "bare head.",
            code="hair_not_removable",
            param="model",
        )
    if not seen.is_bald and seen.confidence < _UNSURE:
        raise ContentRejected(
            "What is on the head could not be told apart from the rest of the picture, so it cannot be hidden under "
            "the wig. Use a portrait without a hat or scarf, with the hair against a different background.",
            code="hair_not_removable",
            param="model",
        )
    invented = invented_area(worn)
    if invented > _MOST_INVENTED:
        raise ContentRejected(
            "The wig is much smaller than the sitter's own hair: what is behind it would have to be made up. "
            "Use a portrait with the hair tied back, or a fuller wig.",
            code="hair_not_removable",
            param="model",
        )


def invented_area(worn: WornWig) -> float:
    """How much is seen that the hair had hidden, in squared face widths."""
    import numpy as np

    covered = np.divide(worn.wig_rgba[..., 3], 255, dtype=np.float32)
    hole = worn.sitter.hair_alpha * (1 - covered) * worn.removed
    return float(hole.sum()) / max(worn.sitter.face_width**2, 1.0)
