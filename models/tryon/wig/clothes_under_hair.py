"""Clothes carried on under hair that lay over them."""

from __future__ import annotations

from typing import Final

import numpy as np

from models.tryon.wig.filling import push_pull
from models.tryon.wig.head_frame import HeadFrame, Mask, Matte, disc

_SIDE_LIGHT: Final = 24.0  # of 255

_EDGE: Final = 0.04  # face widths of clothes beside hair that hold single hairs and its shadow
_PRINT: Final = 0.16  # face widths: letters and buttons are no larger
_PRINT_CONTRAST: Final = 45  # of 255
_LETTER: Final = 0.2  # side of a square of the largest letter's area, face widths
_WEAVE: Final = 9.0  # of 255


def clothes_under_hair(rgb: Matte, head: HeadFrame, dressed: Mask, wanted: Mask, otherwise: Matte) -> Matte:
    """Clothes carried on under hair that lay over them, edges and weave included.

    Sources are looked for along the row rather than along the column: a collar or a lapel is seen at the same height
    on the hair's other side.

    Args:
        dressed: Where clothes are seen.
        wanted: Where they may be wanted.
        otherwise: What is answered when none are seen.
    """
    import cv2

    if dressed.sum() < 50 or not wanted.any():
        return otherwise
    safe = cv2.erode(dressed.astype(np.uint8), disc(max(1, round(_EDGE * head.width)))) > 0
    known = safe if safe.sum() >= 50 else dressed
    plain = _without_print(rgb, known, head.width)
    carried = _carried_on(plain, known, wanted, stretch=1)
    return _symmetric(plain, head, known, wanted, carried)


def cut_print(rgb: Matte, head: HeadFrame, dressed: Mask, near_hair: Mask) -> Mask:
    """Letters and buttons that hair hides in part."""
    import cv2

    if dressed.sum() < 50:
        return np.zeros_like(dressed)
    step = max(1, round(head.width / 96))
    filled = np.clip(push_pull(rgb, dressed.astype(np.float32)), 0, 255)[::step, ::step].astype(np.uint8)
    calm = cv2.medianBlur(filled, max(3, round(_PRINT * head.width / step) | 1))
    apart = cv2.absdiff(cv2.blur(filled, (2, 2)), calm).max(2) > _PRINT_CONTRAST
    apart &= cv2.dilate((dressed | near_hair)[::step, ::step].astype(np.uint8), disc(1)) > 0
    small = near_hair[::step, ::step]
    _, labels, stats, _ = cv2.connectedComponentsWithStats((apart & ~small).astype(np.uint8))
    beside = cv2.dilate(small.astype(np.uint8), disc(2)) > 0
    most = (_LETTER * head.width / step) ** 2
    cut = [i for i in np.unique(labels[beside]) if i > 0 and stats[i, cv2.CC_STAT_AREA] < most]
    found = cv2.dilate(np.isin(labels, cut).astype(np.uint8), disc(4))
    height, width = dressed.shape
    return np.asarray(cv2.resize(found, (width, height), interpolation=cv2.INTER_NEAREST) > 0)


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

    height, width = known.shape
    middle, lean = _axis(rgb, head, known)
    rows = np.arange(height)[:, None]
    across = np.float32(2) * (middle + lean * (rows - head.chin[1])).astype(np.float32) - np.arange(width)[None]
    across = np.asarray(across, np.float32)
    down = np.ascontiguousarray(np.broadcast_to(rows.astype(np.float32), across.shape))
    other = cv2.remap(rgb, across, down, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    seen = cv2.remap(known.astype(np.float32), across, down, cv2.INTER_LINEAR) > 0.99
    # Light differs from side to side: what both sides show tells by how much.
    both = known & seen
    shift = np.clip(rgb - other, -_SIDE_LIGHT, _SIDE_LIGHT) * both[..., None]
    if both.sum() > 50:
        other = other + push_pull(np.asarray(shift, np.float32), both.astype(np.float32))
    use = cv2.erode((wanted & seen).astype(np.uint8), disc(max(1, round(0.015 * head.width))))
    mix = cv2.GaussianBlur(use.astype(np.float32), (0, 0), max(0.8, 0.012 * head.width))[..., None]
    return np.asarray(otherwise * (1 - mix) + other * mix, np.float32)


def _axis(rgb: Matte, head: HeadFrame, known: Mask) -> tuple[float, float]:
    """The line about which the clothes are most alike on both sides: its column at the chin, and columns a row."""
    import cv2

    step = max(1, round(head.width / 32))
    small = cv2.blur(rgb, (step, step))[::step, ::step]
    free = known[::step, ::step]
    rows, columns = np.nonzero(free)
    below = rows * step - head.chin[1]
    near = (below < 2.6 * head.width) & (np.abs(columns * step - head.chin[0]) < 1.6 * head.width)
    rows, columns, below = rows[near], columns[near], below[near]
    best, found = np.inf, (float(head.chin[0]), 0.0)
    for offset in np.linspace(-0.3, 0.3, 13):
        for lean in np.linspace(-0.3, 0.3, 13):
            middle = head.chin[0] + offset * head.width
            other = np.round((2 * (middle + lean * below)) / step - columns).astype(int)
            there = (other >= 0) & (other < free.shape[1])
            there[there] = free[rows[there], other[there]]
            if there.sum() < 0.1 * len(rows) or there.sum() < 40:
                continue
            apart = np.abs(small[rows[there], columns[there]] - small[rows[there], other[there]]).mean(1)
            cost = float(np.minimum(apart, 60).mean()) + 6 * abs(offset) + 6 * abs(lean)
            if cost < best:
                best, found = cost, (float(middle), float(lean))
    return found


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
