"""Any recording as mono samples at 48 kHz."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import soxr
from av.audio.stream import AudioStream
from av.container import InputContainer
from numpy.typing import NDArray

from models.video.container import display_name, opened, require_content, unreadable, unsupported
from services.domain.errors import ContentRejected

SAMPLE_RATE_HZ = 48_000
# Containers that state the exact length of a track, so that a shorter one is known to be cut off.
_EXACT_FORMATS = ("mov", "flac")
_MISSING_S, _MISSING_SHARE = 0.25, 0.02
_LAST_FRAME = 2048  # samples in the longest codec frame of these containers (HE-AAC)
# Holes in the time stamps (lost network packets, paused recorders) become silence, as players do.
_HOLE_MIN_S, _HOLE_MAX_S = 0.1, 60.0
# Beyond any recorder; at a billion hertz such a hole would be gigabytes of silence.
_MAX_RATE_HZ, _MAX_CHANNELS = 768_000, 64
# Channels quieter than this share of the loudest hold no voice (an unplugged second microphone).
_SILENT_SHARE = 0.03


@dataclass(frozen=True, slots=True, kw_only=True)
class Audio:
    """A decoded recording.

    Attributes:
        samples: float32, mono, shape ``(num_samples,)``, within -1 to 1, without DC offset.
        sample_rate_hz: Always 48000.
        source_sample_rate_hz, source_channels, codec: What the file held.
        notes: What was done that the client should know.
    """

    samples: NDArray[np.float32]
    sample_rate_hz: int
    source_sample_rate_hz: int
    source_channels: int
    codec: str
    notes: tuple[str, ...] = ()

    @property
    def duration_s(self) -> float:
        return len(self.samples) / self.sample_rate_hz


def load_audio(path: Path, *, max_duration_s: float = 1800.0, name: str | None = None) -> Audio:
    """The sound of any file, its encoder's delay removed; several channels are mixed, silent ones left out.

    Raises:
        ContentRejected: ``empty_file``, ``no_audio_stream``, ``unsupported_media`` (no media at all),
            ``unreadable_media`` (damaged or cut off), ``audio_too_long``.
    """
    shown = display_name(path, name)
    require_content(path, shown)
    with opened(path, shown) as container:
        stream = _stream(container, shown)
        rate_hz, channels = stream.codec_context.sample_rate, stream.codec_context.channels
        if not rate_hz or not channels:
            raise unreadable(shown, "it states no sample rate or no channels")
        if rate_hz > _MAX_RATE_HZ or channels > _MAX_CHANNELS:
            raise unsupported(shown, f"it states {channels} channels at {rate_hz:,} Hz")
        declared_s = _declared_s(path, container, stream)
        _require_short(shown, declared_s, max_duration_s)
        codec = stream.codec_context.name
    weights = _channel_weights(path, shown, max_duration_s) if channels > 1 else None

    mixed = _Growing(round(declared_s * SAMPLE_RATE_HZ))
    resampler: soxr.ResampleStream | None = None
    if rate_hz != SAMPLE_RATE_HZ:
        resampler = soxr.ResampleStream(rate_hz, SAMPLE_RATE_HZ, 1, dtype="float32")
    num_source = 0
    for block in _blocks(path, shown, rate_hz):
        num_source += block.shape[1]
        _require_short(shown, num_source / rate_hz, max_duration_s, so_far=True)
        mono = block[0] if weights is None or len(weights) != len(block) else weights @ block
        mixed.append(mono if resampler is None else resampler.resample_chunk(mono))
    if resampler is not None:
        mixed.append(resampler.resample_chunk(np.zeros(0, np.float32), last=True))
    if num_source == 0:
        raise ContentRejected(f'"{shown}" holds no sound (0 samples). Upload the recording again.', code="empty_file")
    missing_s = declared_s - num_source / rate_hz
    if missing_s > _MISSING_S and missing_s > _MISSING_SHARE * declared_s:
        raise unreadable(shown, f"it is cut off: {num_source / rate_hz:.1f} s of {declared_s:.1f} s are there")

    # A resampler's tail may differ by a sample; the length follows from the source's alone.
    length = round(num_source * SAMPLE_RATE_HZ / rate_hz)
    if -missing_s * rate_hz <= _LAST_FRAME and declared_s:
        # The container's end cuts into the last codec frame: what follows is the encoder's padding.
        length = min(length, round(declared_s * SAMPLE_RATE_HZ))
    samples = mixed.cut(length)
    notes = _level(samples, shown)
    return Audio(
        samples=samples,
        sample_rate_hz=SAMPLE_RATE_HZ,
        source_sample_rate_hz=rate_hz,
        source_channels=channels,
        codec=codec,
        notes=notes,
    )


class _Growing:
    """Samples of a length not known before; half an hour of them must not be held twice."""

    def __init__(self, expected: int) -> None:
        self._samples = np.zeros(expected + SAMPLE_RATE_HZ, np.float32)
        self._used = 0

    def append(self, block: NDArray[np.float32]) -> None:
        end = self._used + len(block)
        if end > len(self._samples):
            self._samples.resize(end * 3 // 2, refcheck=False)
        self._samples[self._used : end] = block
        self._used = end

    def cut(self, length: int) -> NDArray[np.float32]:
        """The first ``length`` samples, silence where there are fewer."""
        self._samples[self._used :] = 0
        self._samples.resize(length, refcheck=False)
        return self._samples


def _stream(container: InputContainer, name: str) -> AudioStream:
    if not container.streams.audio:
        raise ContentRejected(
            f'"{name}" has no sound track. Upload a recording, or a video with sound.', code="no_audio_stream"
        )
    stream = container.streams.best("audio") or container.streams.audio[0]
    if not isinstance(stream, AudioStream) or stream.codec_context is None:
        raise unsupported(name, "its sound has an unknown codec")
    return stream


def _declared_s(path: Path, container: InputContainer, stream: AudioStream) -> float:
    if container.format.name == "wav":  # ffmpeg goes by what is there, not by what the header states
        bytes_a_second = (stream.codec_context.bit_rate or 0) / 8
        return _wav_data_bytes(path) / bytes_a_second if bytes_a_second else 0.0
    exact = any(container.format.name.startswith(kind) for kind in _EXACT_FORMATS)
    if not exact or stream.duration is None or stream.time_base is None:
        return 0.0
    return float(stream.duration * stream.time_base)


def _wav_data_bytes(path: Path) -> int:
    """Length of the sound as a WAV header states it; 0 where the writer could not know it."""
    with path.open("rb") as file:
        file.seek(12)
        while len(head := file.read(8)) == 8:
            kind, length = struct.unpack("<4sI", head)
            if kind == b"data":
                return int(length) if length < 0x7FFF0000 else 0
            file.seek(length + length % 2, 1)
    return 0


def _require_short(name: str, duration_s: float, max_duration_s: float, *, so_far: bool = False) -> None:
    if duration_s > max_duration_s:
        lasts = f"over {max_duration_s:g} s" if so_far else f"{duration_s:.1f} s"
        raise ContentRejected(
            f'"{name}" lasts {lasts}; at most {max_duration_s:g} s are accepted. Cut it, or send it in parts.',
            code="audio_too_long",
        )


def _blocks(path: Path, name: str, rate_hz: int) -> Iterator[NDArray[np.float32]]:
    """Decoded blocks (channels, n) as float32; ffmpeg has already dropped the encoder's delay and padding."""
    with opened(path, name) as container:
        stream = _stream(container, name)
        stream.codec_context.thread_count = 1
        planar = av.AudioResampler(format="fltp")
        expected: Fraction | None = None
        for packet in container.demux(stream):
            try:
                frames = packet.decode()
            except av.InvalidDataError as error:
                if packet.dts is None and packet.pts is None:  # the flush: nothing more to come
                    return
                raise unreadable(name, "its sound data is damaged") from error
            for frame in frames:
                if frame.sample_rate != rate_hz:
                    raise unreadable(name, f"its sample rate changes midway, {rate_hz} to {frame.sample_rate} Hz")
                if frame.pts is not None and frame.time_base is not None:
                    start = frame.pts * frame.time_base
                    hole_s = float(start - expected) if expected is not None else 0.0
                    if _HOLE_MIN_S < hole_s < _HOLE_MAX_S:
                        yield np.zeros((len(frame.layout.channels), round(hole_s * rate_hz)), np.float32)
                    expected = start + Fraction(frame.samples, rate_hz)
                for converted in planar.resample(frame):
                    block: NDArray[np.float32] = converted.to_ndarray()  # type: ignore[assignment]
                    if not np.isfinite(block).all():
                        raise unreadable(name, "its samples are not numbers")
                    yield block


