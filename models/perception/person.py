"""Tells the person from what is behind them."""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.perception.edges import fit
from models.perception.tflite import TfliteModel

_GUIDE_SIDE_PX: Final = 1024  # the filter works at this size at most; finer edges come from the guide itself
_RADIUS: Final = 0.012  # of the long side
_EPSILON: Final = 2e-4
_OUTLINE_SHARE: Final = 0.65
# Of ``isolated``, in pixels of the network's answer.
_SURE: Final = 0.95
_THREAD_PX: Final = 3  # parts that hang together by less are two
_HAIR_PX: Final = (2.0, 5.0)  # doubts count up to the first and not from the second on


class PersonSegmenter:
    """Mattes of people; holds the networks. Not safe to share between threads."""

    def __init__(self) -> None:
        self._square = TfliteModel("person-matte")
        self._wide = TfliteModel("person-matte-landscape")

    def coarse(self, picture_rgb: NDArray[np.uint8]) -> NDArray[np.float32]:
        """What the network itself says, 0 to 1, at its own small size (256 by 256, or 144 rows for wide pictures)."""
        import cv2

        height, width = picture_rgb.shape[:2]
        model = self._wide if width > 1.4 * height else self._square
        small = cv2.resize(picture_rgb, model.input_size, interpolation=cv2.INTER_AREA)
        return model(np.divide(small, 255, dtype=np.float32))[0].reshape(model.input_size[::-1])

    def matte(
        self, picture_rgb: NDArray[np.uint8], *, outline: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        """How much of each pixel is person, float32 (height, width) from 0 to 1, edges following the picture's.

        ``outline`` (``BodyPose.person``), of a body seen down to the hips, leads where given: it keeps hands and feet
        that are too small for this network, and leaves other people out.
        """
        import cv2

        height, width = picture_rgb.shape[:2]
        coarse = isolated(self.coarse(picture_rgb))
        scale = min(1.0, _GUIDE_SIDE_PX / max(height, width))
        size = (max(1, round(width * scale)), max(1, round(height * scale)))
        guide = cv2.resize(picture_rgb, size, interpolation=cv2.INTER_AREA)
        matte = cv2.resize(coarse.astype(np.float32), size, interpolation=cv2.INTER_CUBIC)
        low, high = 0.1, 0.9
        if outline is not None:
            matte = (
                _OUTLINE_SHARE * cv2.resize(outline, size, interpolation=cv2.INTER_AREA) + (1 - _OUTLINE_SHARE) * matte
            )
            low, high = 0.3, 0.75
        edges = fit(
            np.divide(guide, 255, dtype=np.float32),
            np.asarray(matte, np.float32),
            radius=max(2, round(_RADIUS * max(size))),
            epsilon=_EPSILON,
        )
        return np.asarray(np.clip((edges.at(picture_rgb) - low) / (high - low), 0, 1), np.float32)


@cache
def _shared() -> PersonSegmenter:
    return PersonSegmenter()


def person_matte(picture_rgb: NDArray[np.uint8]) -> NDArray[np.float32]:
    """``PersonSegmenter.matte`` with one set of networks for the process."""
    return _shared().matte(picture_rgb)


def coarse_person_matte(picture_rgb: NDArray[np.uint8]) -> NDArray[np.float32]:
    """``PersonSegmenter.coarse`` with one set of networks for the process: cheap, for telling roughly where."""
    return _shared().coarse(picture_rgb)


def isolated(coarse: NDArray[np.float32]) -> NDArray[np.float32]:
    """The network's answer for people alone: what it is unsure of over a wide stretch (a plant, a wall) is cleared.

    People are the large connected parts of which it is sure, down to a fifth of the largest. Round them its doubts are
    kept for as far as hair flies.
    """
    import cv2

    thread = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * _THREAD_PX + 1,) * 2)
    sure = (coarse > _SURE).astype(np.uint8)
    # The picture's border is no border of a person whom it cuts.
    core = cv2.erode(sure, thread, borderType=cv2.BORDER_REPLICATE)
    num_parts, labels, stats, _ = cv2.connectedComponentsWithStats(core, connectivity=4)
    if num_parts < 2:
        return coarse
    areas = stats[1:, cv2.CC_STAT_AREA]
    people = np.isin(labels, 1 + np.flatnonzero(areas >= areas.max() / 5)).astype(np.uint8)
    people = np.minimum(cv2.dilate(people, thread), sure)
    distance = cv2.distanceTransform(1 - people, cv2.DIST_L2, cv2.DIST_MASK_5)
    full, none = _HAIR_PX
    return np.asarray(coarse * np.clip((none - distance) / (none - full), 0, 1), np.float32)
