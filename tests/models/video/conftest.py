"""Small media files that the tests make themselves, with PyAV, Pillow and the standard library."""

from __future__ import annotations

import wave
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from numpy.typing import NDArray

# What people really call their files.
AWKWARD_NAMES = (
    "产品 视频",
    'it\'s "quoted"',
    "a b  c",
    "semi;colon & $(touch x)",
    "con:colon",
    "%03d",
    "-dash",
    "naïve 🎬",
)


@pytest.fixture
def make_video(tmp_path: Path) -> Callable[..., Path]:
    def make(
        *,
        name: str = "clip.mp4",
        num_frames: int = 30,
        fps: Fraction | int = 30,
        size: tuple[int, int] = (64, 48),
        times: Sequence[Fraction] | None = None,
        codec: str = "libx264",
        pix_fmt: str = "yuv420p",
        gop: int = 12,
        frame: Callable[[int], NDArray[np.uint8]] | None = None,
        rotation: int | None = None,
        sound: NDArray[np.float32] | None = None,
        container_options: dict[str, str] | None = None,
        container_format: str | None = None,
    ) -> Path:
        """A clip whose frame number i is a grey of 16 + 5 * (i % 40), or ``frame(i)``; ``times`` makes it variable."""
        path = tmp_path / name
        with av.open(str(path), "w", format=container_format or "mp4", options=container_options or {}) as container:
            stream = container.add_stream(codec, rate=fps, options={"crf": "8"} if codec == "libx264" else {})
            stream.width, stream.height = size
            stream.pix_fmt = pix_fmt
            stream.gop_size = gop
            time_base = Fraction(1, 90_000)
            stream.time_base = time_base
            stream.codec_context.time_base = time_base
            if rotation is not None:
                stream.set_display_rotation(rotation)
            audio = None
            if sound is not None:
                audio = container.add_stream("aac", rate=48_000, layout="mono")
            for index in range(num_frames):
                pixels = frame(index) if frame else np.full((size[1], size[0], 3), 16 + 5 * (index % 40), np.uint8)
                picture = av.VideoFrame.from_ndarray(pixels, format="rgb24")
                time = times[index] if times is not None else index / Fraction(fps)
                picture.pts = round(time / time_base)
                picture.time_base = time_base
                container.mux(stream.encode(picture))
            container.mux(stream.encode(None))
            if audio is not None and sound is not None:
                samples = av.AudioFrame.from_ndarray(sound[None], format="fltp", layout="mono")
                samples.sample_rate = 48_000
                samples.pts = 0
                container.mux(audio.encode(samples))
                container.mux(audio.encode(None))
        return path

    return make


@pytest.fixture
def make_wav(tmp_path: Path) -> Callable[..., Path]:
    def make(samples: NDArray[np.float32], *, rate_hz: int = 48_000, width: int = 2, name: str = "sound.wav") -> Path:
        """``samples`` (n,) or (n, channels) in whole numbers of ``width`` bytes."""
        path = tmp_path / name
        table = samples[:, None] if samples.ndim == 1 else samples
        top = 2 ** (8 * width - 1) - 1
        values = np.round(np.clip(table, -1, 1) * top).astype("<i4")
        if width == 1:
            data = (values + 128).astype(np.uint8).tobytes()
        else:
            data = values.reshape(-1, 1).view(np.uint8).reshape(-1, 4)[:, :width].tobytes()
        with wave.open(str(path), "wb") as file:
            file.setnchannels(table.shape[1])
            file.setsampwidth(width)
            file.setframerate(rate_hz)
            file.writeframes(data)
        return path

    return make


def tone(duration_s: float, *, rate_hz: int = 48_000, hz: float = 440.0, level: float = 0.5) -> NDArray[np.float32]:
    return (level * np.sin(2 * np.pi * hz * np.arange(round(duration_s * rate_hz)) / rate_hz)).astype(np.float32)


def dominant_hz(samples: NDArray[np.float32], rate_hz: int) -> float:
    """The strongest frequency, by Fourier transform."""
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples))))
    return float(spectrum.argmax() * rate_hz / len(samples))
