"""All that is known about a portrait: who, where, which pixels are theirs, and which of those are hair or skin."""

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
class PortraitAnalysis:
    """What a portrait shows. All masks are float32 (height, width) of ``rgb``, 0 to 1, in steps of 1/255.

    Attributes:
        rgb: uint8 (height, width, 3), the picture, upright, its long side 2560 at most.
        scale: Size of ``rgb`` relative to the picture that was given, 1 or less.
        faces: All faces from left to right, in pixels of ``rgb``.
        face_index: Which of ``faces`` is analysed.
        face: Its landmarks and head pose; ``face.confidence``.
        matte: Everybody in the picture.
        person: The chosen one alone; ``matte`` itself when nobody else is there.
        person_confidence: How decided ``person`` is, 0 to 1.
        hair: The sitter's own; ``hair.confidence``.
        pose: The body, None where too little of it is seen; ``pose.confidence``.
        skin: ``skin.confidence``; empty and 0 without a pose; None where it was not asked for.
        clothing: ``clothing.confidence``; empty and 0 without a pose; None where it was not asked for.
    """

    rgb: NDArray[np.uint8]
    scale: float
    faces: tuple[FaceBox, ...]
    face_index: int
    face: FaceLandmarks
    matte: NDArray[np.float32]
    person: NDArray[np.float32]
    person_confidence: float
    hair: HairMask
    pose: BodyPose | None
    skin: SkinMask | None
    clothing: ClothingMask | None
