"""A finished film frame by frame, as the encoder stored it: for checks and measurements."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from av.video.frame import VideoFrame
from numpy.typing import NDArray

from models.video.container import opened, unsupported


def decoded_i420(path: Path) -> Iterator[tuple[NDArray[np.uint8], float]]:
    """Every frame of the 4:2:0 film at ``path``, in order: planes as in ``models.video.yuv``, and seconds.

    Raises:
        ContentRejected: ``unsupported_media`` when its pixels are stored otherwise, and what ``opened`` raises.
    """
    with opened(path, path.name) as container:
        for frame in container.decode(video=0):
            if not isinstance(frame, VideoFrame) or frame.format.name != "yuv420p":
                raise unsupported(path.name, "its pixels are not stored as 8-bit 4:2:0")
            yield np.asarray(frame.to_ndarray(), np.uint8), float(frame.time)
