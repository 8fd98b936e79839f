"""Who or what a picture shows: its matte, and of a person the face, head and body."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.imaging.fringe import sharpened
from models.perception.analyst import Analyst, shared_analyst
from models.perception.edges import fit
from models.perception.face import FaceLandmarks
from models.perception.person import person_matte
from models.perception.portrait import PortraitAnalysis
from models.perception.pose import BodyPoint, BodyPose, body_pose
from services.domain.errors import ContentRejected

Picture = NDArray[np.uint8]
Matte = NDArray[np.float32]

_MIN_PERSON: Final = 0.02  # of the picture, that the network is sure of: less is a plant or a lamp
_MIN_SEEN: Final = 0.003
_SEEN: Final = 0.5
# How far a product's colours are from its background's, in deviations, so that its outline is no guess: on an even
# background, where the person network sees something too, and elsewhere.
_CONTRAST_PLAIN: Final = 3.0
_CONTRAST_LIKELY: Final = 2.0
_CONTRAST: Final = 5.0
_SMALL_HEAD: Final = 0.14  # face width in long sides up to which the head is looked at again from near
_HEAD_REACH: Final = 2.6  # face widths
_SURE_POSE: Final = 0.7
_LIMBS_SIDE_PX: Final = 1024
_LIMB_GAP: Final = 0.22  # shoulder widths beyond the body's outline that clothes and bags may take
_SPECK: Final = 0.15
_SURE_HAIR: Final = 0.9
_SOLID: Final = 0.6
_HAZE: Final = 0.01  # of the long side
_TOUCH: Final = 0.006  # of the side: a subject this near to the frame is cut by it


class SubjectKind(StrEnum):
    PERSON = "person"
    PRODUCT = "product"  # also a person of whom no face is seen before an even background


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """Pixels from ``left`` up to but not including ``right``, as fractions of pixels."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def height(self) -> float:
        return self.bottom - self.top

    def scaled(self, factor: float) -> Box:
        return Box(
            left=self.left * factor, top=self.top * factor, right=self.right * factor, bottom=self.bottom * factor
        )

    def grown(self, left: float, top: float, right: float, bottom: float) -> Box:
        return Box(left=self.left - left, top=self.top - top, right=self.right + right, bottom=self.bottom + bottom)

    def union(self, other: Box) -> Box:
        return Box(
            left=min(self.left, other.left),
            top=min(self.top, other.top),
            right=max(self.right, other.right),
            bottom=max(self.bottom, other.bottom),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What the tools work on, in pixels of the picture as it is now.

    Attributes:
        kind: A person, or anything else that stands out.
        matte: float32 (height, width), 0 to 1.
        box: Of the matte; empty when nothing stands out.
        face: None without a face in the picture.
        head: Face and hair; None without a face.
        hair: float32 (height, width), None without a face.
    """

    kind: SubjectKind
    matte: Matte
    box: Box
    face: FaceLandmarks | None = None
    head: Box | None = None
    hair: Matte | None = field(default=None, repr=False)

    def require_matte(self) -> None:
        """Raises:
        ContentRejected: ``subject_not_found``: nothing stands out from its background.
        """
        if self.box.height <= 0:
            raise ContentRejected(
                "Nobody and nothing in the picture stands out from its background. Use one in which the person or "
                "product is whole, in focus and in front of an even background.",
                code="subject_not_found",
                param="image",
            )

    def cut_sides(self) -> tuple[bool, bool, bool, bool]:
        """Whether the frame cuts the subject at the left, top, right and bottom."""
        height, width = self.matte.shape
        near_x, near_y = max(1.0, _TOUCH * width), max(1.0, _TOUCH * height)
        return (
            self.box.left <= near_x,
            self.box.top <= near_y,
            self.box.right >= width - near_x,
            self.box.bottom >= height - near_y,
        )

    def resized(self, width: int, height: int, matte: Matte | None = None) -> Subject:
        """The same in a picture of another size and the same shape; ``matte`` if it is known better already."""
        import cv2

        factor = width / self.matte.shape[1]

        def enlarged(mask: Matte) -> Matte:
            method = cv2.INTER_AREA if factor < 1 else cv2.INTER_CUBIC
            return np.clip(np.asarray(cv2.resize(mask, (width, height), interpolation=method), np.float32), 0, 1)

        return replace(
            self,
            matte=enlarged(self.matte) if matte is None else matte,
            box=self.box.scaled(factor),
            face=None if self.face is None else scaled_face(self.face, factor),
            head=None if self.head is None else self.head.scaled(factor),
            hair=None if self.hair is None else enlarged(self.hair),
        )


def scaled_face(face: FaceLandmarks, factor: float) -> FaceLandmarks:
    """The landmarks in a picture ``factor`` times the size; pixel centres stay where they are."""
    if factor == 1:
        return face
    points = face.points * np.float32(factor)
    points[:, :2] += np.float32((factor - 1) / 2)
    return replace(face, points=points)


def find_subject(
    rgb: Picture,
    alpha: NDArray[np.uint8] | None = None,
    *,
    face: int | None = None,
    needs_face: bool = False,
    analyze: Callable[..., PortraitAnalysis] | None = None,
) -> Subject:
    """What ``rgb`` (uint8 (height, width, 3), upright) shows: a person if there is one, else a product.

    Args:
        rgb: The picture.
        alpha: uint8 (height, width), the file's own transparency; it is the matte then.
        face: Index of the face from the left; None takes the largest.
        needs_face: A picture without one is refused.
        analyze: ``Analyst.portrait``, or a cache's.

    Raises:
        ContentRejected: ``face_not_found``, ``face_index``, ``face_too_small``; all only when a face is needed or
            ``face`` is given.
    """
    analyze = analyze or partial(_analyst().portrait, with_clothes=False)
    try:
        analysis: PortraitAnalysis | None = analyze(rgb, face=face, param="image")
    except ContentRejected as error:
        if needs_face or face is not None or error.code not in ("face_not_found", "face_too_small"):
            raise
        analysis = None
    if analysis is not None:
        return _person(rgb, alpha, analysis, is_alone=face is not None or len(analysis.faces) == 1)
    if alpha is not None:
        return subject_of(np.divide(alpha, 255, dtype=np.float32), SubjectKind.PRODUCT)
    return _faceless(rgb)


def _faceless(rgb: Picture) -> Subject:
    """A product, or somebody seen from behind. The person network takes jackets for people, so products come first."""
    from models.tryon.garment.mask import find_garment

    found = find_garment(rgb)
    person = person_matte(rgb)
    looks_human = float((person > 0.95).mean()) >= _MIN_PERSON
    pose = body_pose(rgb) if looks_human and not found.plain else None
    if pose is not None and pose.confidence >= _SURE_POSE:
        matte = without_specks(sharpened(rgb, _with_limbs(rgb, person, pose)))
        return subject_of(matte, SubjectKind.PERSON)
    least = _CONTRAST_PLAIN if found.plain else _CONTRAST_LIKELY if looks_human else _CONTRAST
    if found.contrast < least:
        return subject_of(np.zeros(rgb.shape[:2], np.float32), SubjectKind.PRODUCT)
    soft = _softened(found.mask)
    # White on white has no colours to tell the edge by; the mask's own is better.
    return subject_of(soft if found.faint else sharpened(rgb, soft), SubjectKind.PRODUCT)


def _analyst() -> Analyst:
    return shared_analyst()


def _person(rgb: Picture, alpha: NDArray[np.uint8] | None, analysis: PortraitAnalysis, *, is_alone: bool) -> Subject:
    """``is_alone``: only the analysed person counts, not everybody."""
    import cv2

    height, width = rgb.shape[:2]

    def whole(mask: Matte) -> Matte:
        if mask.shape == (height, width):
            return mask
        return np.asarray(cv2.resize(mask, (width, height), interpolation=cv2.INTER_LINEAR), np.float32)

    hair = whole(analysis.hair.mask)
    if alpha is not None:
        matte = np.divide(alpha, 255, dtype=np.float32)
    else:
        coarse = analysis.person if is_alone else analysis.matte
        if is_alone and analysis.pose is not None:
            coarse = _with_limbs(analysis.rgb, coarse, analysis.pose)
        rough = _with_closer_head(rgb, whole(coarse), analysis)
        matte = sharpened(rgb, rough)
        # Dark hair before a dark wall has no colour of its own: where both masks are sure of it, it stays.
        matte = without_specks(np.where((hair > _SURE_HAIR) & (rough > _SURE_HAIR), np.maximum(matte, rough), matte))
    face = scaled_face(analysis.face, width / analysis.rgb.shape[1])
    subject = subject_of(matte, SubjectKind.PERSON)
    return replace(subject, face=face, hair=hair, head=head_box(face, hair, matte))


def _with_limbs(rgb: Picture, matte: Matte, pose: BodyPose) -> Matte:
    """The matte with what the body's own outline knows better: hands and feet, and what is none of the body."""
    import cv2

    height, width = matte.shape
    shoulders = pose.shoulder_width
    if pose.confidence < _SURE_POSE or shoulders < 16:
        return matte
    scale = min(1.0, _LIMBS_SIDE_PX / max(height, width))
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    outline = np.asarray(cv2.resize(pose.person(width, height), size, interpolation=cv2.INTER_AREA), np.float32)
    small = cv2.resize(matte, size, interpolation=cv2.INTER_AREA)
    guide = np.divide(cv2.resize(rgb, size, interpolation=cv2.INTER_AREA), 255, dtype=np.float32)
    certain = np.clip((outline - 0.5) / 0.35, 0, 1)
    limbs = fit(guide, np.asarray(certain, np.float32), radius=max(2, round(0.05 * shoulders * scale)), epsilon=2e-4)
    gap = max(3, round(_LIMB_GAP * shoulders * scale)) | 1
    around = cv2.dilate((outline > 0.3).astype(np.float32), cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (gap, gap)))
    around = cv2.GaussianBlur(around, (0, 0), gap / 6)
    # Hair flies farther than the outline knows, and the head is looked at from near anyhow.
    rows = np.arange(size[1], dtype=np.float32)[:, None]
    below = float(pose.points[[BodyPoint.LEFT_SHOULDER, BodyPoint.RIGHT_SHOULDER], 1].mean()) * scale
    body = np.clip((rows - below) / (0.3 * shoulders * scale) + 0.5, 0, 1)
    inside = 1 - body * (1 - around)
    added = np.clip((limbs.at(np.asarray(np.rint(guide * 255), np.uint8)) - 0.15) / 0.7, 0, 1) * body
    better = np.clip(np.maximum(small, added) * inside, 0, 1)
    change = np.asarray(cv2.resize(better - small, (width, height), interpolation=cv2.INTER_LINEAR), np.float32)
    return np.asarray(np.clip(matte + change, 0, 1), np.float32)


