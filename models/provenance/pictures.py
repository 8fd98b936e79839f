"""Pictures that carry their marks, and the XMP of pictures that are read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from models.provenance.marks import Marks
from services.domain.errors import ContentRejected

if TYPE_CHECKING:
    from PIL.Image import Image

_FORMATS: Final = {".jpg": "JPEG", ".jpeg": "JPEG", ".png": "PNG", ".webp": "WEBP"}
_PNG_KEY: Final = "XML:com.adobe.xmp"


def save_picture(image: Image, path: Path, marks: Marks, **options: Any) -> int:
    """Write ``image`` at ``path`` with its marks inside; returns its size in bytes.

    Args:
        path: Its ending says the format: jpg, png or webp, the latter two with alpha and as animations, too.
        options: Of Pillow's ``save``.
    """
    format_name = _FORMATS[path.suffix.lower()]
    if format_name == "PNG":
        from PIL.PngImagePlugin import PngInfo

        # Pillow's own ``xmp`` is not written for this format.
        info = PngInfo()
        info.add_itxt(_PNG_KEY, marks.xmp().decode())
        options["pnginfo"] = info
    else:
        options["xmp"] = marks.xmp()
    image.save(path, format=format_name, **options)
    return path.stat().st_size


def find_picture_xmp(path: Path) -> bytes | None:
    """The XMP packet of the picture at ``path``, if it has one; the pixels are not decoded.

    Raises:
        ContentRejected: ``unreadable_media``, ``picture_too_large``.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as image:
            found = image.info.get("xmp") or image.info.get(_PNG_KEY)
    except Image.DecompressionBombError as error:
        raise ContentRejected("The picture has more pixels than are opened here.", code="picture_too_large") from error
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError) as error:
        raise ContentRejected(
            "The picture cannot be read: it is damaged or cut off.", code="unreadable_media"
        ) from error
    return found.encode() if isinstance(found, str) else found
