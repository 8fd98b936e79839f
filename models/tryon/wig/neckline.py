"""Where clothes begin below a neck, also where hair lay over their edge."""

from __future__ import annotations

from itertools import product
from typing import Final

import numpy as np

from models.tryon.wig.head_frame import HeadFrame, Mask, Matte, disc

_SMALL: Final = 48  # pixels of a face's width at which the line is looked for
_DEPTHS: Final = np.linspace(0.0, 1.3, 27)  # of its lowest point below the chin, face widths
_HALVES: Final = (0.36, 0.42, 0.48, 0.56, 0.68)  # half of its width at the chin's height, face widths
_BENDS: Final = (1.0, 1.4, 2.0, 2.6)  # from a V to a round neck
_SIDES: Final = (-0.08, -0.04, 0.0, 0.04, 0.08)  # of its middle, face widths from the chin
_USUAL: Final = (0.48, 0.45, 2.0)  # depth, half width and bend where nothing is seen
_COLLAR: Final = 0.3  # face widths below the chin within which clothes without any throat reach up to the jaw
_SCRAP: Final = 0.045  # squared face widths of throat below which it says nothing about the line
_FEW: Final = 12  # pixels


def bare_below(head: HeadFrame, bare: Mask, dressed: Mask) -> Mask:
    """Where the body is bare, by the line that parts best what is seen ``bare`` below the jaw from what is ``dressed``.

    The line is a superellipse about the chin: ``|x / half|^bend + (y / depth)^bend = 1``.
    """
    x, y = (part / head.width for part in head.from_point(head.chin))
    step = max(1, round(head.width / _SMALL))
    part = (slice(step // 2, None, step),) * 2
    near = (np.abs(x[part]) < 0.75) & (y[part] > -0.1) & (y[part] < 1.5)
    skin, cloth = bare[part] & near, dressed[part] & near
    depth, half, bend, middle = *_USUAL, 0.0
    few = max(_FEW, round(_SCRAP * (head.width / step) ** 2))
    if cloth.sum() >= _FEW and skin.sum() < few:
        under = cloth & (np.abs(x[part]) < 0.3)
        top = float(np.clip(np.percentile(y[part][under], 3), 0.0, 0.5)) if under.sum() >= _FEW else _USUAL[0]
        depth = top if top > _COLLAR else 0.0
    elif skin.sum() >= few and cloth.sum() < _FEW:
        return np.ones_like(bare)
    elif skin.sum() >= few:
        across = np.concatenate([x[part][skin], x[part][cloth]])
        down = np.maximum(np.concatenate([y[part][skin], y[part][cloth]]), 0)
        truth = np.concatenate([np.ones(skin.sum(), bool), np.zeros(cloth.sum(), bool)])
        # Far from the line every choice is right: only what is near it counts, and both sides the same.
        best = np.inf
        for some in product(_DEPTHS[1:], _HALVES, _BENDS, _SIDES):
            value = _inside(across, down, *some)
            wrong = (value != truth).sum() + _FEW * (
                abs(some[1] - _USUAL[1]) + 2 * abs(some[3]) + 0.3 * abs(some[2] - _USUAL[2])
            )
            if wrong < best:
                best, (depth, half, bend, middle) = wrong, some
    return _inside(x, np.maximum(y, 0), depth, half, bend, middle)


def _inside(x: Matte, y: Matte, depth: float, half: float, bend: float, middle: float) -> Mask:
    return np.asarray((np.abs(x - middle) / half) ** bend + (y / max(depth, 1e-3)) ** bend < 1)


def bare_skin_seen(like: Mask, body: Mask, head: HeadFrame) -> Mask:
    """Skin of neck and chest: what is like it and hangs together with the throat."""
    import cv2

    x, y = head.from_point(head.chin)
    piece = disc(max(1, round(0.02 * head.width)))
    calm = cv2.morphologyEx((like & body & (y > -0.35 * head.width)).astype(np.uint8), cv2.MORPH_OPEN, piece)
    calm = cv2.morphologyEx(calm, cv2.MORPH_CLOSE, piece)
    _, labels = cv2.connectedComponents(calm)
    throat = (np.abs(x) < 0.45 * head.width) & (y < 0.35 * head.width) & (calm > 0)
    found = np.unique(labels[throat])
    return np.asarray(np.isin(labels, found[found > 0]) & body)
