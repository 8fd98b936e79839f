"""Cuts the hair out of a product photo: closed-form matte, and the hair's own colour below it. Slow; ingest only."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.uint8]
Matte = NDArray[np.float32]

_SURE: Final = (0.08, 0.92)  # of the soft mask
_INNER: Final = 0.025  # face widths of doubt inside the mask
_PERSON: Final = 0.5
_APART: Final = 14.0  # Delta E from every colour of the ground
_NEAR: Final = 0.06
_FLAT: Final = 1.2
_TOUCH: Final = 0.2  # face widths of hair along the photo's upper edge
_LIKE: Final = 9.0
_CLEAR: Final = 18.0
_REACH: Final = ((12.0, 32.0), (0.02, 0.10))  # Delta E, and face widths outside the mask where single hairs may fly
_FACTOR_ENTRIES: Final = 100_000_000  # of the Cholesky factor: 120 for each of 900 by 900 pixels, twice what was seen
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

    apart = against_ground(picture_rgb, (hair_alpha < 0.02) & (person_matte < 0.05))
    # Hair-coloured ground beside the person is no hair, and hair is more than the person's matte, which loses tails.
    inside = ((hair_alpha > _SURE[1]) & ((person_matte > _PERSON) | (apart > _APART))).astype(np.uint8)
    sure = cv2.erode(inside, disc(_INNER), borderType=cv2.BORDER_REPLICATE) > 0
    near = (hair_alpha > _SURE[0]).astype(np.uint8)
    contrast = float(np.median(apart[sure])) if sure.any() else 0.0
    behind = cv2.dilate(near, disc(float(np.interp(contrast, *_REACH)))) > 0
    on_person = cv2.dilate(near, disc(_SEAM)) > 0
    possible = np.where(person_matte > 0.7, on_person, behind)
    # Away from the person what is ground-coloured and has no strands is ground that the mask took for hair.
    away = cv2.dilate((person_matte > _PERSON).astype(np.uint8), disc(_NEAR)) == 0
    ground = (apart < _APART) & away & (texture_of(picture_rgb, face_width) < _FLAT)
    # Where the photo ends right above the hair nothing tells the matting what is ground there, but its colour does.
    touching = float((sure[:2] & (apart[:2] > _APART)).any(0).sum()) / face_width
    if contrast > _CLEAR and touching < _TOUCH:
        top = max(2, round(_NEAR * face_width))
        ground[:top] |= apart[:top] < _LIKE
    return np.where(sure & ~ground, 1.0, np.where(possible & ~ground, 0.5, 0.0))


def against_ground(picture_rgb: Picture, ground: NDArray[np.bool_]) -> NDArray[np.float32]:
    """How far each pixel's colour is from any of the ground's, Delta E."""
    import cv2

    if ground.sum() < 100:
        return np.full(ground.shape, 100, np.float32)
    lab = cv2.cvtColor(np.divide(picture_rgb, 255, dtype=np.float32), cv2.COLOR_RGB2LAB)
    samples = lab[ground]
    samples = np.ascontiguousarray(samples[:: max(1, len(samples) // 4000)])
    cv2.setRNGSeed(0)
    criteria = (cv2.TERM_CRITERIA_MAX_ITER, 12, 0.1)
    _, _, colours = cv2.kmeans(samples, 5, None, criteria, 2, cv2.KMEANS_PP_CENTERS)  # type: ignore[call-overload]
    return np.asarray(np.min([np.linalg.norm(lab - colour, axis=2) for colour in colours], axis=0), np.float32)


def texture_of(picture_rgb: Picture, face_width: float) -> NDArray[np.float32]:
    """Spread of lightness within a window as wide as some strands, L."""
    import cv2

    lightness = cv2.cvtColor(np.divide(picture_rgb, 255, dtype=np.float32), cv2.COLOR_RGB2LAB)[..., 0]
    side = max(3, round(0.03 * face_width)) | 1
    mean = cv2.blur(lightness, (side, side))
    return np.asarray(np.sqrt(np.maximum(cv2.blur(lightness**2, (side, side)) - mean**2, 0)), np.float32)


def cut_out(
    picture_rgb: Picture, known: NDArray[np.float64], tidy: Callable[[Matte], Matte] = lambda alpha: alpha
) -> Picture:
    """The hair as (h, w, 4), straight alpha, its colour free of what is behind and going on beyond the edges.

    Args:
        tidy: What is done to the matte before its colours are estimated.

    Source: closed-form matting (Levin, Lischinski and Weiss 2008) and multi-level foreground estimation (Germer et al.
    2020), both as PyMatting (MIT) has them.
    """
    from pymatting import estimate_alpha_cf, estimate_foreground_ml, ichol

    image = np.divide(picture_rgb, 255, dtype=np.float64)
    # Its default reserves four gigabytes, more than an engine may have.
    precondition = partial(ichol, max_nnz=_FACTOR_ENTRIES)
    alpha = np.clip(estimate_alpha_cf(image, known, preconditioner=precondition), 0, 1)
    # A haze over everything is no hair; what is nearly whole is whole.
    alpha = np.clip((alpha - 0.04) / 0.92, 0, 1)
    return with_own_colour(picture_rgb, tidy(alpha.astype(np.float32)), estimate_foreground_ml)


def with_own_colour(picture_rgb: Picture, alpha: Matte, estimate: object = None) -> Picture:
    """``picture_rgb`` with ``alpha``, each pixel's colour that of the hair alone."""
    if estimate is None:
        from pymatting import estimate_foreground_ml

        estimate = estimate_foreground_ml
    image = np.divide(picture_rgb, 255, dtype=np.float64)
    front = np.asarray(estimate(image, alpha.astype(np.float64)))  # type: ignore[operator]
    rgba = np.dstack([np.clip(front, 0, 1), alpha])
    return np.asarray(np.clip(np.rint(rgba * 255), 0, 255), np.uint8)
