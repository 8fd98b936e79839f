"""Small JPEGs of pictures for the report, kept in a file while a scan runs."""

from __future__ import annotations

import tempfile
from typing import BinaryIO, Final, cast

import numpy as np
from numpy.typing import NDArray

_THUMBNAIL_PX: Final = 112


class Thumbnails:
    """Small JPEGs in a temporary file: a hundred thousand of them need no memory."""

    def __init__(self) -> None:
        self._file = cast(BinaryIO, tempfile.TemporaryFile(prefix="spokesmodel-"))  # noqa: SIM115
        self._places: list[tuple[int, int]] = []

    def add(self, jpeg: bytes) -> int:
        """The place of ``jpeg``."""
        offset = self._file.seek(0, 2)
        self._file.write(jpeg)
        self._places.append((offset, len(jpeg)))
        return len(self._places) - 1

    def get(self, place: int) -> bytes:
        offset, size = self._places[place]
        self._file.seek(offset)
        return self._file.read(size)


def thumbnail_of(rgb: NDArray[np.uint8]) -> bytes:
    """A small JPEG of the picture."""
    import cv2

    height, width = rgb.shape[:2]
    scale = _THUMBNAIL_PX / max(height, width)
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    small = cv2.resize(rgb, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC)
    done, jpeg = cv2.imencode(".jpg", small[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, 72])
    return jpeg.tobytes() if done else b""


def faulty_thumbnail(data: bytes) -> bytes:
    """A thumbnail of a picture that is left out, where it can be decoded at little cost; else nothing."""
    import io

    from PIL import Image

    try:
        with Image.open(io.BytesIO(data)) as image:
            if image.size[0] * image.size[1] > 50_000_000:
                return b""
            image.draft("RGB", (_THUMBNAIL_PX, _THUMBNAIL_PX))
            return thumbnail_of(np.asarray(image.convert("RGB"), np.uint8))
    except Exception:  # it is left out because it is damaged: any decoder's error means the same here
        return b""
