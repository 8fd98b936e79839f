"""A looping film of a head that turns from one side to the other and back, wearing a wig."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from models.tryon.wig.own_hair import BareSitter
from models.tryon.wig.turntable import CONVINCING_YAW_DEG, TurnedView, Turntable
from models.tryon.wig.worn import WornWig
from models.video.writer import VideoFacts, VideoWriter

if TYPE_CHECKING:
    from models.tryon.wig.preview import Fitting

Picture = NDArray[np.uint8]

FPS: Final = 25
NUM_FRAMES: Final = 80
"""A multiple of four: then every angle but the outermost is shown twice, on the way there and back."""

_LONG_SIDE_PX: Final = 768
_LEAST_SIDE_PX: Final = 16


def turntable_yaws() -> list[float]:
    """The angle of each frame, degrees; the frame after the last would be the first again."""
    return [CONVINCING_YAW_DEG * float(np.sin(2 * np.pi * index / NUM_FRAMES)) for index in range(NUM_FRAMES)]


def for_film(fitting: Fitting, worn: WornWig) -> tuple[Fitting, WornWig]:
    """Head and wig at the film's size: the head's window of the portrait, both sides even."""
    import cv2

    left, top, right, bottom = fitting.window
    scale = min(fitting.scale, _LONG_SIDE_PX / max(right - left, bottom - top))
    width, height = (max(_LEAST_SIDE_PX, round(side * scale / 2) * 2) for side in (right - left, bottom - top))
    window = np.ascontiguousarray(fitting.source.rgb[top:bottom, left:right])

    def sized(record: BareSitter | WornWig) -> dict[str, Any]:
        """All pictures and masks of ``record``, resized."""
        pictures: dict[str, Any] = {}
        for entry in fields(record):
            values = getattr(record, entry.name)
            if isinstance(values, np.ndarray) and values.shape[:2] == sitter.picture_rgb.shape[:2]:
                pictures[entry.name] = cv2.resize(values, (width, height), interpolation=cv2.INTER_AREA)
        return pictures

    sitter = fitting.sitter
    factor = np.array([width / sitter.picture_rgb.shape[1], height / sitter.picture_rgb.shape[0]], np.float32)
    points = sitter.points.copy()
    points[:, :2] = (points[:, :2] + 0.5) * factor - 0.5
    points[:, 2] *= factor[0]
    picture = np.asarray(cv2.resize(window, (width, height), interpolation=cv2.INTER_AREA), np.uint8)
    small = replace(sitter, **(sized(sitter) | {"picture_rgb": picture, "points": points}))
    source = replace(fitting.source, rgb=picture, alpha=None)
    film = replace(fitting, source=source, window=(0, 0, width, height), sitter=small, scale=1.0)
    return film, replace(worn, **(sized(worn) | {"sitter": small}))


def write_turntable(
    path: Path,
    worn: WornWig,
    shown: Callable[[TurnedView], Picture],
    *,
    metadata: Mapping[str, str],
    on_progress: Callable[[float], None] = lambda fraction: None,
) -> VideoFacts:
    """The film of ``worn`` (of the film's size) at ``path``.

    Args:
        shown: Makes a view the film's picture, label included.
        on_progress: Told the fraction done between frames; what it raises ends the work.

    Raises:
        EngineFailed: ``empty_output``, ``damaged_output``.
    """
    from models.video.yuv import rgb_to_i420

    table = Turntable(worn)
    height, width = worn.person_alpha.shape
    kept: dict[float, Picture] = {}
    with VideoWriter(path, width=width, height=height, fps=FPS, metadata=metadata) as writer:
        for index, yaw in enumerate(turntable_yaws()):
            key = round(yaw, 4)
            if key not in kept:
                kept[key] = rgb_to_i420(shown(table.view(yaw)))
            writer.write(kept[key])
            on_progress((index + 1) / NUM_FRAMES)
        return writer.close()
