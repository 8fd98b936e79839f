"""The presenter's picture or video, opened by content and never by name."""

from __future__ import annotations

import bisect
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from types import TracebackType

import av
import numpy as np
from av.container import InputContainer
from av.video.frame import VideoFrame
from av.video.reformatter import ColorPrimaries, ColorRange, Colorspace, ColorTrc, Interpolation, VideoReformatter
from av.video.stream import VideoStream
from numpy.typing import NDArray

from models.video import yuv
from models.video.container import display_name, opened, require_content, unreadable, unsupported
from models.video.picture import PictureSource, read_picture
from services.domain.errors import ContentRejected

# Frames decoded ahead for playing backwards; 96 MB of planes at most.
_BACKWARD_BYTES = 96_000_000
# A container may declare a little more than it holds; beyond this it counts as cut off.
_MISSING_S, _MISSING_SHARE = 0.25, 0.05


@dataclass(frozen=True, slots=True)
class SourceFrame:
    """One frame of a video source as shown at a time of the film.

    Attributes:
        rgb: uint8 (h, w, 3), upright; the same array is given again while the frame stays.
        index: Position in the source, 0 for its first frame: a key for what is computed once per frame.
        time_s: The source's own time stamp, 0 for its first frame.
    """

    rgb: NDArray[np.uint8]
    index: int
    time_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoSource:
    """A short video to work from, decoded as it is read.

    Attributes:
        path: The file.
        name: Its name for messages.
        size: Width and height, upright.
        fps: Mean frame rate; time stamps, not this, decide what is shown when.
        times_s: Time stamp of every frame, rising from 0.
        duration_s: Until the last frame's end.
        rotation: Quarter turns already applied to the frames, counter-clockwise.
        notes: What was done that the client should know.
    """

    path: Path
    name: str
    size: tuple[int, int]
    fps: float
    duration_s: float
    times_s: NDArray[np.float64]
    rotation: int
    notes: tuple[str, ...] = ()
    _pts: tuple[int, ...] = field(repr=False)
    _stream_index: int = field(repr=False)

    @property
    def num_frames(self) -> int:
        return len(self.times_s)

    def frames(self) -> Iterator[tuple[NDArray[np.uint8], float]]:
        """Every frame once, in order: pixels (h, w, 3) and time stamp in seconds."""
        with _Reader(self) as reader:
            for index in range(self.num_frames):
                yield reader.read(index), float(self.times_s[index])

    def frames_at(self, fps: Fraction | int, num_frames: int) -> Iterator[SourceFrame]:
        """``num_frames`` frames of a film of ``fps``: at each the source frame that is shown at its middle.

        Where the film is longer than the source, the source plays forth and back: no jump is seen at the turns.
        """
        with _Reader(self) as reader:
            for index in self.schedule(fps, num_frames):
                yield SourceFrame(reader.read(index), index, float(self.times_s[index]))

    def schedule(self, fps: Fraction | int, num_frames: int) -> list[int]:
        """Which source frame each film frame shows; exact over any length, being computed per frame from fractions."""
        step = 1 / Fraction(fps)
        period = Fraction(self.duration_s).limit_denominator(1_000_000)
        times = self.times_s.tolist()
        schedule = []
        for number in range(num_frames):
            lap, phase = divmod((number + Fraction(1, 2)) * step, period)
            if lap % 2:
                phase = period - phase
            schedule.append(max(0, bisect.bisect_right(times, float(phase) + 1e-6) - 1))
        return schedule


def open_source(
    path: Path,
    *,
    max_pixels: int = 64_000_000,
    max_duration_s: float = 120.0,
    name: str | None = None,
) -> PictureSource | VideoSource:
    """The picture or video at ``path``; ``name`` is what messages call it (default: the path's last part).

    Raises:
        ContentRejected: ``empty_file``, ``unsupported_media`` (no picture and no video), ``unreadable_media``
            (damaged or cut off), ``picture_too_large``, ``video_too_long``.
    """
    shown = display_name(path, name)
    require_content(path, shown)
    picture = read_picture(path, shown, max_pixels=max_pixels)
    if picture is not None:
        return picture
    with opened(path, shown) as container:
        if not container.streams.video or _is_cover(container.streams.video[0]):
            raise unsupported(
                shown, "it holds sound but no picture" if container.streams.audio else "it holds no picture"
            )
        return _survey(path, shown, container, max_pixels=max_pixels, max_duration_s=max_duration_s)


