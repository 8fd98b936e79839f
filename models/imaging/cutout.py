"""The person or product alone."""

from __future__ import annotations

import numpy as np

from models.imaging.layers import Layers, front_colors
from models.imaging.subject import Subject


def cut_out(layers: Layers, subject: Subject) -> Layers:
    """Everything but the subject transparent; its edge pixels have its own colour, not the old background's.

    Pixels that are wholly the subject's stay bit-identical. Where nothing is shown the colour is black, so that no
    trace of the background stays in the file.
    """
    alpha = np.rint(255 * subject.matte).astype(np.uint8)
    rgb = front_colors(layers, subject.matte).copy()
    rgb[alpha == 0] = 0
    return Layers(rgb=rgb, alpha=alpha)
