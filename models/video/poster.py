"""The still picture shown before a film plays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from models.video import yuv


def write_poster(path: Path, frame: NDArray[np.uint8], *, quality: int = 90, xmp: bytes = b"") -> int:
    """Writes ``frame`` (RGB ``(h, w, 3)`` or I420) as a JPEG with ``xmp`` at ``path``; returns its size in bytes."""
    rgb = frame if frame.ndim == 3 else yuv.i420_to_rgb(frame)
    # The format is named, so that any file name will do.
    Image.fromarray(rgb).save(path, format="JPEG", quality=quality, optimize=True, progressive=True, xmp=xmp)
    return path.stat().st_size