def without_specks(matte: Matte) -> Matte:
    """The matte without small parts that hang on nothing, and without haze farther from the solid than hair flies."""
    import cv2

    num_parts, labels, stats, _ = cv2.connectedComponentsWithStats((matte > _SPECK).astype(np.uint8), connectivity=8)
    if num_parts >= 3:
        areas = stats[1:, cv2.CC_STAT_AREA]
        small = 1 + np.flatnonzero(areas < 0.02 * areas.max())
        matte = np.where(np.isin(labels, small), np.float32(0), matte)
    solid = (matte > _SOLID).astype(np.uint8)
    if not solid.any():
        return matte
    reach = _HAZE * max(matte.shape)
    away = cv2.distanceTransform(1 - solid, cv2.DIST_L2, cv2.DIST_MASK_3)
    return np.asarray(matte * np.clip(2 - away / reach, 0, 1), np.float32)


def _with_closer_head(rgb: Picture, matte: Matte, analysis: PortraitAnalysis) -> Matte:
    """The matte with the head looked at from near where it is a small part of the picture; edges fade into the rest."""
    import cv2

    height, width = matte.shape
    face = scaled_face(analysis.face, width / analysis.rgb.shape[1])
    if face.width > _SMALL_HEAD * max(height, width):
        return matte
    centre = (face.points[234, :2] + face.points[454, :2]) / 2
    reach = _HEAD_REACH * face.width
    left, right = (int(np.clip(centre[0] + step, 0, width)) for step in (-reach, reach))
    top, bottom = (int(np.clip(centre[1] + step, 0, height)) for step in (-0.9 * reach, 1.1 * reach))
    where = np.s_[top:bottom, left:right]
    near = person_matte(np.ascontiguousarray(rgb[where]))
    if len(analysis.faces) > 1:
        gap = max(3, round(0.15 * face.width)) | 1
        near = np.minimum(near, cv2.dilate(matte[where], np.ones((gap, gap), np.uint8)))
    rows, columns = np.mgrid[top:bottom, left:right].astype(np.float32)
    away = np.hypot(columns - centre[0], rows - (centre[1] - 0.1 * reach)) / reach
    weight = np.clip((0.85 - away) / 0.25, 0, 1)
    result = matte.copy()
    result[where] += weight * (near - result[where])
    return result


