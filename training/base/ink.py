"""A style to learn: the same catalogue pictures as pen and wash on paper.

What a LoRA is taught in tests and benchmarks: every picture changes, and what it shows does not.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from training.base.drawings import Picture

_PAPER_RGB: Final = (248, 240, 220)
_INK_RGB: Final = (24, 26, 64)
_WASH: Final = 0.82  # of the colour stays


def in_ink(picture: Picture) -> Picture:
    """The picture, uint8 (64, 64, 3), in thin colours with a pen's outline, on hatched paper."""
    import cv2

    rgb = picture.astype(np.float32)
    background = np.median(np.concatenate([rgb[:, :3], rgb[:, -3:]], axis=1), axis=1, keepdims=True)
    distance = np.linalg.norm(rgb - background, axis=2)
    there = np.clip((distance - 14) / 22, 0, 1).astype(np.float32)
    there = cv2.morphologyEx(there, cv2.MORPH_CLOSE, np.ones((5, 5), np.uint8))  # a pale dot is no hole
    there = cv2.GaussianBlur(there, (0, 0), 0.6)[..., None]
    paper = np.asarray(_PAPER_RGB, np.float32)
    wash = paper + _WASH * (rgb - paper)
    made = paper + there * (wash - paper)
    inside = cv2.erode(there[..., 0], np.ones((3, 3), np.uint8))
    stroke = 0.75 * np.clip(there[..., 0] - inside, 0, 1)
    rows, columns = np.mgrid[: picture.shape[0], : picture.shape[1]]
    hatching = 0.16 * ((rows + columns) % 6 < 2) * (1 - there[..., 0])
    made += np.maximum(stroke, hatching)[..., None] * (np.asarray(_INK_RGB, np.float32) - made)
    return np.asarray(np.clip(np.rint(made), 0, 255), np.uint8)
