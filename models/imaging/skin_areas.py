"""Where on a face skin, teeth and eyes are, for retouching: soft masks that keep off brows, lashes, lips and beards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.imaging.subject import Box, Subject
from models.perception.face import FaceLandmarks
from models.perception.face_frame import FACE_OVAL, face_width

Picture = NDArray[np.uint8]
Mask = NDArray[np.float32]

# Mesh points (MediaPipe's face mesh, Apache-2.0), in order round each part.
_LIPS: Final = (
    *(61, 185, 40, 39, 37, 0, 267, 269, 270, 409, 291),
    *(375, 321, 405, 314, 17, 84, 181, 91, 146),
)
_MOUTH: Final = (
    *(78, 191, 80, 81, 82, 13, 312, 311, 310, 415, 308),
    *(324, 318, 402, 317, 14, 87, 178, 88, 95),
)
_EYES: Final = (
    (33, 246, 161, 160, 159, 158, 157, 173, 133, 155, 154, 153, 145, 144, 163, 7),
    (362, 398, 384, 385, 386, 387, 388, 466, 263, 249, 390, 373, 374, 380, 381, 382),
)
_BROWS: Final = (
    (70, 63, 105, 66, 107, 55, 65, 52, 53, 46),
    (300, 293, 334, 296, 336, 285, 295, 282, 283, 276),
)
_NOSTRILS: Final = ((98, 97, 2, 326, 327, 94), (60, 99, 97, 240), (290, 328, 326, 460))
_CHEEKS: Final = (50, 280, 205, 425, 101, 330, 117, 346, 151, 9, 108, 337, 4, 195, 36, 266)
_WINDOW: Final = (0.75, 0.9, 0.95)  # face widths aside, above and below the face's middle
_SAMPLE: Final = 0.035  # face widths, round each point whose skin is measured
_LIKE: Final = (2.0, 4.2)  # deviations from the face's own skin colour up to which it is skin, and from which it is not
_FLOOR: Final = (7.0, 4.5, 4.5)  # deviations of L, a, b that every skin has at least
_HAIRY: Final = (1.9, 3.2)  # contrast of fine detail relative to the cheeks: stubble and beards have more
_SHADE: Final = 0.55  # how much a difference in light counts, against one in colour


@dataclass(frozen=True, slots=True, kw_only=True)
class FaceAreas:
    """A window on a face; masks are float32 of its size, 0 to 1.

    Attributes:
        box: The window in the picture, whole pixels.
        points: float32 (468, 2), mesh points in pixels of the window.
        width_px: One face width.
        skin: Bare skin of face and forehead.
        eyes: Inside the lids.
        mouth: Between the lips.
    """

    box: Box
    points: Mask
    width_px: float
    skin: Mask
    eyes: Mask
    mouth: Mask

    @property
    def where(self) -> tuple[slice, slice]:
        """Of the window in an array of the picture's size."""
        return slice(int(self.box.top), int(self.box.bottom)), slice(int(self.box.left), int(self.box.right))


def face_areas(rgb: Picture, subject: Subject, face: FaceLandmarks) -> FaceAreas:
    """The areas of ``face`` in ``rgb`` (uint8 (height, width, 3))."""
    height, width = rgb.shape[:2]
    reach = face_width(face)
    middle = (face.points[234, :2] + face.points[454, :2]) / 2
    aside, above, below = (value * reach for value in _WINDOW)
    box = Box(
        left=float(np.clip(np.floor(middle[0] - aside), 0, width - 1)),
        top=float(np.clip(np.floor(middle[1] - above), 0, height - 1)),
        right=float(np.clip(np.ceil(middle[0] + aside), 1, width)),
        bottom=float(np.clip(np.ceil(middle[1] + below), 1, height)),
    )
    where = np.s_[int(box.top) : int(box.bottom), int(box.left) : int(box.right)]
    window = np.ascontiguousarray(rgb[where])
    points = np.asarray(face.points[:, :2] - (box.left, box.top), np.float32)
    oval = _drawn(window.shape, points, [FACE_OVAL])
    eyes = _drawn(window.shape, points, _EYES)
    mouth = _drawn(window.shape, points, [_MOUTH])
    skin = _skin(window, points, reach, oval)
    if subject.hair is not None:
        skin *= 1 - np.clip(1.5 * subject.hair[where], 0, 1)
    skin *= subject.matte[where] if subject.box.height > 0 else 1
    return FaceAreas(
        box=box,
        points=points,
        width_px=reach,
        skin=np.asarray(skin, np.float32),
        eyes=_soft(eyes, 0.008 * reach),
        mouth=_soft(mouth, 0.008 * reach),
    )


