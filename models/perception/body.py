"""All that is known about a person in a picture: body, mattes, skin, clothes, and face and hair where found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.perception.clothing import ClothingMask
from models.perception.face import FaceBox, FaceLandmarks
from models.perception.hair import HairMask
from models.perception.pose import BodyPose
from models.perception.skin import SkinMask


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyAnalysis:
    """What a picture shows of one person. All masks are float32 (height, width) of ``rgb``, in steps of 1/255.

    Attributes:
        rgb: uint8 (height, width, 3), the picture, upright, its long side 2560 at most.
        scale: Size of ``rgb`` relative to the picture that was given, 1 or less.
        faces: All faces from left to right, in pixels of ``rgb``; empty for a person seen from behind.
        face_index: Which of ``faces`` is this person's, None without a face.
        face: Its landmarks and head pose, None without a face.
        matte: Everybody in the picture.
        person: The chosen one alone; ``matte`` itself when nobody else is there.
        person_confidence: How decided ``person`` is, 0 to 1.
        pose: The body; ``pose.confidence``.
        skin: ``skin.confidence``.
        clothing: ``clothing.confidence``.
        hair: None when it was not asked for or there is no face; ``hair.confidence``.
    """

    rgb: NDArray[np.uint8]
    scale: float
    faces: tuple[FaceBox, ...]
    face_index: int | None
    face: FaceLandmarks | None
    matte: NDArray[np.float32]
    person: NDArray[np.float32]
    person_confidence: float
    pose: BodyPose
    skin: SkinMask
    clothing: ClothingMask
    hair: HairMask | None
