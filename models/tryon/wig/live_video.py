"""A video with a wig on the head in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from models.perception.faces import FaceFinder
from models.provenance.boxes import append_xmp
from models.provenance.marks import GENERATOR, Marks, SourceType
from models.tryon.wig.asset import WigAsset
from models.tryon.wig.live import LiveWig
from models.video.audio import load_audio
from models.video.label import KeepClear, VisibleLabel, face_mask
from models.video.source import VideoSource, open_source
from models.video.writer import VideoWriter
from services.domain.errors import ContentRejected
from services.domain.video import Disclosure

Picture = NDArray[np.uint8]

_MOST_FPS: Final = 30
_LEAST_FPS: Final = 5
_NO_FACE: Final = "{share:.0%} of the frames show no face; they are left as they were."
_FAR: Final = "In {share:.0%} of the frames the head is turned too far from how the first one shows it."
_LOOKS: Final = 8  # frames in which faces are looked for that the label keeps off
_TOLD_SHARE: Final = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveVideo:
    """What was made.

    Attributes:
        facts: As ``EngineAnswer`` has them.
        marks: What the file says about itself.
    """

    path: Path
    facts: Mapping[str, Any]
    marks: Marks


def make_live_video(
    video: Path,
    asset: WigAsset,
    out: Path,
    *,
    face: int | None = None,
    disclosure: Disclosure | None = None,
    producer: str = GENERATOR,
    content_id: str = "live",
    max_side_px: int = 720,
    max_duration_s: float = 120.0,
    max_pixels: int = 64_000_000,
    on_progress: Callable[[float], None] = lambda fraction: None,
    check_canceled: Callable[[], None] = lambda: None,
) -> LiveVideo:
    """``video`` with the wig at ``out`` (mp4), its sound kept.

    Args:
        face: Index of the face in the first frame that shows one, from left to right; None takes the largest.
        max_side_px: Larger videos are made smaller.

    Raises:
        ContentRejected: ``unsupported_media``, ``unreadable_media``, ``picture_too_large``, ``video_too_long``,
            ``face_not_found`` (in no frame).
        EngineFailed: ``empty_output``, ``damaged_output``.
    """
    disclosure = disclosure or Disclosure()
    source = open_source(video, max_pixels=max_pixels, max_duration_s=max_duration_s, name="the video")
    if not isinstance(source, VideoSource):
        raise ContentRejected("A picture was sent where a video is needed.", code="unsupported_media", param="video")
    fps = min(_MOST_FPS, max(_LEAST_FPS, round(source.fps)))
    num_frames = max(1, ceil(source.duration_s * fps - 1e-6))
    size = _even(source.size, max_side_px)
    marks = Marks(source_type=SourceType.COMPOSITE, producer=producer, content_id=content_id)
    label = _label(source, size, disclosure)
    samples, rate_hz = _sound(video, max_duration_s)
    live = LiveWig(asset, face=face)
    with VideoWriter(
        out,
        width=size[0],
        height=size[1],
        fps=Fraction(fps),
        samples=samples,
        sample_rate_hz=rate_hz,
        metadata=marks.container_tags(),
    ) as writer:
        index, shown = -1, np.zeros((size[1], size[0], 3), np.uint8)
        for number, frame in enumerate(source.frames_at(fps, num_frames)):
            check_canceled()
            if frame.index != index:
                index = frame.index
                shown = live.frame(_sized(frame.rgb, size), frame.time_s)
                if label is not None:
                    shown = shown.copy()
                    label.draw_on_picture(shown)
            writer.write(shown)
            on_progress((number + 1) / num_frames)
        facts = live.facts
        if facts["num_frames_without_face"] == facts["num_frames"]:
            raise ContentRejected("No face was found in the video.", code="face_not_found", param="video")
        written = writer.close()
    append_xmp(out, marks.xmp())
    return LiveVideo(
        path=out,
        facts={
            **facts,
            "duration_s": round(written.duration_s, 3),
            "width_px": size[0],
            "height_px": size[1],
            "fps": fps,
            "warnings": [*source.notes, *_warnings(facts)],
            "visible_label": label is not None,
            "label_corner": label.corner.value if label is not None else None,
            "digital_source_type": SourceType.COMPOSITE.value,
        },
        marks=marks,
    )


def _label(source: VideoSource, size: tuple[int, int], disclosure: Disclosure) -> VisibleLabel | None:
    """The label where no face is in any of some frames over the whole video; None when none is wanted."""
    if not disclosure.visible_label:
        return None
    finder, outlines = FaceFinder(), []
    fps = Fraction(_LOOKS) / Fraction(max(source.duration_s, 0.1)).limit_denominator(1000)
    seen = -1
    for frame in source.frames_at(fps, _LOOKS):
        if frame.index == seen:
            continue
        seen = frame.index
        for box in finder.find(_sized(frame.rgb, size)):
            right, bottom = box.left + box.width, box.top + box.height
            corners = ((box.left, box.top), (right, box.top), (right, bottom), (box.left, bottom))
            outlines.append(np.array(corners, np.float32))
    faces = face_mask(size, outlines) if outlines else None
    return VisibleLabel(size, None, corner=disclosure.corner, keep_clear=KeepClear(faces=faces))


def _warnings(facts: Mapping[str, Any]) -> list[str]:
    pairs = ((_NO_FACE, "num_frames_without_face"), (_FAR, "num_frames_turned_far"))
    shares = [(text, facts[name] / max(facts["num_frames"], 1)) for text, name in pairs]
    return [text.format(share=share) for text, share in shares if share > _TOLD_SHARE]


def _even(size: tuple[int, int], side_px: int) -> tuple[int, int]:
    scale = min(1.0, side_px / max(size))
    width, height = (max(2, round(side * scale / 2) * 2) for side in size)
    return width, height


def _sized(rgb: Picture, size: tuple[int, int]) -> Picture:
    import cv2

    if rgb.shape[:2] == (size[1], size[0]):
        return rgb
    return np.asarray(cv2.resize(rgb, size, interpolation=cv2.INTER_AREA), np.uint8)


def _sound(video: Path, max_duration_s: float) -> tuple[NDArray[np.float32] | None, int]:
    """The video's sound; None when it has none that can be read."""
    try:
        audio = load_audio(video, max_duration_s=max_duration_s + 1.0, name="the video's sound")
    except ContentRejected:
        return None, 48_000
    return audio.samples, audio.sample_rate_hz
