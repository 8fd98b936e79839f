"""Clothes and a bare chest carried on under hair that lay over them."""

from __future__ import annotations

from typing import Final

import numpy as np

from models.tryon.wig.filling import push_pull
from models.tryon.wig.head_frame import HeadFrame, Mask, Matte, disc

_SIDE_LIGHT: Final = 24.0  # of 255

_EDGE: Final = 0.04  # face widths of clothes beside hair that hold single hairs and its shadow
_PRINT: Final = 0.16  # face widths: letters and buttons are no larger
_SHADES: Final = (1.15, 1.0, 0.85, 0.7, 0.55)  # of skin from light to shadow
_WEAVE: Final = 9.0  # of 255


def clothes_under_hair(rgb: Matte, head: HeadFrame, known: Mask, wanted: Mask, otherwise: Matte, skin: Matte) -> Matte:
    """Clothes (and a bare chest) carried on under hair that lay over them, edges and weave included.

    Sources are looked for along the row rather than along the column: a collar or a lapel is seen at the same height
    on the hair's other side. Beside the neck clothes alone are carried on, unless the shoulders are bare.
    """
    import cv2

    if known.sum() < 50 or not wanted.any():
        return otherwise
    safe = cv2.erode(known.astype(np.uint8), disc(max(1, round(_EDGE * head.width)))) > 0
    known = safe if safe.sum() >= 50 else known
    plain = _without_print(rgb, known, head.width)
    x, y = head.from_point(head.chin)
    bare = _bare(plain, head, known, skin)
    dressed = known & ~bare
    beside = np.abs(x) > 0.42 * head.width
    if (bare & known & beside).sum() > 0.4 * (known & beside).sum() or dressed.sum() < 50:
        return _carried_on(plain, known, wanted, stretch=2)
    # A neckline is seen in the middle; hidden, it rises to where the neck meets the shoulder.
    middle = dressed & (np.abs(x) < 0.25 * head.width)
    depth = float(np.percentile(y[middle], 2)) / head.width if middle.sum() > 30 else 0.6
    rise = np.sqrt((x / (0.5 * head.width)) ** 2 + (np.maximum(y, 0) / (max(depth, 0.3) * head.width)) ** 2)
    weight = np.clip((rise - 0.97) / 0.06, 0, 1)[..., None]
    throat = known & (rise < 0.9)
    is_open = (bare & throat).sum() > 0.5 * throat.sum()
    inside = skin if is_open else _carried_on(plain, known, wanted, stretch=2)
    only = _carried_on(plain, dressed, wanted, stretch=2)
    return _symmetric(plain, head, known, wanted, np.asarray(inside * (1 - weight) + only * weight, np.float32))


def _bare(plain: Matte, head: HeadFrame, known: Mask, skin: Matte) -> Mask:
    """Where the body is seen bare: nearer to skin in some shade than to the clothes further down."""
    import cv2

    _, y = head.from_point(head.chin)
    colour = np.median(skin[head.face()], axis=0)
    to_skin = np.min([np.linalg.norm(plain - colour * shade, axis=2) for shade in _SHADES], axis=0)
    like = to_skin < 45
    cloth = plain[known & (y > 0.65 * head.width) & ~like]
    if len(cloth) > 200:
        to_cloth = np.min([np.linalg.norm(plain - one, axis=2) for one in palette(cloth)], axis=0)
        like |= (to_skin < 90) & (to_skin < 0.8 * to_cloth)
        like &= to_skin < 1.3 * to_cloth
    round_patch = disc(max(1, round(0.03 * head.width)))
    calm = cv2.morphologyEx((like & known).astype(np.uint8), cv2.MORPH_CLOSE, round_patch)
    return np.asarray((cv2.morphologyEx(calm, cv2.MORPH_OPEN, round_patch) > 0) & known)


