"""Shapes of a head in a picture, from its mesh alone."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.talking_head.mesh.topology import (
    FACE_OVAL,
    LEFT_EYE_LOWER,
    LEFT_EYE_UPPER,
    RIGHT_EYE_LOWER,
    RIGHT_EYE_UPPER,
)

Matte = NDArray[np.float32]
Points = NDArray[np.float32]
Mask = NDArray[np.bool_]

SKULL: Final = (0.53, 0.60)  # half axes about the eyes' middle, in face widths and face heights
_BROWS: Final = ((63, 105, 66, 107, 55, 65, 52, 53), (293, 334, 296, 336, 285, 295, 282, 283))
_NOSE: Final = (168, 98, 327, 2)
_MOUTH: Final = (61, 291, 0, 17, 37, 267, 84, 314)
_EYES: Final = (RIGHT_EYE_UPPER + RIGHT_EYE_LOWER, LEFT_EYE_UPPER + LEFT_EYE_LOWER)
_BELOW_EYES: Final = 0.4  # lower half axis, in face heights
_NECK_WIDTH: Final = 0.33  # half, in face widths


class HeadFrame:
    """Shapes of the head in the picture, from its mesh alone."""

    def __init__(self, points: Points, shape: tuple[int, ...]) -> None:
        self.points = points
        self.height_px, self.width_px = int(shape[0]), int(shape[1])
        across, down = points[454, :2] - points[234, :2], points[152, :2] - points[10, :2]
        self.width = max(float(np.linalg.norm(across)), 1.0)
        self.height = max(float(np.linalg.norm(down)), 1.0)
        self.right = across / self.width
        self.down = np.array([-self.right[1], self.right[0]], np.float32)
        self.chin = points[152, :2]
        x, y = np.meshgrid(np.arange(self.width_px, dtype=np.float32), np.arange(self.height_px, dtype=np.float32))
        self._x, self._y = x, y

    def from_point(self, place: Points) -> tuple[Matte, Matte]:
        """How far right and down of ``place`` each pixel is in the head's own directions, pixels."""
        dx, dy = self._x - place[0], self._y - place[1]
        return dx * self.right[0] + dy * self.right[1], dx * self.down[0] + dy * self.down[1]

    def face(self) -> Mask:
        import cv2

        mask = np.zeros((self.height_px, self.width_px), np.uint8)
        cv2.fillPoly(mask, [np.round(self.points[list(FACE_OVAL), :2]).astype(np.int32)], 1)
        return mask > 0

    def skull(self) -> Mask:
        """The bald head above the ears."""
        middle = (self.points[[234, 454], :2].mean(0) + self.points[168, :2]) / 2
        x, y = self.from_point(middle)
        # Below the eyes it narrows quickly: there the face itself is the outline, also of a head that is turned.
        half = np.where(y < 0, SKULL[1], _BELOW_EYES) * self.height
        return np.asarray((x / (SKULL[0] * self.width)) ** 2 + (y / half) ** 2 < 1)

    def neck(self) -> Mask:
        x, y = self.from_point(self.chin)
        jaw = 0.38 * self.height
        widening = np.clip((y - 0.15 * self.width) / (0.5 * self.width), 0, 1) * 0.10
        return np.asarray((np.abs(x) < (_NECK_WIDTH + widening) * self.width) & (y > -jaw) & (y < 0.75 * self.width))

    def ears(self) -> Mask:
        """Where ears stand out of the head."""
        middle = np.asarray(self.points[[234, 454], :2].mean(0), np.float32)
        x, y = self.from_point(middle)
        # The ear that a turned head shows lies further from the face's outline.
        aside = np.abs(x / self.width + 0.35 * self.turned)
        return np.asarray((aside > 0.42) & (aside < 0.72) & (np.abs(y + 0.02 * self.height) < 0.24 * self.height))

    def brows_and_eyes(self) -> Mask:
        """What must never be taken for hair; not the tails of brows, over which hair hangs from the temples."""
        import cv2

        inner = cv2.erode(self.face().astype(np.uint8), disc(max(1, round(0.1 * self.width))))
        return (self._hulls(_BROWS, 0.01) & (inner > 0)) | self._hulls(_EYES, 0.008)

    def features(self) -> Mask:
        """Brows, eyes, nose and mouth."""
        return self.brows_and_eyes() | self._hulls((_NOSE, _MOUTH), 0.06)

    def brows(self) -> Mask:
        return self._hulls(_BROWS, 0.01)

    def middle(self) -> Mask:
        """Of the face from the eyes to the mouth, between the cheeks' outer halves."""
        x, y = self.from_point(self.points[168, :2])
        nose, _ = self.from_point(self.points[1, :2])
        _, under = self.from_point(self.points[17, :2])
        between = (y > 0.05 * self.width) & (under < 0)
        return np.asarray((np.minimum(np.abs(x), np.abs(nose)) < 0.27 * self.width) & between)

    def round_eyes(self) -> Mask:
        """Where glasses are worn, if any are."""
        return self._hulls(_EYES, 0.17) & ~self._hulls(_BROWS, 0.0)

    def _hulls(self, parts: tuple[tuple[int, ...], ...], grown: float) -> Mask:
        """The convex parts of the face, grown by so many face widths."""
        import cv2

        mask = np.zeros((self.height_px, self.width_px), np.uint8)
        for part in parts:
            hull = cv2.convexHull(np.round(self.points[list(part), :2]).astype(np.int32))
            cv2.fillConvexPoly(mask, hull, 1)
        return cv2.dilate(mask, disc(max(1, round(grown * self.width)))) > 0

    def below_chin(self) -> Matte:
        return self.from_point(self.chin)[1]

    @property
    def turned(self) -> float:
        """How far right of the middle between the ears the nose is, face widths."""
        middle = np.asarray(self.points[[234, 454], :2].mean(0), np.float32)
        return float((self.points[1, :2] - middle) @ self.right) / self.width

    @property
    def rows(self) -> Matte:
        return self._y


def disc(radius: int) -> NDArray[np.uint8]:
    import cv2

    return np.asarray(cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * radius + 1,) * 2), np.uint8)


def grown(mask: Mask, reach: float) -> Mask:
    """The mask and all within so many pixels of it; for a wide reach far cheaper than a dilation."""
    import cv2

    return np.asarray(cv2.distanceTransform((~mask).astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_5) <= reach)
