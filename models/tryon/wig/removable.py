"""Says when a sitter's own hair or hat cannot be hidden believably."""

from __future__ import annotations

from typing import Final

from models.tryon.wig.seeing import SeenHead
from models.tryon.wig.worn import WornWig
from services.domain.errors import ContentRejected

_UNSURE: Final = 0.3  # confidence of the hair mask
_MOST_DOUBTFUL: Final = 0.35  # squared face widths that are neither surely hair nor surely none
_DOUBTFUL_SHARE: Final = 0.18  # of the hair
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
    doubtful, share = doubtful_area(worn)
    if doubtful > _MOST_DOUBTFUL and share > _DOUBTFUL_SHARE:
        raise ContentRejected(
            "Much of the hair could not be told apart from what is behind it; parts of it would stay beside the wig. "
            "Use a portrait with the hair tied back, or against a background of another colour.",
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


def doubtful_area(worn: WornWig) -> tuple[float, float]:
    """Where it is open whether there is hair, edges aside: in squared face widths, and relative to the hair found."""
    import cv2
    import numpy as np

    hair, width = worn.sitter.hair_alpha, max(worn.sitter.face_width, 1.0)
    open_question = ((hair > 0.12) & (hair < 0.75)).astype(np.uint8)
    side = max(3, int(0.05 * width) | 1)
    wide = cv2.morphologyEx(open_question, cv2.MORPH_OPEN, np.ones((side, side), np.uint8))
    return float(wide.sum()) / width**2, float(wide.sum()) / max(float((hair > 0.5).sum()), 1.0)