def _channel_weights(path: Path, name: str, max_duration_s: float) -> NDArray[np.float32]:
    """How much of each channel goes into the mix.

    Channels that hold sound are averaged. Where that would cancel (one of two wires swapped), the loudest is taken.
    """
    energy: NDArray[np.float64] | None = None
    products: NDArray[np.float64] | None = None
    with opened(path, name) as container:
        rate_hz = _stream(container, name).codec_context.sample_rate
    num_samples = 0
    for block in _blocks(path, name, rate_hz):
        num_samples += block.shape[1]
        _require_short(name, num_samples / rate_hz, max_duration_s, so_far=True)
        product = (block @ block.T).astype(np.float64)
        products = product if products is None or products.shape != product.shape else products + product
    if products is None:
        return np.ones(1, np.float32)
    energy = np.diag(products)
    active = np.sqrt(energy) > _SILENT_SHARE * np.sqrt(energy.max(initial=0.0))
    if not active.any():
        return np.full(len(energy), 1.0 / len(energy), np.float32)
    weights = active / active.sum()
    mixed = float(weights @ products @ weights)
    if mixed < 0.1 * float(energy.max()):
        weights = np.eye(len(energy))[int(energy.argmax())]
    return np.asarray(weights, np.float32)


def _level(samples: NDArray[np.float32], name: str) -> tuple[str, ...]:
    """Removes DC and overshoot in place; tells what was found."""
    notes = []
    offset = float(samples.mean(dtype=np.float64))
    if abs(offset) > 1e-4:
        samples -= np.float32(offset)
    if abs(offset) > 0.02:
        notes.append(f'"{name}" had a constant offset of {offset:+.3f}, which was removed.')
    peak = float(max(samples.max(), -samples.min()))
    seconds = range(0, len(samples), SAMPLE_RATE_HZ)
    num_clipped = sum(np.count_nonzero(np.abs(samples[at : at + SAMPLE_RATE_HZ]) > 0.999) for at in seconds)
    clipped = num_clipped / len(samples)
    if clipped > 1e-3:
        notes.append(f'"{name}" is clipped in {clipped:.1%} of its samples; it will sound harsh.')
    if peak > 1.0:
        samples /= np.float32(peak)
    return tuple(notes)