def _without_print(rgb: Matte, known: Mask, face_width: float) -> Matte:
    """Clothes without letters and buttons, which carried on would stand twice; folds, edges and weave stay."""
    import cv2

    height, width = known.shape
    filled = np.clip(push_pull(rgb, known.astype(np.float32)), 0, 255).astype(np.uint8)
    side = max(3, round(_PRINT * face_width) | 1)
    step = max(1, side // 21)
    small = cv2.resize(filled, (max(1, width // step), max(1, height // step)), interpolation=cv2.INTER_AREA)
    calm = cv2.medianBlur(small, max(3, (side // step) | 1))
    calm = cv2.resize(calm, (width, height), interpolation=cv2.INTER_LINEAR).astype(np.float32)
    weave = rgb - cv2.GaussianBlur(rgb, (0, 0), max(0.8, 0.01 * face_width))
    return np.asarray(calm + np.clip(weave, -_WEAVE, _WEAVE), np.float32)


def _symmetric(rgb: Matte, head: HeadFrame, known: Mask, wanted: Mask, otherwise: Matte) -> Matte:
    """``otherwise``, but where the body's other side shows the same place, that: lapels come in pairs."""
    import cv2

    width = known.shape[1]
    columns = np.round(2 * head.chin[0] - np.arange(width)).astype(int)
    there = (columns >= 0) & (columns < width)
    columns = np.clip(columns, 0, width - 1)
    other, seen = rgb[:, columns], known[:, columns] & there
    # Light differs from side to side: what both sides show tells by how much.
    both = known & seen
    shift = np.clip(rgb - other, -_SIDE_LIGHT, _SIDE_LIGHT) * both[..., None]
    if both.sum() > 50:
        other = other + push_pull(np.asarray(shift, np.float32), both.astype(np.float32))
    use = cv2.erode((wanted & seen).astype(np.uint8), disc(max(1, round(0.015 * head.width))))
    mix = cv2.GaussianBlur(use.astype(np.float32), (0, 0), max(0.8, 0.012 * head.width))[..., None]
    return np.asarray(otherwise * (1 - mix) + other * mix, np.float32)


def _carried_on(rgb: Matte, known: Mask, wanted: Mask, *, stretch: int) -> Matte:
    """``rgb`` with the wanted pixels taken from the nearest known ones, mirrored there, so that texture goes on.

    Args:
        stretch: How much nearer the row's pixels count than the column's.
    """
    import cv2

    out = push_pull(rgb, known.astype(np.float32))
    rows, columns = np.nonzero(wanted)
    if not known.any() or not len(rows):
        return out
    height, width = known.shape
    step = stretch if min(height, width) > 64 else 1
    small = cv2.resize((~known).astype(np.uint8), (width // step, height), interpolation=cv2.INTER_NEAREST)
    if small.all():
        return out
    _, labels = cv2.distanceTransformWithLabels(small, cv2.DIST_L2, cv2.DIST_MASK_5, labelType=cv2.DIST_LABEL_PIXEL)
    known_rows, known_columns = np.nonzero(small == 0)
    place = np.zeros(int(labels.max()) + 1, np.int64)
    place[labels[known_rows, known_columns]] = np.arange(len(known_rows))
    nearest = place[labels[rows, np.minimum(columns // step, small.shape[1] - 1)]]
    to_row = np.clip(2 * known_rows[nearest] - rows, 0, height - 1)
    to_column = np.clip(2 * known_columns[nearest] * step - columns, 0, width - 1)
    good = known[to_row, to_column]
    carried = rgb[to_row, to_column]
    # Where there is nothing to mirror the nearest colour goes on.
    sigma = max(1.0, 0.012 * max(height, width))
    mass = cv2.GaussianBlur(known.astype(np.float32), (0, 0), sigma)
    around = cv2.GaussianBlur(rgb * known[..., None], (0, 0), sigma) / np.maximum(mass, 1e-3)[..., None]
    plain = around[known_rows[nearest], np.minimum(known_columns[nearest] * step, width - 1)]
    out[rows, columns] = np.where(good[:, None], carried, plain)
    filled = np.zeros(known.shape, np.float32)
    filled[rows, columns] = ~good
    soft = cv2.GaussianBlur(filled, (0, 0), 0.5 * sigma)[..., None] * filled[..., None]
    return np.asarray(out * (1 - soft) + cv2.GaussianBlur(out, (0, 0), sigma) * soft, np.float32)


def palette(samples: Matte) -> Matte:
    """Three main colours of pixels (n, 3)."""
    import cv2

    chosen = np.ascontiguousarray(samples[:: max(1, len(samples) // 3000)], np.float32)
    cv2.setRNGSeed(0)
    criteria = (cv2.TERM_CRITERIA_MAX_ITER, 10, 1.0)
    _, _, colours = cv2.kmeans(chosen, 3, None, criteria, 1, cv2.KMEANS_PP_CENTERS)  # type: ignore[call-overload]
    return np.asarray(colours, np.float32)