def head_box(face: FaceLandmarks, hair: Matte, matte: Matte) -> Box:
    """Face, skull and the hair on and beside it, down to the chin."""
    points = face.points[:, :2]
    low, high = points.min(0), points.max(0)
    face_height = float(high[1] - low[1])
    box = Box(left=float(low[0]), top=float(low[1]) - 0.28 * face_height, right=float(high[0]), bottom=float(high[1]))
    rows, columns = np.nonzero((hair > _SEEN) & (matte > _SEEN))
    beside = (rows < high[1]) & (np.abs(columns - (low[0] + high[0]) / 2) < 2.2 * (high[0] - low[0]))
    rows, columns = rows[beside], columns[beside]
    if len(rows) > 50:
        # A few stray hairs, or mistakes of the mask, are not where the head ends.
        left, right = np.percentile(columns, (0.5, 99.5))
        box = box.union(
            Box(left=float(left), top=float(np.percentile(rows, 0.3)), right=float(right), bottom=box.bottom)
        )
    height, width = matte.shape
    return Box(
        left=max(0.0, box.left), top=max(0.0, box.top), right=min(width, box.right), bottom=min(height, box.bottom)
    )


def subject_of(matte: Matte, kind: SubjectKind) -> Subject:
    """What a matte alone says of its subject; an empty one where next to nothing stands out."""
    seen = matte > _SEEN
    if float(seen.mean()) < _MIN_SEEN:
        return Subject(kind=kind, matte=np.zeros_like(matte), box=Box(left=0, top=0, right=0, bottom=0))
    rows, columns = np.flatnonzero(seen.any(axis=1)), np.flatnonzero(seen.any(axis=0))
    box = Box(left=float(columns[0]), top=float(rows[0]), right=float(columns[-1] + 1), bottom=float(rows[-1] + 1))
    return Subject(kind=kind, matte=matte, box=box)


def _softened(mask: NDArray[np.bool_]) -> Matte:
    import cv2

    return np.asarray(cv2.GaussianBlur(mask.astype(np.float32), (0, 0), 1.0), np.float32)
