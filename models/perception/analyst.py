"""Looks at a picture once and says all that previews need to know of it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from models.perception.body import BodyAnalysis
from models.perception.bounded import bounded
from models.perception.clothing import ClothingMask, no_clothing
from models.perception.dressed import skin_and_clothing
from models.perception.face import FaceBox, FaceLandmarks
from models.perception.face_frame import face_width, rise
from models.perception.faces import FaceFinder, choose_face
from models.perception.hair import HairMask, hair_mask
from models.perception.head import HeadView, head_view
from models.perception.person import PersonSegmenter
from models.perception.portrait import PortraitAnalysis
from models.perception.pose import BodyPoint, BodyPose, PoseFinder
from models.perception.skin import SkinMask, no_skin
from services.domain.errors import ContentRejected

Picture = NDArray[np.uint8]
Mask = NDArray[np.float32]

WORKING_SIDE_PX: Final = 2560
"""Larger pictures are analysed at this long side: the masks of a 16-megapixel picture would take half a gigabyte."""

_HIPS_SEEN: Final = 0.7  # visibility from which the pose's outline is that of a body, and not a guess from a close-up
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

    def portrait(
        self, picture_rgb: Picture, *, face: int | None = None, with_clothes: bool = True, param: str = "model"
    ) -> PortraitAnalysis:
        """What the picture (uint8 (height, width, 3), upright) shows of one face.

        Args:
            picture_rgb: The picture.
            face: Index of the face from the left; None takes the largest.
            with_clothes: Whether to tell skin and clothes; two fifths of the time.
            param: The request's field that named the picture, for messages.

        Raises:
            ContentRejected: ``face_not_found``, ``face_index`` or ``face_too_small``.
        """
        seen = self._look(picture_rgb)
        index = choose_face(seen.faces, face, param=param)
        landmarks = self._faces.landmarks(seen.rgb, seen.faces[index])
        pose = self._poses.find(seen.rgb, seen.faces[index])
        matte, person = self._mattes(seen, pose, index)
        view = self._head(seen, matte, landmarks, pose)
        hair = _in_steps(hair_mask(seen.rgb, view))
        is_alone = len(seen.faces) == 1
        person = _with_head(person, view)
        skin, clothing = _dressed(seen, person, pose, landmarks, hair) if with_clothes else (None, None)
        return PortraitAnalysis(
            rgb=seen.rgb,
            scale=seen.scale,
            faces=tuple(seen.faces),
            face_index=index,
            face=landmarks,
            matte=_rounded(person if is_alone else matte),
            person=_rounded(person),
            person_confidence=_decided(person),
            hair=hair,
            pose=pose,
            skin=skin,
            clothing=clothing,
        )

    def body(
        self, picture_rgb: Picture, *, face: int | None = None, with_hair: bool = True, param: str = "model"
    ) -> BodyAnalysis:
        """What the picture (uint8 (height, width, 3), upright) shows of one person.

        Args:
            picture_rgb: The picture.
            face: Index of the person's face from the left; None takes the largest face, or without any the largest
                body.
            with_hair: Whether to tell hair from clothes; a third of the time.
            param: The request's field that named the picture, for messages.

        Raises:
            ContentRejected: ``face_not_found`` or ``face_index`` when a face was asked for that is not there,
                ``pose_not_usable`` when no body is found.
        """
        seen = self._look(picture_rgb)
        index: int | None = None
        if face is not None:
            index = choose_face(seen.faces, face, param=param)
        elif seen.faces:
            index = max(range(len(seen.faces)), key=lambda i: seen.faces[i].width * seen.faces[i].height)
        pose = self._poses.find(seen.rgb, None if index is None else seen.faces[index])
        if pose is None:
            raise ContentRejected(
                "No body was found in the picture; use one in which the person stands free, from the head to the hips "
                "at least.",
                code="pose_not_usable",
                param=param,
            )
        landmarks = None if index is None else self._faces.landmarks(seen.rgb, seen.faces[index])
        matte, person = self._mattes(seen, pose, index)
        hair = None
        if with_hair and landmarks is not None:
            view = self._head(seen, matte, landmarks, pose)
            hair = _in_steps(hair_mask(seen.rgb, view))
            person = _with_head(person, view)
        is_alone = len(seen.faces) == (index is not None)
        skin, clothing = _dressed(seen, person, pose, landmarks, hair)
        return BodyAnalysis(
            rgb=seen.rgb,
            scale=seen.scale,
            faces=tuple(seen.faces),
            face_index=index,
            face=landmarks,
            matte=_rounded(person if is_alone else matte),
            person=_rounded(person),
            person_confidence=_decided(person),
            pose=pose,
            skin=skin,
            clothing=clothing,
            hair=hair,
        )

    def _look(self, picture_rgb: Picture) -> _Seen:
        rgb, scale = bounded(picture_rgb, WORKING_SIDE_PX)
        return _Seen(rgb=rgb, scale=scale, faces=self._faces.find(rgb))

    def _mattes(self, seen: _Seen, pose: BodyPose | None, index: int | None) -> tuple[Mask, Mask]:
        """Everybody, and the chosen person alone."""
        is_alone = len(seen.faces) == (index is not None)
        if pose is None or not pose.sees(BodyPoint.LEFT_HIP, BodyPoint.RIGHT_HIP, at_least=_HIPS_SEEN):
            matte = self._segmenter.matte(seen.rgb)
            return matte, matte if is_alone else _own(matte, pose, seen.faces, index)
        outline = pose.person(seen.rgb.shape[1], seen.rgb.shape[0])
        person = self._segmenter.matte(seen.rgb, outline=outline)
        return person if is_alone else np.maximum(self._segmenter.matte(seen.rgb), person), person

    def _head(self, seen: _Seen, matte: Mask, face: FaceLandmarks, pose: BodyPose | None) -> HeadView:
        is_alone = len(seen.faces) == 1
        return head_view(seen.rgb, face, self._segmenter, matte=matte, pose=pose, is_alone=is_alone)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    rgb: Picture
    scale: float
    faces: list[FaceBox]


@cache
def shared_analyst() -> Analyst:
    """One set of networks for the process."""
    return Analyst()


def _dressed(
    seen: _Seen, person: Mask, pose: BodyPose | None, face: FaceLandmarks | None, hair: HairMask | None
) -> tuple[SkinMask, ClothingMask]:
    if pose is None:
        nothing = np.zeros_like(person)
        return no_skin(nothing), no_clothing(nothing)
    covered = hair.mask if hair is not None else None
    skin, clothing = skin_and_clothing(seen.rgb, person=person, pose=pose, face=face, hair=covered)
    return _in_steps(skin), _in_steps(clothing)


def _with_head(person: Mask, view: HeadView) -> Mask:
    """The matte with the head as it looks from near: sharper where the head is a small part of the picture.

    Round the head the near look counts alone; towards the window's lower and outer borders it fades out.
    """
    import cv2

    if not view.is_near:
        return person
    height, width = view.matte.shape
    rows, columns = np.mgrid[:height, :width].astype(np.float32)
    x, y = view.face.points[1, :2]
    reach = 1.4 * face_width(view.face)
    near = 1 - rise(np.hypot(columns - x, 0.8 * (rows - y)) / reach, 0.8, 1.15)
    size = (view.width, view.height)
    weight, own = (cv2.resize(part, size, interpolation=cv2.INTER_LINEAR) for part in (near, view.matte))
    merged = person.copy()
    window = np.asarray(view.window(person), np.float32)
    view.window(merged)[:] = window + weight * (own - window)
    return merged


_Masks = TypeVar("_Masks", HairMask, SkinMask, ClothingMask)


def _in_steps(masks: _Masks) -> _Masks:
    values: dict[str, Any] = {field.name: getattr(masks, field.name) for field in fields(masks)}
    steps = {name: _rounded(value) if isinstance(value, np.ndarray) else value for name, value in values.items()}
    kind: Any = type(masks)
    rounded: _Masks = kind(**steps)
    return rounded


def _rounded(mask: Mask) -> Mask:
    """The mask in steps of 1/255: what a cache keeps is then exactly what was first computed."""
    return np.asarray(np.rint(mask * 255) / np.float32(255), np.float32)


def _decided(mask: Mask) -> float:
    """How sure a mask is of its own area: 1 when nothing lies between yes and no, 0 when all of it does or none is."""
    area = float(mask.sum())
    if area < 1:
        return 0.0
    doubt = float(np.minimum(mask, 1 - mask).sum())
    return float(np.clip(1 - 2 * doubt / area, 0, 1))


def _own(matte: Mask, pose: BodyPose | None, faces: list[FaceBox], index: int | None) -> Mask:
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
