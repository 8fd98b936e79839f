"""The colours of one person's skin, learnt from the face, in light and in shadow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.perception.color_model import ColorModel, Features
from models.perception.face_frame import FaceFrame

# Mesh points and radii in face widths: cheeks, nose, between the brows, beside the mouth. Never lips, eyes or beard.
_FACE: Final = (
    *((50, 0.10), (280, 0.10), (1, 0.06), (4, 0.05), (195, 0.05), (9, 0.06), (151, 0.07)),
    *((205, 0.05), (425, 0.05), (108, 0.05), (337, 0.05), (118, 0.06), (347, 0.06)),
)
_FOREHEAD: Final = (*((151, 0.12), (9, 0.05), (108, 0.08), (337, 0.08), (10, 0.05), (109, 0.05), (338, 0.05)),)
_FLOOR: Final = (4.0, 2.5, 2.5, 1.5)
_SPREAD: Final = (12.0, 4.0, 4.0, 2.0)  # least deviations (1 sigma) when outliers are told
_SHADES: Final = (1.0, 0.75, 0.53, 1.12)  # of sRGB values: the neck lies in the head's shadow
_BARE: Final = 0.55  # share of the forehead that looks like the cheeks from which it is taken as skin


@dataclass(frozen=True, slots=True, kw_only=True)
class SkinColors:
    """Attributes:
    model: Skin in light and in shadow.
    median: float32 (4,), the face's middle L, a, b and texture.
    has_bare_forehead: Whether no fringe hides it.
    """

    model: ColorModel
    median: NDArray[np.float32]
    has_bare_forehead: bool


def skin_colors(features: Features, rgb: NDArray[np.uint8], frame: FaceFrame) -> SkinColors:
    """The colours of the face's skin.

    Args:
        features: float32 (h, w, 4), of ``features_of``.
        rgb: uint8 (h, w, 3), the same picture.
        frame: Of the face in it.
    """
    import cv2

    place = frame.discs(_FACE)
    if place.sum() < 40:
        place = frame.oval
    samples = features[place]
    median = np.median(samples, 0)
    deviation = np.maximum(1.4826 * np.median(np.abs(samples - median), 0), _SPREAD)
    typical = (np.abs(samples - median) < 2.5 * deviation).all(1)
    if typical.sum() < 20:
        typical[:] = True
    colors, texture = rgb[place][typical] / np.float32(255), samples[typical, 3:]
    shaded = []
    for shade in _SHADES:
        values = np.clip(colors * np.float32(shade), 0, 1)[None]
        shaded.append(np.concatenate([cv2.cvtColor(values, cv2.COLOR_RGB2LAB)[0], texture], 1))
    above = features[frame.discs(_FOREHEAD) & (frame.down < frame.brows - 0.06)]
    is_bare = False
    if len(above) > 20:
        alike = (
            (np.hypot(above[:, 1] - median[1], above[:, 2] - median[2]) < 11)
            & (above[:, 0] > median[0] - 14)
            & (above[:, 3] < np.percentile(samples[:, 3], 90) + 0.7)
        )
        is_bare = float(alike.mean()) > _BARE
        if is_bare:
            shaded += [above[alike]] * 2
    return SkinColors(
        model=ColorModel(np.concatenate(shaded).astype(np.float32), 5, _FLOOR),
        median=median.astype(np.float32),
        has_bare_forehead=is_bare,
    )
