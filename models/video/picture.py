"""Reads a picture file as users really send it and gives upright 8-bit sRGB."""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageCms, UnidentifiedImageError

from models.video.container import sniff, unreadable
from services.domain.errors import ContentRejected

# Formats whose decoders only decode: PostScript and the like start other programs or pull in other files.
_FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "AVIF", "PPM", "JPEG2000", "TGA")
_PICTURES = ("a PNG picture", "a JPEG picture", "a GIF picture", "a WebP picture")
# A frame of film holds 2 MP; 16 MP let a crop of an eighth still fill it. More only costs memory.
MAX_WORKING_PIXELS = 16_000_000
_ON_WHITE = "Its transparent parts were laid on white (#ffffff)."
_DEEP_MODES = {"I;16", "I;16B", "I;16L", "I;16N", "I", "F"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureSource:
    """A picture to work from.

    Attributes:
        name: The file's name for messages.
        rgb: uint8 (h, w, 3), upright, sRGB; where the file was transparent, as it looks on white.
        alpha: uint8 (h, w), or None for an opaque picture. ``rgb`` is laid over white with it, so any other background
            follows exactly: ``rgb - (1 - a) * 255 + (1 - a) * background``.
        original_size: Width and height in the file, upright, before any reduction to the working size.
        notes: What was done that the client should know.
    """

    name: str
    rgb: NDArray[np.uint8]
    alpha: NDArray[np.uint8] | None
    original_size: tuple[int, int]
    notes: tuple[str, ...] = ()

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of ``rgb``."""
        return self.rgb.shape[1], self.rgb.shape[0]

    @property
    def flattened_notes(self) -> tuple[str, ...]:
        """``notes`` for work that takes ``rgb`` alone: they tell on what a transparent picture was laid, too."""
        return self.notes if self.alpha is None else (*self.notes, _ON_WHITE)


def worked_at(size: tuple[int, int], original_size: tuple[int, int]) -> str:
    """The note on a reduction; sizes are width and height."""
    return f"Worked at {size[0]}x{size[1]} of {original_size[0]}x{original_size[1]} pixels."


def read_picture(
    path: Path, name: str, *, max_pixels: int, max_working_pixels: int = MAX_WORKING_PIXELS
) -> PictureSource | None:
    """The picture at ``path``, the first frame of an animated one; None when the content is no known picture.

    Raises:
        ContentRejected: ``picture_too_large``, ``unreadable_media``.
    """
    with path.open("rb") as file:
        return picture_in(file, name, max_pixels=max_pixels, max_working_pixels=max_working_pixels)


def picture_in(
    file: BinaryIO, name: str, *, max_pixels: int, max_working_pixels: int = MAX_WORKING_PIXELS
) -> PictureSource | None:
    """``read_picture`` of a file that is open, or of bytes in memory; it has to be seekable."""
    notes: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # the limit below is ours
        try:
            image: Image.Image = Image.open(file, formats=_FORMATS)
        except UnidentifiedImageError as error:
            file.seek(0)
            if sniff(file.read(64)) in _PICTURES:
                raise unreadable(name, "its header is damaged or cut off") from error
            return None
        except Image.DecompressionBombError as error:
            raise ContentRejected(
                f'"{name}" has too many pixels; at most {max_pixels:,} are accepted. Scale it down.',
                code="picture_too_large",
            ) from error
        except (OSError, ValueError, SyntaxError) as error:
            raise unreadable(name, "its header is damaged") from error
        _require_size(image.size, name, max_pixels)
        try:
            if _has_second_frame(image) and image.format != "MPO":
                notes.append(f'"{name}" is animated: its first frame is used.')
            full_size = image.size
            if image.format == "JPEG":
                image.draft(
                    "RGB" if image.mode == "YCbCr" else image.mode, _working_size(full_size, max_working_pixels)
                )
            image.load()
        except (OSError, ValueError, SyntaxError, EOFError, Image.DecompressionBombError) as error:
            raise unreadable(name, "its picture data is damaged or cut off") from error
        turned = image.getexif().get(0x0112, 1) in (5, 6, 7, 8)
        rgb, alpha = _srgb(image, max_working_pixels, notes)
    size, original_size = (rgb.shape[1], rgb.shape[0]), full_size[::-1] if turned else full_size
    if size != original_size:
        notes.append(worked_at(size, original_size))
    return PictureSource(
        name=name,
        rgb=rgb,
        alpha=alpha,
        original_size=original_size,
        notes=tuple(notes),
    )


def _has_second_frame(image: Image.Image) -> bool:
    """Whether the file goes on behind its first picture, found without reading all of it.

    ``n_frames`` would: a TIFF of 100,000 directories keeps it busy for most of a minute.
    """
    if image.format != "TIFF":
        return bool(getattr(image, "is_animated", False))
    try:
        image.seek(1)
    except EOFError:
        return False
    image.seek(0)
    return True


def _require_size(size: tuple[int, int], name: str, max_pixels: int) -> None:
    width, height = size
    if width * height > max_pixels:
        raise ContentRejected(
            f'"{name}" is {width}x{height} = {width * height:,} pixels; at most {max_pixels:,} are accepted. '
            "Scale it down.",
            code="picture_too_large",
        )


def _working_size(size: tuple[int, int], max_working_pixels: int) -> tuple[int, int]:
    factor = min(1.0, (max_working_pixels / (size[0] * size[1])) ** 0.5)
    return max(1, round(size[0] * factor)), max(1, round(size[1] * factor))


def _srgb(
    image: Image.Image, max_working_pixels: int, notes: list[str]
) -> tuple[NDArray[np.uint8], NDArray[np.uint8] | None]:
    """Pixels of any mode as upright sRGB over white, with alpha where the picture is not opaque."""
    profile = image.info.get("icc_profile")
    exif = image.getexif()
    image = _eight_bit(image, notes)
    has_alpha = image.has_transparency_data
    if has_alpha:
        image = image.convert("RGBA")
    elif image.mode in ("1", "P"):
        image = image.convert("RGB")

    target = _working_size(image.size, max_working_pixels)
    if target != image.size:
        # reduce() averages whole blocks in one cheap pass; premultiplied, so that hidden colours do not bleed.
        premultiplied = image.convert("RGBa") if has_alpha else image
        resized = premultiplied.resize(target, Image.Resampling.BICUBIC, reducing_gap=2.0)
        image = resized.convert("RGBA") if has_alpha else resized

    alpha_image = image.getchannel("A") if has_alpha else None
    color = _to_srgb(image.convert("RGB") if has_alpha else image, profile, notes)
    orientation = exif.get(0x0112, 1)
    color = _upright(color, orientation)
    rgb = np.asarray(color)
    if alpha_image is None:
        return np.ascontiguousarray(rgb), None
    alpha = np.ascontiguousarray(np.asarray(_upright(alpha_image, orientation)))
    if int(alpha.min()) == 255:
        return np.ascontiguousarray(rgb), None
    return over_white(rgb, alpha), alpha


def over_white(rgb: NDArray[np.uint8], alpha: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Straight ``rgb`` laid over white, in strips so that a large picture needs no large float copy."""
    out = np.empty_like(rgb)
    for top in range(0, len(rgb), 256):
        rows = slice(top, top + 256)
        a = alpha[rows, :, None].astype(np.uint16)
        out[rows] = (rgb[rows] * a + (255 - a) * 255 + 127) // 255
    return out


def _eight_bit(image: Image.Image, notes: list[str]) -> Image.Image:
    """16-bit and float grey scaled to 8 bits; Pillow's own convert() would clip them to white."""
    if image.mode not in _DEEP_MODES:
        return image
    values = np.asarray(image).astype(np.float32)
    top = float(values.max(initial=0.0))
    if image.mode.startswith("I;16") or (image.mode == "I" and top <= 65535.0):
        white = 65535.0
    elif image.mode == "F" and top <= 1.0:
        white = 1.0
    elif top <= 255.0:
        white = 255.0
    else:
        white = top
        notes.append("Its grey values have no stated white; the brightest was taken.")
    return Image.fromarray(np.clip(values * (255.0 / white) + 0.5, 0, 255).astype(np.uint8))


def _to_srgb(image: Image.Image, profile: bytes | None, notes: list[str]) -> Image.Image:
    if image.mode not in ("RGB", "L", "CMYK", "LAB"):
        image = image.convert("RGB")
    if not profile and image.mode != "LAB":
        return image.convert("RGB")
    try:
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile)) if profile else ImageCms.createProfile("LAB")
        converted = ImageCms.profileToProfile(image, source, ImageCms.createProfile("sRGB"), outputMode="RGB")
        if converted is not None:
            return converted
    except (ImageCms.PyCMSError, OSError, ValueError):
        notes.append("Its colour profile could not be applied and was ignored.")
    return image.convert("RGB")


_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


def _upright(image: Image.Image, orientation: int) -> Image.Image:
    """Turned as EXIF's orientation tag asks (the seven cases of TIFF 6.0)."""
    turn = _TURNS.get(orientation)
    return image.transpose(turn) if turn is not None else image
