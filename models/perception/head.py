"""The part of a picture that a head with its hair takes up, at a bounded size."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.perception.bounded import bounded
from models.perception.face import FaceLandmarks
from models.perception.face_frame import face_width
from models.perception.person import PersonSegmenter
from models.perception.pose import BodyPose

Picture = NDArray[np.uint8]
Mask = NDArray[np.float32]

HEAD_SIDE_PX: Final = 768
_REACH: Final = (2.3, 2.0, 3.8)  # face widths to each side of the face's middle, above and below it
_WHOLE: Final = 0.6  # share of the picture from which the picture's own matte serves the head too
_OTHERS_GAP: Final = 0.25  # face widths round a person's outline in which hair is still theirs and not a neighbour's
_OUTLINE_TRUST: Final = 0.85


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadView:
    """A window on the picture round one face.

    Attributes:
        left, top, width, height: Of the window, in pixels of the picture.
        scale: Size of ``rgb`` relative to the picture, 1 or less.
        rgb: uint8 (h, w, 3), the window, its long side 768 at most.
        face: The landmarks in pixels of ``rgb``.
        matte: float32 (h, w): person, with edges.
        is_near: Whether ``matte`` was looked at anew, since the head is a small part of the picture.
        likely: float32 (h, w): where any part of this person may be, more generous than ``matte`` with loose hair, and
            without neighbours.
    """

    left: int
    top: int
    width: int
    height: int
    scale: float
    rgb: Picture
    face: FaceLandmarks
    matte: Mask
    is_near: bool
    likely: Mask

    def window(self, picture: NDArray[np.generic]) -> NDArray[np.generic]:
        """The same part of an array of the picture's size."""
        return picture[self.top : self.top + self.height, self.left : self.left + self.width]


def head_view(
    picture_rgb: Picture,
    face: FaceLandmarks,
    segmenter: PersonSegmenter,
    *,
    matte: Mask,
    pose: BodyPose | None,
    is_alone: bool,
) -> HeadView:
    """The window round ``face``.

    Args:
        picture_rgb: uint8 (height, width, 3), RGB.
        face: In pixels of the picture.
        segmenter: Looks at the window again where the head is a small part of the picture.
        matte: Of the whole picture, float32 (height, width).
        pose: The body of this face, if found.
        is_alone: Whether the picture holds no other face.
    """
    import cv2

    height, width = picture_rgb.shape[:2]
    reach = face_width(face)
    centre = (face.points[234, :2] + face.points[454, :2]) / 2
    aside, above, below = (value * reach for value in _REACH)
    left, right = (int(np.clip(value, 0, width)) for value in (centre[0] - aside, centre[0] + aside))
    top, bottom = (int(np.clip(value, 0, height)) for value in (centre[1] - above, centre[1] + below))
    right, bottom = max(right, left + 1), max(bottom, top + 1)
    window = np.ascontiguousarray(picture_rgb[top:bottom, left:right])
    rgb, scale = bounded(window, HEAD_SIDE_PX)
    size = (rgb.shape[1], rgb.shape[0])
    coarse = np.asarray(cv2.resize(segmenter.coarse(rgb), size, interpolation=cv2.INTER_LINEAR), np.float32)
    is_near = window.shape[0] * window.shape[1] < _WHOLE * height * width
    if not is_near:
        own = np.asarray(cv2.resize(matte[top:bottom, left:right], size, interpolation=cv2.INTER_AREA), np.float32)
    else:
        own = segmenter.matte(rgb)
    likely = np.maximum(own, coarse)
    if pose is not None:
        outline = cv2.resize(pose.person(width, height)[top:bottom, left:right], size, interpolation=cv2.INTER_AREA)
        if not is_alone:
            gap = int(_OTHERS_GAP * reach * scale) | 1
            ours = cv2.GaussianBlur(cv2.dilate(outline, np.ones((gap, gap), np.uint8)), (gap, gap), 0)
            likely, own = likely * ours, np.asarray(own * ours, np.float32)
        likely = np.maximum(likely, _OUTLINE_TRUST * outline)
    points = face.points.copy()
    points[:, :2] = (points[:, :2] - (left, top) + 0.5) * scale - 0.5
    points[:, 2] *= scale
    return HeadView(
        left=left,
        top=top,
        width=right - left,
        height=bottom - top,
        scale=scale,
        rgb=rgb,
        face=replace(face, points=points.astype(np.float32)),
        matte=own,
        is_near=is_near,
        likely=np.asarray(likely, np.float32),
    )