def _is_cover(stream: VideoStream) -> bool:
    return bool(stream.disposition & av.stream.Disposition.attached_pic)


def _survey(path: Path, name: str, container: InputContainer, *, max_pixels: int, max_duration_s: float) -> VideoSource:
    """Reads every packet's time stamp without decoding, then the first frame."""
    stream = container.streams.video[0]
    time_base = stream.time_base or Fraction(1, 90_000)
    width, height = stream.codec_context.width, stream.codec_context.height
    if width * height > max_pixels:
        raise ContentRejected(
            f'"{name}" is {width}x{height} = {width * height:,} pixels a frame; at most {max_pixels:,} are accepted.',
            code="picture_too_large",
        )
    declared_s = _declared_duration_s(container, stream)
    _require_short(name, declared_s, max_duration_s)

    stamps: list[int] = []
    end = 0
    for packet in container.demux(stream):
        if packet.size == 0 or packet.is_discard:
            continue
        stamp = packet.pts if packet.pts is not None else packet.dts
        if stamp is None:
            raise unreadable(name, "its frames have no time stamps")
        stamps.append(stamp)
        end = max(end, stamp + (packet.duration or 0))
        if float((stamp - stamps[0]) * time_base) > max_duration_s + 1.0:
            _require_short(name, float((stamp - stamps[0]) * time_base), max_duration_s)
    if not stamps:
        raise unreadable(name, "it holds no frame")
    pts = sorted(set(stamps))
    times_s = np.array([float((stamp - pts[0]) * time_base) for stamp in pts])
    last_s = float((end - pts[-1]) * time_base)
    if not 0 < last_s < 10:
        last_s = float(times_s[-1] / (len(pts) - 1)) if len(pts) > 1 else 0.04
    duration_s = float(times_s[-1]) + last_s
    missing_s = declared_s - duration_s
    if missing_s > _MISSING_S and missing_s > _MISSING_SHARE * declared_s:
        raise unreadable(name, f"it is cut off: {duration_s:.1f} s of {declared_s:.1f} s are there")
    _require_short(name, duration_s, max_duration_s)

    first = _first_frame(path, name, stream.index)
    turns = round(first.rotation / 90) % 4
    notes = [f"Turned by {turns * 90} degrees, as the file asks."] if turns else []
    if first.color_trc in _HDR:
        notes.append("High dynamic range was reduced to standard range.")
    size = (first.height, first.width) if turns % 2 else (first.width, first.height)
    return VideoSource(
        path=path,
        name=name,
        size=size,
        fps=len(pts) / duration_s,
        duration_s=duration_s,
        times_s=times_s,
        rotation=turns,
        notes=tuple(notes),
        _pts=tuple(pts),
        _stream_index=stream.index,
    )


def _require_short(name: str, duration_s: float, max_duration_s: float) -> None:
    if duration_s > max_duration_s:
        raise ContentRejected(
            f'"{name}" lasts {duration_s:.1f} s; at most {max_duration_s:g} s are accepted. Cut it.',
            code="video_too_long",
        )


def _declared_duration_s(container: InputContainer, stream: VideoStream) -> float:
    if stream.duration is not None and stream.time_base is not None:
        return float(stream.duration * stream.time_base)
    # The whole file's duration may come from a longer sound track; it says nothing exact about the pictures.
    return 0.0


def _first_frame(path: Path, name: str, stream_index: int) -> VideoFrame:
    with opened(path, name) as container:
        for frame in container.decode(container.streams[stream_index]):
            if isinstance(frame, VideoFrame):
                return frame
    raise unreadable(name, "none of its frames can be decoded")


_HDR = (ColorTrc.SMPTE2084, ColorTrc.ARIB_STD_B67)


