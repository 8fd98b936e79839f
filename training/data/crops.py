"""Which part of a picture is trained on: all of it, the face or the garment, in the shape of a bucket."""

from __future__ import annotations

import threading
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from training.data.findings import Fault, Outcome
from training.data.pictures import OpenedPicture, Tell

Picture = NDArray[np.uint8]
Box = tuple[float, float, float, float]
"""Left, top, width, height in pixels."""

_HEAD_AND_SHOULDERS: Final = 2.3  # sides of the face's box, from forehead to chin
_BELOW_MIDDLE: Final = 0.12  # of that: hair needs less room above than shoulders below
_GARMENT_MARGIN: Final = 0.06
_MIN_GARMENT: Final = 0.01  # of the picture
_EMPTY_MASK: Final = 0.01  # of the crop
_MIN_CONTRAST: Final = 2.0  # deviations: below it the garment's mask is a guess


class Subject(StrEnum):
    """What a crop is made round."""

    NONE = "none"
    FACE = "face"
    GARMENT = "garment"


class MaskFrom(StrEnum):
    """What the loss is bound to."""

    NONE = "none"
    FILES = "files"  # NAME.mask.png beside the picture, white where the loss counts
    TRANSPARENCY = "transparency"
    PERSON = "person"
    GARMENT = "garment"


class SubjectFinder:
    """Finds what a crop is made round. May be shared between threads: each gets networks of its own."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._local = threading.local()

    def box(self, picture: OpenedPicture, tell: Tell) -> Box | None:
        """The subject's box, the whole picture where none is asked for, None when it is not found.

        Raises:
            Unavailable: ``weights_missing``.
        """
        height, width = picture.rgb.shape[:2]
        match self._subject:
            case Subject.FACE:
                return self._face(picture.rgb, tell)
            case Subject.GARMENT:
                return _garment(picture.rgb, tell)
        return (0.0, 0.0, float(width), float(height))

    def _face(self, rgb: Picture, tell: Tell) -> Box | None:
        from models.perception.faces import FaceFinder

        if not hasattr(self._local, "faces"):
            self._local.faces = FaceFinder()
        found = self._local.faces.find(rgb)
        if not found:
            tell(Fault.FACE_NOT_FOUND, Outcome.LEFT_OUT, "No face was found to crop round.")
            return None
        if len(found) > 1:
            tell(Fault.SEVERAL_FACES, Outcome.NOTED, f"{len(found)} faces: the crop is round the largest.")
        face = max(found, key=lambda box: box.width * box.height)
        side = _HEAD_AND_SHOULDERS * max(face.width, face.height)
        left = face.left + face.width / 2 - side / 2
        top = face.top + face.height / 2 - side * (0.5 - _BELOW_MIDDLE)
        return within((left, top, side, side), rgb.shape[1], rgb.shape[0])


def _garment(rgb: Picture, tell: Tell) -> Box | None:
    from models.tryon.garment.mask import find_garment

    found = find_garment(rgb)
    rows, columns = np.flatnonzero(found.mask.any(axis=1)), np.flatnonzero(found.mask.any(axis=0))
    if found.contrast < _MIN_CONTRAST or found.mask.mean() < _MIN_GARMENT:
        tell(Fault.GARMENT_NOT_FOUND, Outcome.LEFT_OUT, "No garment stands out clearly from what is behind it.")
        return None
    width, height = float(np.ptp(columns)) + 1, float(np.ptp(rows)) + 1
    margin = _GARMENT_MARGIN * max(width, height)
    box = (columns[0] - margin, rows[0] - margin, width + 2 * margin, height + 2 * margin)
    return _cut((float(box[0]), float(box[1]), float(box[2]), float(box[3])), rgb.shape[1], rgb.shape[0])


def within(box: Box, width: int, height: int) -> Box:
    """The box moved into a picture, smaller only where it is larger than the picture."""
    left, top, wide, tall = box
    wide, tall = min(wide, width), min(tall, height)
    return (min(max(left, 0.0), width - wide), min(max(top, 0.0), height - tall), wide, tall)


def fitted(box: Box, size: tuple[int, int], bucket: tuple[int, int]) -> tuple[int, int, int, int]:
    """The crop of a bucket's shape for ``box``, whole pixels: left, top, width, height.

    It is the box made wider or taller about its middle, as the picture has room; where it has none, the box is cut
    equally on both sides. Nothing is ever stretched by more than the rounding to whole pixels.

    Args:
        size: Width and height of the picture.
        bucket: Width and height of the bucket.
    """
    left, top, wide, tall = box
    ratio = bucket[0] / bucket[1]
    grown_wide, grown_tall = max(wide, tall * ratio), max(tall, wide / ratio)
    shrink = min(1.0, size[0] / grown_wide, size[1] / grown_tall)
    crop_wide, crop_tall = grown_wide * shrink, grown_tall * shrink
    middle = (left + wide / 2 - crop_wide / 2, top + tall / 2 - crop_tall / 2, crop_wide, crop_tall)
    x, y, width, height = within(middle, *size)
    whole_width, whole_height = max(1, min(size[0], round(width))), max(1, min(size[1], round(height)))
    return (
        min(round(x), size[0] - whole_width),
        min(round(y), size[1] - whole_height),
        whole_width,
        whole_height,
    )


def resized(pixels: Picture, crop: tuple[int, int, int, int], bucket: tuple[int, int]) -> Picture:
    """The crop of ``pixels`` (uint8, (h, w, 3) or (h, w)) at the bucket's size; area means down, Lanczos up."""
    import cv2

    left, top, width, height = crop
    part = pixels[top : top + height, left : left + width]
    if (width, height) == bucket:
        return np.ascontiguousarray(part)
    smaller = width >= bucket[0] and height >= bucket[1]
    mode = cv2.INTER_AREA if smaller else cv2.INTER_LANCZOS4
    return np.asarray(cv2.resize(part, bucket, interpolation=mode), np.uint8)


