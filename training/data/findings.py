"""What a scan can say of a picture or its caption, and by which rule it is mended or left out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from services.domain.errors import InvalidRequest


class Outcome(StrEnum):
    """What becomes of the picture."""

    LEFT_OUT = "left_out"
    MENDED = "mended"
    NOTED = "noted"


class Fault(StrEnum):
    """What was found. The page on training lists each with its rule; a test compares."""

    EMPTY_FILE = "empty_file"
    NOT_A_PICTURE = "not_a_picture"
    UNREADABLE = "unreadable"
    TOO_MANY_PIXELS = "too_many_pixels"
    FILE_TOO_LARGE = "file_too_large"
    FILE_MISSING = "file_missing"
    OUTSIDE_FOLDER = "outside_folder"
    TOO_SMALL = "too_small"
    ANIMATED = "animated"
    BLANK = "blank"
    EXACT_DUPLICATE = "exact_duplicate"
    NEAR_DUPLICATE = "near_duplicate"
    MISNAMED = "misnamed"
    EXIF_ROTATED = "exif_rotated"
    TRANSPARENT = "transparent"
    HIDDEN_COLOURS = "hidden_colours"
    OTHER_MODE = "other_mode"
    COLOUR_PROFILE = "colour_profile"
    CAPTION_MISSING = "caption_missing"
    CAPTION_EMPTY = "caption_empty"
    CAPTION_NOT_UTF8 = "caption_not_utf8"
    CAPTION_LONG = "caption_long"
    CAPTIONS_DIFFER = "captions_differ"
    CAPTION_WITHOUT_PICTURE = "caption_without_picture"
    FACTS_MISSING = "facts_missing"
    FACE_NOT_FOUND = "face_not_found"
    SEVERAL_FACES = "several_faces"
    GARMENT_NOT_FOUND = "garment_not_found"
    MASK_UNREADABLE = "mask_unreadable"
    MASK_EMPTY = "mask_empty"
    ENLARGED = "enlarged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing about one file.

    Attributes:
        name: The file, as its source calls it.
        detail: A sentence for a person: what is wrong, with its numbers, and what was done.
    """

    name: str
    fault: Fault
    outcome: Outcome
    detail: str


def finding(name: str, fault: Fault, outcome: Outcome, detail: str) -> Finding:
    """The finding, in one line."""
    return Finding(name=name, fault=fault, outcome=outcome, detail=detail)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How faults are treated.

    Attributes:
        min_side_px: A picture whose shorter side is less is left out.
        background: Red, green, blue that transparent pictures are laid on.
        keep_animated: Take the first frame of an animated picture instead of leaving it out.
        cp1252: Read a caption that is not UTF-8 as Windows-1252 instead of leaving its picture out.
        drop_near_duplicates: Keep only the first of each cluster of near-duplicates.
        max_pixels: A picture with more is left out before it is decoded.
        max_file_bytes: So is one whose file is larger.
    """

    min_side_px: int = 256
    background: tuple[int, int, int] = (255, 255, 255)
    keep_animated: bool = False
    cp1252: bool = True
    drop_near_duplicates: bool = False
    max_pixels: int = 150_000_000
    max_file_bytes: int = 256 * 2**20

    def __post_init__(self) -> None:
        if self.min_side_px < 1:
            raise InvalidRequest("min_side_px is at least 1.", code="out_of_range", param="min_side_px")

    @property
    def background_hex(self) -> str:
        return "#" + bytes(self.background).hex()


FORMAT_NAMES: Final = {
    "jpg": "JPEG",
    "jpeg": "JPEG",
    "jpe": "JPEG",
    "jfif": "JPEG",
    "png": "PNG",
    "webp": "WEBP",
    "gif": "GIF",
    "bmp": "BMP",
    "tif": "TIFF",
    "tiff": "TIFF",
    "avif": "AVIF",
    "ppm": "PPM",
    "pgm": "PPM",
    "jp2": "JPEG2000",
    "tga": "TGA",
}
"""File name endings of pictures, with the format that each promises."""
