"""Writes a film frame by frame: H.264 and AAC in mp4, ready to stream."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Self

import av
import numpy as np
import soxr
from av.audio.stream import AudioStream
from av.video.reformatter import ColorPrimaries, ColorRange, Colorspace, ColorTrc
from av.video.stream import VideoStream
from numpy.typing import NDArray

from models.video import yuv
from services.domain.errors import EngineFailed

AUDIO_RATE_HZ = 48_000
_AAC_FRAME = 1024
_AUDIO_BIT_RATE = 128_000
# On speech at this bit rate ffmpeg's fast search is nearer to the original (43 dB against 37) in 60 % of the time.
_AAC = {"aac_coder": "fast"}
# Measured on talking heads, 512x512, one core: 884 frames a second at SSIM .987 and 345 kbit/s, where plain veryfast
# crf 20 gives 569 at .985 and 276. Lookahead with its macroblock tree is worth its time (superfast has none and needs
# three to four times the bits); split inter partitions, quarter-pixel refinement and weighted prediction are not, on
# pictures in which only a head moves. `benchmarks/film.py` repeats it.
_X264 = {
    "preset": "veryfast",
    "crf": "19",
    "x264-params": (
        "bframes=3:b-adapt=0:subme=1:weightp=0:partitions=i8x8,i4x4:"
        "colorprim=bt709:transfer=bt709:colormatrix=bt709:range=tv:chromaloc=1"
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoFacts:
    """What was written.

    Attributes:
        has_audio: Whether there is a sound track; it is exactly as long as the pictures.
    """

    path: Path
    width: int
    height: int
    fps: Fraction
    num_frames: int
    duration_s: float
    size_bytes: int
    has_audio: bool
    video_codec: str = "h264"
    audio_codec: str = "aac"


class VideoWriter:
    """An mp4 that grows by one frame a call; memory does not grow with its length.

    The file appears under its name only when ``close`` has verified it. As a context manager it closes at the end, and
    leaves nothing behind when the block raises.

    Args:
        path: Where to write; any name works.
        width, height: Even.
        fps: Whole or rational.
        samples: float32 of shape (n,) or (n, 2), -1 to 1; None for a silent film. Sound longer than the frames is cut,
            shorter sound is followed by silence.
        sample_rate_hz: Of ``samples``; other rates than 48000 are resampled as they are written.
        threads: Of the encoder.
        metadata: Tags of the container's ``moov.udta.meta``, under any name.
    """

    def __init__(
        self,
        path: Path,
        *,
        width: int,
        height: int,
        fps: Fraction | int,
        samples: NDArray[np.float32] | None = None,
        sample_rate_hz: int = AUDIO_RATE_HZ,
        threads: int = 1,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        if width % 2 or height % 2:
            raise ValueError(f"the film's sides must be even, not {width}x{height}")
        self._path = path
        self._partial = path.with_name(f".{path.name[-100:]}.partial")
        self._size = (width, height)
        self._fps = Fraction(fps)
        self._num_frames = 0
        self._facts: VideoFacts | None = None
        # "file:" keeps ffmpeg from reading a colon in the name as a protocol.
        # Without use_metadata_tags ffmpeg writes the tags that iTunes knows and drops the rest in silence.
        flags = "+faststart+use_metadata_tags" if metadata else "+faststart"
        self._container = av.open(f"file:{self._partial}", "w", format="mp4", options={"movflags": flags})
        self._container.metadata.update(metadata or {})
        self._video = self._add_video(threads)
        self._audio: AudioStream | None = None
        if samples is not None:
            self._audio = self._container.add_stream("aac", rate=AUDIO_RATE_HZ, options=dict(_AAC))
            channels = 1 if samples.ndim == 1 else samples.shape[1]
            self._audio.codec_context.layout = "mono" if channels == 1 else "stereo"
            self._audio.codec_context.bit_rate = _AUDIO_BIT_RATE
            self._blocks = _aac_blocks(np.atleast_2d(samples.T), sample_rate_hz)
        self._audio_position = 0

    def _add_video(self, threads: int) -> VideoStream:
        stream = self._container.add_stream("libx264", rate=self._fps, options=dict(_X264))
        stream.width, stream.height = self._size
        stream.pix_fmt = "yuv420p"
        context = stream.codec_context
        context.time_base = 1 / self._fps
        stream.time_base = 1 / self._fps
        context.thread_count = threads
        # A key frame every two seconds: players seek to it, and social networks cut at it.
        context.gop_size = round(2 * self._fps)
        context.color_range = ColorRange.MPEG
        context.color_primaries = ColorPrimaries.BT709
        context.color_trc = ColorTrc.BT709
        context.colorspace = Colorspace.ITU709
        return stream

    def write(self, frame: NDArray[np.uint8]) -> None:
        """Appends a frame: I420 ``(height * 3 // 2, width)``, taken as it is, or RGB ``(height, width, 3)``.

        The array may be reused once this returns.
        """
        width, height = self._size
        if frame.shape == (height, width, 3):
            frame = yuv.rgb_to_i420(frame)
        elif frame.shape != (height * 3 // 2, width):
            raise ValueError(f"a frame of shape {frame.shape} does not fit a film of {width}x{height}")
        picture = av.VideoFrame.from_numpy_buffer(np.ascontiguousarray(frame), format="yuv420p")
        picture.pts = self._num_frames
        picture.time_base = 1 / self._fps
        self._container.mux(self._video.encode(picture))
        self._num_frames += 1
        self._write_audio(self._num_frames / self._fps)

    def close(self) -> VideoFacts:
        """Finishes the file and checks it.

        Raises:
            EngineFailed: ``empty_output`` when no frame was written, ``damaged_output`` when the file is not whole.
        """
        if self._facts is not None:
            return self._facts
        if self._num_frames == 0:
            self.abort()
            raise EngineFailed("No frame was made, so there is no film.", code="empty_output")
        try:
            self._container.mux(self._video.encode(None))
            if self._audio is not None:
                self._write_audio(self._num_frames / self._fps, last=True)
                self._container.mux(self._audio.encode(None))
            self._container.close()
            self._facts = self._verified()
        except (av.FFmpegError, EngineFailed):
            self.abort()
            raise
        self._partial.replace(self._path)
        return self._facts

    def abort(self) -> None:
        """Drops what was written."""
        with contextlib.suppress(av.FFmpegError):
            self._container.close()
        self._partial.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    def _write_audio(self, until_s: Fraction, *, last: bool = False) -> None:
        """Encodes sound up to the picture's time, so that neither waits in memory for the other."""
        if self._audio is None:
            return
        end = round(until_s * AUDIO_RATE_HZ)
        while self._audio_position < end and (last or self._audio_position + _AAC_FRAME <= end):
            block = next(self._blocks)[:, : end - self._audio_position]
            sound = av.AudioFrame.from_ndarray(
                np.ascontiguousarray(block), format="fltp", layout="mono" if len(block) == 1 else "stereo"
            )
            sound.sample_rate = AUDIO_RATE_HZ
            sound.time_base = Fraction(1, AUDIO_RATE_HZ)
            sound.pts = self._audio_position
            self._audio_position += block.shape[1]
            self._container.mux(self._audio.encode(sound))

    def _verified(self) -> VideoFacts:
        size_bytes = self._partial.stat().st_size
        with self._partial.open("rb") as file, av.open(file, "r", format="mp4") as container:
            streams = container.streams
            whole = len(streams.video) == 1 and streams.video[0].frames == self._num_frames
            whole = whole and len(streams.audio) == (self._audio is not None)
        if size_bytes == 0 or not whole:
            raise EngineFailed("The film that was written is not whole.", code="damaged_output", retryable=True)
        return VideoFacts(
            path=self._path,
            width=self._size[0],
            height=self._size[1],
            fps=self._fps,
            num_frames=self._num_frames,
            duration_s=float(self._num_frames / self._fps),
            size_bytes=size_bytes,
            has_audio=self._audio is not None,
        )


def _aac_blocks(samples: NDArray[np.float32], rate_hz: int) -> Iterator[NDArray[np.float32]]:
    """``samples`` (channels, n) at 48 kHz in blocks of 1024, then silence without end."""
    channels = len(samples)
    pending = np.zeros((channels, 0), np.float32)
    for second in _resampled(samples, rate_hz):
        pending = np.concatenate([pending, np.clip(second, -1.0, 1.0)], axis=1)
        whole = pending.shape[1] // _AAC_FRAME * _AAC_FRAME
        for start in range(0, whole, _AAC_FRAME):
            yield pending[:, start : start + _AAC_FRAME]
        pending = pending[:, whole:]
    yield np.pad(pending, ((0, 0), (0, _AAC_FRAME - pending.shape[1])))
    silence = np.zeros((channels, _AAC_FRAME), np.float32)
    while True:
        yield silence


def _resampled(samples: NDArray[np.float32], rate_hz: int) -> Iterator[NDArray[np.float32]]:
    length = samples.shape[1]
    if rate_hz == AUDIO_RATE_HZ:
        for start in range(0, length, rate_hz):
            yield samples[:, start : start + rate_hz]
        return
    stream = soxr.ResampleStream(rate_hz, AUDIO_RATE_HZ, len(samples), dtype="float32")
    for start in range(0, length, rate_hz):
        block = np.ascontiguousarray(samples[:, start : start + rate_hz].T, np.float32)
        done = stream.resample_chunk(block, last=start + rate_hz >= length)
        yield done.reshape(-1, len(samples)).T
