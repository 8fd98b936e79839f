"""The sitter's own hair in the frames of a video: learnt in one frame, found again in all others in a millisecond."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.uint8]
Matte = NDArray[np.float32]

_BITS: Final = 4  # of each colour channel
_CELLS: Final = 1 << _BITS
_MOST: Final = 4.0  # log odds that a colour alone may speak
_FEW: Final = 0.5  # pixels that every colour counts for both sides
_PLACE: Final = 3.0  # log odds that the place alone speaks
_NEAR: Final = 0.12  # face widths in which hair may have moved since
_SMOOTH_PX: Final = 5


class HairColours:
    """Which colours are hair, counted in one frame.

    Args:
        picture_rgb: uint8 (h, w, 3).
        hair: float32 (h, w), 0 to 1.
        around: bool (h, w); where else colours are counted, for what is not hair.
    """

    def __init__(self, picture_rgb: Picture, hair: Matte, around: NDArray[np.bool_]) -> None:
        from scipy.ndimage import gaussian_filter

        index = _index(picture_rgb)
        size = _CELLS**3
        counts = []
        for chosen in (hair > 0.7, around & (hair < 0.15)):
            count = np.bincount(index[chosen], minlength=size).astype(np.float32).reshape((_CELLS,) * 3)
            count = gaussian_filter(count, 0.7, mode="nearest")
            counts.append((count + _FEW) / (count.sum() + _FEW * 8))
        odds = np.clip(np.log(counts[0] / counts[1]), -_MOST, _MOST)
        self._odds = np.ascontiguousarray(odds.ravel(), np.float32)

    def alpha(self, picture_rgb: Picture, place: Matte) -> Matte:
        """How much of each pixel is hair, float32 (h, w), 0 to 1.

        Args:
            picture_rgb: uint8 (h, w, 3), as small as the answer may be coarse.
            place: float32 (h, w); where hair was, taken along with the head, with soft edges.
        """
        import cv2

        odds = self._odds[_index(picture_rgb)] + _PLACE * (2 * place - 1)
        odds = cv2.blur(odds, (_SMOOTH_PX, _SMOOTH_PX))
        near = np.clip(place * 8, 0, 1)  # elsewhere the same colour is something else
        return np.asarray(near / (1 + np.exp(-np.clip(odds, -8, 8))), np.float32)


def place_of(hair: Matte, face_width: float) -> Matte:
    """``hair`` with edges as soft as hair moves, for ``HairColours.alpha``."""
    import cv2

    sigma = max(0.8, _NEAR * face_width)
    return np.asarray(cv2.GaussianBlur(hair, (0, 0), sigma), np.float32)


def _index(picture_rgb: Picture) -> NDArray[np.int32]:
    cells = (picture_rgb >> (8 - _BITS)).astype(np.int32)
    return np.asarray((cells[..., 0] << 2 * _BITS) | (cells[..., 1] << _BITS) | cells[..., 2], np.int32)
