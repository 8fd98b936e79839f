"""What appears where an old garment is taken away: background, the cloth below it, and skin with its shading."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.tryon.garment.warp import Colours, Mask

_SIDE_PX: Final = 256  # smooth fills are made at this size
_DETAIL: Final = 0.012  # of the long side: what varies over less is texture


def smooth_fill(picture: Colours, known: Mask) -> Colours:
    """``picture`` (h, w, 3) where ``known``, elsewhere what lies round it, smooth (push-pull, Gortler et al. 1996)."""
    import cv2

    height, width = known.shape
    scale = min(1.0, _SIDE_PX / max(height, width))
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    weight = cv2.resize(known, size, interpolation=cv2.INTER_AREA)
    colour = cv2.resize(picture * known[..., None], size, interpolation=cv2.INTER_AREA)
    filled = _push_pull(colour, weight)
    return np.asarray(cv2.resize(filled, (width, height), interpolation=cv2.INTER_CUBIC), np.float32)


def _push_pull(premultiplied: Colours, weight: Mask) -> Colours:
    import cv2

    height, width = weight.shape
    if min(height, width) <= 2:
        total = max(float(weight.sum()), 1e-6)
        return np.broadcast_to(premultiplied.sum((0, 1)) / total, premultiplied.shape).astype(np.float32)
    half = ((width + 1) // 2, (height + 1) // 2)
    coarse = _push_pull(
        cv2.resize(premultiplied, half, interpolation=cv2.INTER_AREA),
        np.asarray(cv2.resize(weight, half, interpolation=cv2.INTER_AREA), np.float32),
    )
    below = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_LINEAR)
    share = np.clip(weight * 1.5, 0, 1)[..., None]
    own = premultiplied / np.maximum(weight, 1e-4)[..., None]
    return np.asarray(own * share + below * (1 - share), np.float32)


def mirrored_fill(picture: Colours, known: NDArray[np.bool_], wanted: NDArray[np.bool_]) -> Colours:
    """``picture`` with ``wanted`` pixels taken from ``known`` ones, mirrored at the nearest border: texture goes on.

    What mirroring cannot reach is filled smoothly; low frequencies follow the smooth fill, so no seam shows.
    """
    import cv2

    smooth = smooth_fill(picture, known.astype(np.float32))
    out = picture.copy()
    rows, columns = np.nonzero(wanted)
    if not len(rows):
        return out
    _, labels = cv2.distanceTransformWithLabels(
        (~known).astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_5, labelType=cv2.DIST_LABEL_PIXEL
    )
    known_rows, known_columns = np.nonzero(known)
    order = np.zeros(int(labels.max()) + 1, np.int64)
    order[labels[known_rows, known_columns]] = np.arange(len(known_rows))
    nearest = order[labels[rows, columns]]
    height, width = known.shape
    to_row = np.clip(2 * known_rows[nearest] - rows, 0, height - 1)
    to_column = np.clip(2 * known_columns[nearest] - columns, 0, width - 1)
    good = known[to_row, to_column]
    radius = (2 * max(3, round(_DETAIL * max(height, width))) + 1,) * 2
    weight = cv2.blur(known.astype(np.float32), radius)
    mean = cv2.blur(picture * known[..., None].astype(np.float32), radius) / np.maximum(weight, 1e-3)[..., None]
    detail = picture[to_row, to_column] - mean[to_row, to_column]
    out[rows, columns] = smooth[rows, columns] + np.where(good[:, None], detail, 0)
    return out


def skin_colour(picture: Colours, skin: Mask, fallback: Colours | None = None) -> Colours:
    """The lit colour of the person's skin (3,): what the brighter half of ``skin`` looks like."""
    pixels = picture[skin > 0.7]
    if len(pixels) < 50:
        return np.array([200, 160, 140], np.float32) if fallback is None else fallback
    light = pixels @ np.array([0.3, 0.59, 0.11], np.float32)
    low, high = np.percentile(light, (45, 85))
    chosen = pixels[(light >= low) & (light <= high)]
    return np.asarray(np.median(chosen if len(chosen) else pixels, axis=0), np.float32)


def matched(colours: Colours, picture: Colours, real: NDArray[np.bool_], reach: float) -> Colours:
    """Made ``colours`` led into ``picture``: as it is where ``real``, less and less over ``reach`` pixels."""
    import cv2

    if real.sum() < 60:
        return colours
    difference = smooth_fill(picture - colours, real.astype(np.float32))
    distance = cv2.distanceTransform((~real).astype(np.uint8), cv2.DIST_L2, 3)
    share = np.exp(-distance / max(reach, 1.0)).astype(np.float32)[..., None]
    return np.asarray(colours + difference * share, np.float32)


def add_grain(colours: Colours, alpha: Mask, strength: float, generator: np.random.Generator) -> Colours:
    """Noise as strong as the picture's own, so that a fill does not look airbrushed."""
    import cv2

    noise = generator.standard_normal(alpha.shape).astype(np.float32)
    noise = cv2.GaussianBlur(noise, (0, 0), 0.7) * 2.2
    return np.asarray(colours + noise[..., None] * np.float32(strength) * alpha[..., None], np.float32)