class _Reader:
    """Frames by index: cheap in rising order, and in falling order by decoding short stretches ahead."""

    def __init__(self, source: VideoSource) -> None:
        self._source = source
        width, height = source.size
        self._stretch = max(4, min(64, _BACKWARD_BYTES // (width * height * 3 // 2)))
        self._kept: OrderedDict[int, VideoFrame] = OrderedDict()
        self._converter = _RgbConverter(source.rotation)
        self._shown: tuple[int, NDArray[np.uint8]] | None = None
        self._position = -1  # index of the last frame that the decoder gave

    def __enter__(self) -> _Reader:
        self._opened = opened(self._source.path, self._source.name)
        self._container = self._opened.__enter__()
        self._stream = self._container.streams[self._source._stream_index]
        self._stream.codec_context.thread_count = 1  # several workers share the cores
        self._decoder = self._decoded()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.__exit__(kind, error, trace)

    def read(self, index: int) -> NDArray[np.uint8]:
        if self._shown is None or self._shown[0] != index:
            self._shown = (index, self._converter.convert(self._frame(index)))
        return self._shown[1]

    def _frame(self, index: int) -> VideoFrame:
        if index in self._kept:
            return self._kept[index]
        if index <= self._position:
            return self._seek_and_keep(max(0, index - self._stretch + 1), index)
        return self._forward(index)

    def _forward(self, index: int) -> VideoFrame:
        """Decodes on until frame ``index``; a frame that the decoder drops is stood in for by the one before."""
        latest: VideoFrame | None = self._kept[max(self._kept)] if self._kept else None
        while self._position < index:
            frame = next(self._decoder, None)
            if frame is None:
                break
            number = self._number(frame)
            self._position = number
            if number > index and latest is not None:
                self._kept.clear()
                self._kept[number] = frame
                return latest
            latest = frame
        if latest is None:
            raise unreadable(self._source.name, f"frame {index} cannot be decoded")
        self._kept.clear()
        self._kept[index] = latest
        return latest

    def _seek_and_keep(self, first: int, last: int) -> VideoFrame:
        """Keeps frames ``first`` to ``last``, decoding from the key frame before them."""
        self._kept.clear()
        self._container.seek(self._source._pts[first], stream=self._stream, backward=True)
        self._decoder = self._decoded()
        latest: VideoFrame | None = None
        for frame in self._decoder:
            number = self._number(frame)
            self._position = number
            if number > last:
                break
            if number >= first:
                self._kept[number] = frame
            latest = frame
            if number == last:
                break
        if latest is None:
            raise unreadable(self._source.name, f"frame {last} cannot be decoded")
        return self._kept.setdefault(last, latest)

    def _decoded(self) -> Iterator[VideoFrame]:
        return (frame for frame in self._container.decode(self._stream) if isinstance(frame, VideoFrame))

    def _number(self, frame: VideoFrame) -> int:
        stamp = frame.pts if frame.pts is not None else frame.dts
        if stamp is None:
            return self._position + 1
        return max(0, bisect.bisect_right(self._source._pts, stamp) - 1)


class _RgbConverter:
    """Decoded frames as upright full-range sRGB; kept for a whole file, since HDR's tables take seconds to make."""

    def __init__(self, quarter_turns: int) -> None:
        self._quarter_turns = quarter_turns
        self._reformatter = VideoReformatter()

    def convert(self, frame: VideoFrame) -> NDArray[np.uint8]:
        """``frame`` as (h, w, 3), turned counter-clockwise."""
        turned = np.rot90(self._rgb(frame), self._quarter_turns)
        return np.ascontiguousarray(turned).astype(np.uint8, copy=False)

    def _rgb(self, frame: VideoFrame) -> NDArray[np.uint8]:
        colorspace = frame.colorspace
        if colorspace in _UNSPECIFIED:  # what players assume, by size
            colorspace = Colorspace.ITU709 if frame.height >= 720 or frame.width >= 1280 else Colorspace.ITU601
        is_even = frame.width % 2 == 0 and frame.height % 2 == 0
        matrix = _MATRICES.get(colorspace)
        if frame.format.name in ("yuv420p", "yuvj420p") and is_even and matrix and frame.color_trc not in _HDR:
            full_range = frame.format.name == "yuvj420p" or frame.color_range == ColorRange.JPEG
            return yuv.i420_to_rgb(np.asarray(frame.to_ndarray(), np.uint8), matrix=matrix, full_range=full_range)
        hdr = frame.color_trc in _HDR
        converted = self._reformatter.reformat(
            frame,
            format="rgb24",
            src_colorspace=colorspace,
            dst_color_range=ColorRange.JPEG,
            dst_color_trc=ColorTrc.BT709 if hdr else None,
            dst_color_primaries=ColorPrimaries.BT709 if hdr else None,
            interpolation=Interpolation.BICUBIC | Interpolation.ACCURATE_RND | Interpolation.FULL_CHR_H_INT,
            threads=1,
        )
        return np.asarray(converted.to_ndarray(), np.uint8)


# AVColorSpace's numbers: RGB, unspecified and reserved say nothing; 1 is BT.709; 5 and 6 share the matrix of BT.601.
_UNSPECIFIED = (0, 2, 3)
_MATRICES = {1: "bt709", 5: "bt601", 6: "bt601"}