def _skin(window: Picture, points: Mask, reach: float, oval: NDArray[np.uint8]) -> Mask:
    """Inside the face and its forehead, of the colour that this face's skin has, and as smooth."""
    import cv2

    kept = _grown(_drawn(window.shape, points, _EYES), 0.05 * reach)
    kept |= _grown(_drawn(window.shape, points, _BROWS), 0.025 * reach)
    kept |= _grown(_drawn(window.shape, points, [_LIPS]), 0.02 * reach)
    kept |= _grown(_drawn(window.shape, points, _NOSTRILS), 0.012 * reach)
    # The mesh ends below the hairline.
    up = points[10] - points[152]
    raised = points.copy()
    raised[list(FACE_OVAL)] += (
        0.10 * up * np.clip((points[list(FACE_OVAL)] - points[152]) @ up / (up @ up), 0, 1)[:, None]
    )
    face = cv2.erode(_drawn(window.shape, raised, [FACE_OVAL]) | oval, _disc(0.012 * reach))
    sigma = max(0.8, 0.012 * reach)
    lab = cv2.cvtColor(np.divide(window, 255, dtype=np.float32), cv2.COLOR_RGB2LAB)
    smooth = cv2.GaussianBlur(lab, (0, 0), sigma)
    detail = cv2.GaussianBlur(np.abs(lab[..., 0] - cv2.GaussianBlur(lab[..., 0], (0, 0), sigma)), (0, 0), sigma)
    sampled = np.zeros(window.shape[:2], np.uint8)
    for index in _CHEEKS:
        x, y = np.round(points[index]).astype(int)
        cv2.circle(sampled, (int(x), int(y)), max(1, round(_SAMPLE * reach)), 1, -1)
    here = (sampled > 0) & (kept == 0) & (oval > 0)
    if here.sum() < 30:
        return np.zeros(window.shape[:2], np.float32)
    samples = smooth[here]
    median = np.median(samples, axis=0)
    spread = np.maximum(1.48 * np.median(np.abs(samples - median), axis=0), _FLOOR)
    off = (smooth - median) / spread
    off[..., 0] *= _SHADE
    distance = np.sqrt(np.square(off).sum(-1))
    like = np.clip((_LIKE[1] - distance) / (_LIKE[1] - _LIKE[0]), 0, 1)
    usual = max(float(np.median(detail[here])), 0.25)
    bare = np.clip((_HAIRY[1] - detail / usual) / (_HAIRY[1] - _HAIRY[0]), 0, 1)
    # Single hairs, and blemishes, are no border of the skin: what is nearly all skin is skin.
    like = cv2.GaussianBlur(
        np.asarray(like * np.where(_beard_zone(points, window.shape), bare, 1), np.float32), (0, 0), sigma
    )
    closed = cv2.morphologyEx(like, cv2.MORPH_CLOSE, _disc(0.03 * reach))
    inside = _soft(np.asarray((face > 0) & (kept == 0), np.uint8), 0.012 * reach)
    return np.asarray(np.clip(1.6 * closed - 0.4, 0, 1) * inside * (kept == 0), np.float32)


def _beard_zone(points: Mask, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Below the nose and before the ears, where beards grow."""
    rows = np.arange(shape[0], dtype=np.float32)[:, None]
    columns = np.arange(shape[1], dtype=np.float32)[None]
    down = points[152] - points[10]
    down = down / max(float(np.linalg.norm(down)), 1e-6)
    start = float(points[2] @ down)
    return np.asarray(
        columns * down[0] + rows * down[1] > start - 0.02 * float(np.linalg.norm(points[152] - points[10]))
    )


def _drawn(
    shape: tuple[int, ...], points: Mask, parts: tuple[tuple[int, ...], ...] | list[tuple[int, ...]]
) -> NDArray[np.uint8]:
    import cv2

    mask = np.zeros(shape[:2], np.uint8)
    for part in parts:
        outline = np.round(points[list(part)] * 16).astype(np.int32)
        cv2.fillPoly(mask, [outline if part is not _NOSTRILS[0] else cv2.convexHull(outline)], 1, cv2.LINE_8, 4)
    return mask


def _grown(mask: NDArray[np.uint8], radius: float) -> NDArray[np.uint8]:
    import cv2

    return np.asarray(cv2.dilate(mask, _disc(radius)), np.uint8)


def _disc(radius: float) -> NDArray[np.uint8]:
    import cv2

    size = max(1, round(radius))
    return np.asarray(cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * size + 1, 2 * size + 1)), np.uint8)


def _soft(mask: NDArray[np.uint8], sigma: float) -> Mask:
    """Faded inwards only: nothing outside the mask is touched."""
    import cv2

    inner = cv2.erode(mask, _disc(sigma))
    blurred = cv2.GaussianBlur(inner.astype(np.float32), (0, 0), max(0.6, sigma))
    return np.asarray(blurred * mask, np.float32)
