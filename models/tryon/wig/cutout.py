"""Cuts the hair out of a product photo: closed-form matte, and the hair's own colour below it. Slow; ingest only."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.uint8]
Matte = NDArray[np.float32]

_SURE: Final = (0.08, 0.92)  # of the soft mask
_INNER: Final = 0.025  # face widths of doubt inside the mask
_PERSON: Final = 0.5  # of the person's matte: hair-coloured ground beside it is none
_REACH: Final = ((12.0, 32.0), (0.02, 0.10))  # Delta E, and face widths outside the mask where single hairs may fly
_SEAM: Final = 0.035  # and towards skin and clothes


def trimap(picture_rgb: Picture, hair_alpha: Matte, person_matte: Matte, face_width: float) -> NDArray[np.float64]:
    """1 sure hair, 0 surely none, 0.5 to be found out, (h, w).

    Where hair stands out from the ground single hairs are looked for far out; where it does not, matting would only
    find the ground's own pattern there.
    """
    import cv2

    def disc(share: float) -> NDArray[np.uint8]:
        radius = max(1, round(share * face_width))
        return np.asarray(cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * radius + 1,) * 2), np.uint8)

    inside = ((hair_alpha > _SURE[1]) & (person_matte > _PERSON)).astype(np.uint8)
    sure = cv2.erode(inside, disc(_INNER), borderType=cv2.BORDER_REPLICATE) > 0
    near = (hair_alpha > _SURE[0]).astype(np.uint8)
    share = float(np.interp(_contrast(picture_rgb, sure, (hair_alpha < 0.02) & (person_matte < 0.05)), *_REACH))
    behind = cv2.dilate(near, disc(share)) > 0
    on_person = cv2.dilate(near, disc(_SEAM)) > 0
    possible = np.where(person_matte > 0.7, on_person, behind)
    return np.where(sure, 1.0, np.where(possible, 0.5, 0.0))


def _contrast(picture_rgb: Picture, hair: NDArray[np.bool_], ground: NDArray[np.bool_]) -> float:
    """Delta E between the middle colours of hair and ground."""
    import cv2

    if not hair.any() or not ground.any():
        return 0.0
    lab = cv2.cvtColor(np.divide(picture_rgb, 255, dtype=np.float32), cv2.COLOR_RGB2LAB)
    return float(np.linalg.norm(np.median(lab[hair], axis=0) - np.median(lab[ground], axis=0)))


def cut_out(picture_rgb: Picture, known: NDArray[np.float64]) -> Picture:
    """The hair as (h, w, 4), straight alpha, its colour free of what is behind and going on beyond the edges.

    Source: closed-form matting (Levin, Lischinski and Weiss 2008) and multi-level foreground estimation (Germer et al.
    2020), both as PyMatting (MIT) has them.
    """
    from pymatting import estimate_alpha_cf, estimate_foreground_ml

    image = np.divide(picture_rgb, 255, dtype=np.float64)
    alpha = np.clip(estimate_alpha_cf(image, known), 0, 1)
    # A haze over everything is no hair; what is nearly whole is whole.
    alpha = np.clip((alpha - 0.04) / 0.92, 0, 1)
    return with_own_colour(picture_rgb, alpha.astype(np.float32), estimate_foreground_ml)


def with_own_colour(picture_rgb: Picture, alpha: Matte, estimate: object = None) -> Picture:
    """``picture_rgb`` with ``alpha``, each pixel's colour that of the hair alone."""
    if estimate is None:
        from pymatting import estimate_foreground_ml

        estimate = estimate_foreground_ml
    image = np.divide(picture_rgb, 255, dtype=np.float64)
    front = np.asarray(estimate(image, alpha.astype(np.float64)))  # type: ignore[operator]
    rgba = np.dstack([np.clip(front, 0, 1), alpha])
    return np.asarray(np.clip(np.rint(rgba * 255), 0, 255), np.uint8)