class LossMasks:
    """Says where the loss counts. May be shared between threads: each gets networks of its own."""

    def __init__(self, kind: MaskFrom) -> None:
        self._kind = kind
        self._local = threading.local()

    def mask(
        self, picture: OpenedPicture, crop: tuple[int, int, int, int], beside: bytes | None, tell: Tell
    ) -> Picture | None:
        """uint8 (h, w) of the crop, 255 where the loss counts; None for everywhere.

        Args:
            beside: The mask's own file.

        Raises:
            Unavailable: ``weights_missing``.
        """
        left, top, width, height = crop
        rows, columns = slice(top, top + height), slice(left, left + width)
        found: Picture | None = None
        match self._kind:
            case MaskFrom.FILES if beside is not None:
                whole = _mask_file(beside, picture, tell)
                found = None if whole is None else whole[rows, columns]
            case MaskFrom.TRANSPARENCY if picture.alpha is not None:
                found = picture.alpha[rows, columns]
            case MaskFrom.PERSON:
                found = self._person(np.ascontiguousarray(picture.rgb[rows, columns]))
            case MaskFrom.GARMENT:
                from models.tryon.garment.mask import find_garment

                found = find_garment(picture.rgb).mask[rows, columns].astype(np.uint8) * np.uint8(255)
        if found is not None and found.mean() < _EMPTY_MASK * 255:
            tell(Fault.MASK_EMPTY, Outcome.MENDED, "Its mask leaves nothing to train on: the loss counts everywhere.")
            return None
        return found

    def _person(self, rgb: Picture) -> Picture:
        from models.perception.person import PersonSegmenter

        if not hasattr(self._local, "people"):
            self._local.people = PersonSegmenter()
        return np.asarray(np.round(self._local.people.matte(rgb) * 255), np.uint8)


def _mask_file(data: bytes, picture: OpenedPicture, tell: Tell) -> Picture | None:
    import io

    from PIL import Image

    size = (picture.rgb.shape[1], picture.rgb.shape[0])
    try:
        with Image.open(io.BytesIO(data), formats=("PNG",)) as image:
            if image.size not in (size, picture.original_size):
                raise ValueError(f"is {image.size[0]}x{image.size[1]}, the picture {size[0]}x{size[1]}")
            return np.asarray(image.convert("L").resize(size), np.uint8)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        why = str(error) if isinstance(error, ValueError) else "cannot be read"
        tell(Fault.MASK_UNREADABLE, Outcome.MENDED, f"Its mask {why}: the loss counts everywhere.")
        return None


def _cut(box: Box, width: int, height: int) -> Box:
    left, top = max(0.0, box[0]), max(0.0, box[1])
    right, bottom = min(float(width), box[0] + box[2]), min(float(height), box[1] + box[3])
    return (left, top, right - left, bottom - top)
