"""Looks at a picture once and says all that previews need to know of it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.perception.bounded import bounded
from models.perception.face import FaceBox
from models.perception.faces import FaceFinder, choose_face
from models.perception.hair import hair_mask
from models.perception.head import head_view
from models.perception.person import PersonSegmenter
from models.perception.portrait import PortraitAnalysis
from models.perception.pose import BodyPose, PoseFinder

Picture = NDArray[np.uint8]
Mask = NDArray[np.float32]

WORKING_SIDE_PX: Final = 2560
"""Larger pictures are analysed at this long side: the masks of a 16-megapixel picture would take half a gigabyte."""

_GAP: Final = 0.2  # shoulder widths round a person's outline in which pixels are still theirs and not a neighbour's


class Analyst:
    """Analyses pictures; holds the networks, so make one and keep it. Not safe to share between threads.

    Raises:
        Unavailable: ``weights_missing``.
    """

    def __init__(self) -> None:
        self._faces = FaceFinder()
        self._segmenter = PersonSegmenter()
        self._poses = PoseFinder()

    def portrait(self, picture_rgb: Picture, *, face: int | None = None, param: str = "model") -> PortraitAnalysis:
        """What the picture (uint8 (height, width, 3), upright) shows of one face.

        Args:
            picture_rgb: The picture.
            face: Index of the face from the left; None takes the largest.
            param: The request's field that named the picture, for messages.

        Raises:
            ContentRejected: ``face_not_found``, ``face_index`` or ``face_too_small``.
        """
        rgb, scale = bounded(picture_rgb, WORKING_SIDE_PX)
        faces = self._faces.find(rgb)
        index = choose_face(faces, face, param=param)
        is_alone = len(faces) == 1
        landmarks = self._faces.landmarks(rgb, faces[index])
        matte = self._segmenter.matte(rgb)
        pose = self._poses.find(rgb, faces[index])
        view = head_view(rgb, landmarks, self._segmenter, matte=matte, pose=pose, is_alone=is_alone)
        hair = hair_mask(rgb, view)
        person = matte if is_alone else _own(matte, pose, faces, index)
        return PortraitAnalysis(
            rgb=rgb,
            scale=scale,
            faces=tuple(faces),
            face_index=index,
            face=landmarks,
            matte=rounded(matte),
            person=rounded(person),
            person_confidence=decided(person),
            hair=replace(hair, mask=rounded(hair.mask)),
            pose=pose,
        )


@cache
def shared_analyst() -> Analyst:
    """One set of networks for the process."""
    return Analyst()


def rounded(mask: Mask) -> Mask:
    """The mask in steps of 1/255: what a cache keeps is then exactly what was first computed."""
    return np.asarray(np.rint(mask * 255) / np.float32(255), np.float32)


def decided(mask: Mask) -> float:
    """How sure a mask is of its own area: 1 when nothing lies between yes and no, 0 when all of it does or none is."""
    area = float(mask.sum())
    if area < 1:
        return 0.0
    doubt = float(np.minimum(mask, 1 - mask).sum())
    return float(np.clip(1 - 2 * doubt / area, 0, 1))


def _own(matte: Mask, pose: BodyPose | None, faces: list[FaceBox], index: int) -> Mask:
    """The chosen person's share of the matte: by the body's outline, else by which face is nearest."""
    import cv2

    height, width = matte.shape
    if pose is not None:
        gap = int(_GAP * max(pose.shoulder_width, 8)) | 1
        scale = min(1.0, 512 / max(height, width))
        size = (max(1, round(width * scale)), max(1, round(height * scale)))
        gap = max(3, int(gap * scale) | 1)
        outline = cv2.resize(pose.person(width, height), size, interpolation=cv2.INTER_AREA)
        outline = cv2.GaussianBlur(cv2.dilate(outline, np.ones((gap, gap), np.uint8)), (gap, gap), 0)
        return np.asarray(matte * cv2.resize(outline, (width, height)), np.float32)
    centres = np.array([box.left + box.width / 2 for box in faces])
    nearest = np.abs(np.arange(width)[:, None] - centres).argmin(1) == index
    return np.asarray(matte * nearest, np.float32)
