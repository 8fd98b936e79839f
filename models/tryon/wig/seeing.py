"""What perception says about the head in a picture, as the wig code wants it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.perception.face import FaceBox
from models.perception.portrait import PortraitAnalysis
from services.domain.errors import ContentRejected

Picture = NDArray[np.uint8]
Matte = NDArray[np.float32]
Points = NDArray[np.float32]

_SMALL_HEAD: Final = 0.14  # of the picture's long side: its outline is looked at again from near
_REACH: Final = (2.6, 2.4, 4.5)  # face widths to the sides, above and below


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenHead:
    """A head, in pixels of the picture that was looked at; masks float32 (h, w), 0 to 1.

    Attributes:
        points: The face's mesh, (468, 3).
        person: The person whose head it is.
        hair: Their own hair.
        confidence: In the hair mask.
        is_bald: Whether there is no hair to take away.
        is_covered: Whether a hat or scarf is on the head; it is in ``hair`` then.
        num_faces: In the whole picture.
        face_index: Which of them it is, from left to right.
        yaw: Of the head, radians, positive to the picture's right.
    """

    points: Points
    person: Matte
    hair: Matte
    confidence: float
    is_bald: bool = False
    is_covered: bool = False
    num_faces: int = 1
    face_index: int = 0
    yaw: float = 0.0


def see_head(picture_rgb: Picture, face: int | None, *, param: str = "model") -> SeenHead:
    """The head of the chosen face.

    Args:
        picture_rgb: uint8 (h, w, 3), upright.
        face: Index from left to right; None takes the largest.

    Raises:
        ContentRejected: ``face_not_found``, ``face_index``, ``face_too_small``.
    """
    from models.perception.analyst import shared_analyst

    seen = shared_analyst().portrait(picture_rgb, face=face, with_clothes=False, param=param)
    return head_in(picture_rgb, seen)


def head_in(picture_rgb: Picture, seen: PortraitAnalysis) -> SeenHead:
    """The head that an analysis of ``picture_rgb`` is about."""
    import cv2

    height, width = picture_rgb.shape[:2]
    points = seen.face.points.copy()
    points[:, :2] = (points[:, :2] + 0.5) / seen.scale - 0.5
    points[:, 2] /= seen.scale
    person, hair = (
        mask if mask.shape == (height, width) else np.asarray(cv2.resize(mask, (width, height)), np.float32)
        for mask in (seen.person, seen.hair.mask)
    )
    person = _sharpened(picture_rgb, person, points)
    others = _others(picture_rgb.shape, [box for i, box in enumerate(seen.faces) if i != seen.face_index], seen.scale)
    if others is not None:
        ours = cv2.dilate(person, np.ones((max(3, int(0.1 * _width(points)) | 1),) * 2, np.uint8)) * ~others
        person, hair = person * ~others, hair * np.clip(2 * ours, 0, 1)
    return SeenHead(
        points=np.asarray(points, np.float32),
        person=np.asarray(person, np.float32),
        hair=np.asarray(hair, np.float32),
        confidence=seen.hair.confidence,
        is_bald=seen.hair.is_bald,
        is_covered=seen.hair.is_covered,
        num_faces=len(seen.faces),
        face_index=seen.face_index,
        yaw=seen.face.yaw,
    )


def _others(shape: tuple[int, ...], faces: list[FaceBox], scale: float) -> NDArray[np.bool_] | None:
    """Where the heads of other people are; None without any."""
    import cv2

    if not faces:
        return None
    mask = np.zeros(shape[:2], np.uint8)
    for box in faces:
        centre = ((box.left + box.width / 2) / scale, (box.top + 0.4 * box.height) / scale)
        axes = (0.75 * box.width / scale, 0.85 * box.height / scale)
        whole = (round(centre[0]), round(centre[1])), (round(axes[0]), round(axes[1]))
        cv2.ellipse(mask, whole[0], whole[1], 0, 0, 360, 1, -1)
    return mask > 0


def _width(points: Points) -> float:
    return float(np.linalg.norm(points[454, :2] - points[234, :2]))


def find_head(picture_rgb: Picture) -> SeenHead | None:
    """The head in a product photo; None when it shows no face."""
    try:
        return see_head(picture_rgb, None, param="photo")
    except ContentRejected as error:
        if error.code in ("face_not_found", "face_too_small"):
            return None
        raise


def head_window(points: Points, width: int, height: int) -> tuple[int, int, int, int]:
    """Left, top, right, bottom of the part of the picture in which a head, its hair and any wig lie."""
    face_width = float(np.linalg.norm(points[454, :2] - points[234, :2]))
    x, y = points[[234, 454], :2].mean(0)
    aside, above, below = (value * face_width for value in _REACH)
    left, right = (int(np.clip(value, 0, width)) for value in (x - aside, x + aside))
    top, bottom = (int(np.clip(value, 0, height)) for value in (y - above, y + below))
    return left, top, max(right, left + 1), max(bottom, top + 1)


def _sharpened(picture_rgb: Picture, person: Matte, points: Points) -> Matte:
    """``person`` with the outline of a small head as seen from near."""
    import cv2

    from models.perception.person import person_matte

    height, width = person.shape
    face_width = float(np.linalg.norm(points[454, :2] - points[234, :2]))
    if face_width > _SMALL_HEAD * max(height, width):
        return person
    left, top, right, bottom = head_window(points, width, height)
    near = person_matte(np.ascontiguousarray(picture_rgb[top:bottom, left:right]))
    reach = max(3, int(0.3 * face_width) | 1)
    ours = cv2.dilate(person[top:bottom, left:right], np.ones((reach, reach), np.uint8))
    sharp = person.copy()
    sharp[top:bottom, left:right] = near * np.clip(ours * 2, 0, 1)
    return sharp
