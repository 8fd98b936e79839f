"""Opens one picture for training: upright, opaque, eight-bit sRGB, with everything that was odd about its file."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from models.video.picture import PictureSource, picture_in
from services.domain.errors import ContentRejected
from training.data.findings import FORMAT_NAMES, Fault, Finding, Outcome, Rules

# Larger than any bucket with room for a crop; more pixels only cost time.
_WORKING_PIXELS: Final = 4096 * 4096
_ORIENTATION: Final = 0x0112
_BLANK_SPREAD: Final = 1.0  # of 255: a picture of one colour teaches nothing but that colour


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedPicture:
    """A picture that training can use.

    Attributes:
        rgb: uint8 (h, w, 3), sRGB, laid on the rules' background.
        alpha: uint8 (h, w) where the file was transparent.
        original_size: Width and height in the file, upright; ``rgb`` is smaller where that is very large.
    """

    rgb: NDArray[np.uint8]
    alpha: NDArray[np.uint8] | None
    original_size: tuple[int, int]


Tell = Callable[[Fault, Outcome, str], None]


def open_picture(data: bytes, name: str, rules: Rules, found: list[Finding]) -> OpenedPicture | None:
    """The picture in ``data``, or None when it is left out; ``found`` gets what there is to say."""

    def tell(fault: Fault, outcome: Outcome, detail: str) -> None:
        found.append(Finding(name=name, fault=fault, outcome=outcome, detail=detail))

    if not data:
        tell(Fault.EMPTY_FILE, Outcome.LEFT_OUT, "The file has no bytes.")
        return None
    head = _Head.read(data)
    if head is not None and not _head_passes(head, name, rules, tell):
        return None
    try:
        source = picture_in(io.BytesIO(data), name, max_pixels=rules.max_pixels, max_working_pixels=_WORKING_PIXELS)
    except ContentRejected as error:
        many = error.code == "picture_too_large"
        tell(Fault.TOO_MANY_PIXELS if many else Fault.UNREADABLE, Outcome.LEFT_OUT, error.detail)
        return None
    if source is None:
        tell(Fault.NOT_A_PICTURE, Outcome.LEFT_OUT, "By its content it is no picture that is known here.")
        return None
    for note in source.notes:
        if "profile" in note or "white" in note:
            tell(Fault.COLOUR_PROFILE, Outcome.NOTED, note)
    rgb = _laid_on(source, rules.background)
    if source.alpha is not None:
        _tell_transparency(data, rules, tell)
    if float(rgb.std(axis=(0, 1)).max()) < _BLANK_SPREAD:
        tell(Fault.BLANK, Outcome.LEFT_OUT, "It is one even colour.")
        return None
    return OpenedPicture(rgb=rgb, alpha=source.alpha, original_size=source.original_size)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Head:
    """What a picture file says of itself before it is decoded."""

    format: str
    size: tuple[int, int]
    mode: str
    orientation: int
    is_animated: bool
    is_deep: bool

    @classmethod
    def read(cls, data: bytes) -> _Head | None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # the rules have a limit of their own
                image = Image.open(io.BytesIO(data))
            with image:
                raw_mode = str(image.tile[0][3]) if image.tile else ""
                return cls(
                    format=str(image.format),
                    size=image.size,
                    mode=image.mode,
                    orientation=image.getexif().get(_ORIENTATION, 1),
                    is_animated=image.format not in ("MPO", "TIFF") and bool(getattr(image, "is_animated", False)),
                    is_deep="16" in raw_mode or image.mode.startswith("I;16"),
                )
        except (UnidentifiedImageError, Image.DecompressionBombError, OSError, ValueError, SyntaxError):
            return None  # opening it for good says what is wrong


def _head_passes(head: _Head, name: str, rules: Rules, tell: Tell) -> bool:
    promised = FORMAT_NAMES.get(name.rpartition(".")[2].lower())
    content = "JPEG" if head.format == "MPO" else head.format
    if promised is not None and promised != content and content in FORMAT_NAMES.values():
        tell(Fault.MISNAMED, Outcome.MENDED, f"Its name says {promised}, its content is {content}: read by content.")
    shorter = min(head.size)
    if shorter < rules.min_side_px:
        tell(
            Fault.TOO_SMALL,
            Outcome.LEFT_OUT,
            f"It is {head.size[0]}x{head.size[1]} pixels; the shorter side needs {rules.min_side_px}.",
        )
        return False
    if head.is_animated:
        if not rules.keep_animated:
            tell(Fault.ANIMATED, Outcome.LEFT_OUT, "It is animated; which frame its caption means is not known.")
            return False
        tell(Fault.ANIMATED, Outcome.MENDED, "It is animated: its first frame is taken.")
    if head.orientation in range(2, 9):
        tell(Fault.EXIF_ROTATED, Outcome.MENDED, f"EXIF orientation {head.orientation}: turned upright.")
    if head.is_deep:
        tell(Fault.OTHER_MODE, Outcome.MENDED, "It has 16 bits a channel: scaled to 8.")
    elif head.mode not in ("RGB", "RGBA"):
        names = {"P": "a palette", "L": "grey", "LA": "grey", "1": "black and white", "CMYK": "CMYK"}
        tell(Fault.OTHER_MODE, Outcome.MENDED, f"It is {names.get(head.mode, head.mode)}: converted to RGB.")
    return True


def _laid_on(source: PictureSource, background: tuple[int, int, int]) -> NDArray[np.uint8]:
    """The picture over ``background`` instead of white; opaque pictures as they are."""
    if source.alpha is None or background == (255, 255, 255):
        return source.rgb
    clear = 1 - source.alpha[..., None].astype(np.float32) / 255
    laid = source.rgb + clear * (np.array(background, np.float32) - 255)
    return np.asarray(np.clip(laid + 0.5, 0, 255), np.uint8)


def _tell_transparency(data: bytes, rules: Rules, tell: Tell) -> None:
    """Whether colours lie under what is transparent: read without its alpha, such a picture is another one."""
    with Image.open(io.BytesIO(data)) as image:
        pixels = np.asarray(image.convert("RGBA"))
    hidden = pixels[pixels[..., 3] == 0][:, :3]
    share = len(hidden) / (pixels.shape[0] * pixels.shape[1])
    if len(hidden) and int(np.ptp(hidden, axis=0).max()) > 0:
        tell(
            Fault.HIDDEN_COLOURS,
            Outcome.MENDED,
            f"Colours lie hidden under the transparent {share:.0%}: laid on {rules.background_hex}, they do not show.",
        )
    else:
        tell(Fault.TRANSPARENT, Outcome.MENDED, f"It is transparent: laid on {rules.background_hex}.")
