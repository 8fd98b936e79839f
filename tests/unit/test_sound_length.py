"""The length of recordings by their first bytes, against what ffmpeg's libraries wrote."""

from __future__ import annotations

import io
import wave
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import av
import numpy as np
import pytest

from services.domain.media_format import START_BYTES
from services.domain.sound_length import length_s

SECONDS = 12.5


def encoded(container: str, codec: str, rate_hz: int, options: dict[str, str] | None = None, **more: str) -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "sound"
        _encode(path, container, codec, rate_hz, options or {}, more)
        return path.read_bytes()


def _encode(
    path: Path, container: str, codec: str, rate_hz: int, options: dict[str, str], more: dict[str, str]
) -> None:
    with av.open(str(path), "w", format=container, options=more) as output:
        stream = output.add_stream(codec, rate=rate_hz, options=options)
        stream.layout = "mono"
        samples = (np.sin(np.arange(int(SECONDS * rate_hz)) / 20) * 20_000).astype(np.int16)
        frame = av.AudioFrame.from_ndarray(samples[None], format="s16", layout="mono")
        frame.sample_rate, frame.time_base, frame.pts = rate_hz, Fraction(1, rate_hz), 0
        fifo = av.AudioFifo()
        fifo.write(frame)
        resampler = av.AudioResampler(format=stream.format, layout="mono", rate=rate_hz, frame_size=1024)
        for part in [*resampler.resample(fifo.read()), *resampler.resample(None)]:
            output.mux(stream.encode(part))
        output.mux(stream.encode(None))


@pytest.mark.parametrize(
    ("container", "codec", "rate_hz", "options"),
    [
        ("mp3", "mp3", 44_100, {}),
        ("mp3", "mp3", 16_000, {}),
        ("mp3", "mp3", 8_000, {"b": "16000"}),
        ("mp3", "mp3", 48_000, {"q": "5"}),
        ("wav", "pcm_s16le", 8_000, {}),
        ("wav", "pcm_f32le", 48_000, {}),
        ("flac", "flac", 44_100, {}),
    ],
)
def test_length_is_told(container, codec, rate_hz, options):
    data = encoded(container, codec, rate_hz, options)
    assert length_s(data[:START_BYTES], len(data)) == pytest.approx(SECONDS, abs=0.2)


def test_mp3_without_a_header_of_its_own_is_told_by_its_bit_rate():
    data = encoded("mp3", "mp3", 44_100, {"b": "64000"}, write_xing="0")
    assert b"Xing" not in data[:START_BYTES]
    assert b"Info" not in data[:START_BYTES]
    assert length_s(data[:START_BYTES], len(data)) == pytest.approx(SECONDS, abs=0.2)


def test_m4a_is_told_where_its_index_comes_first():
    fast = encoded("mp4", "aac", 44_100, movflags="faststart")
    assert length_s(fast[:START_BYTES], len(fast)) == pytest.approx(SECONDS, abs=0.2)
    slow = encoded("mp4", "aac", 44_100)
    assert length_s(slow[:START_BYTES], len(slow)) is None


def test_a_wrong_number_of_bytes_a_second_in_a_wav_makes_it_no_shorter():
    file = io.BytesIO()
    with wave.open(file, "wb") as output:
        output.setnchannels(1)
        output.setsampwidth(2)
        output.setframerate(8_000)
        output.writeframes(b"\0\0" * 8_000 * 10)
    data = bytearray(file.getvalue())
    data[28:32] = (10**9).to_bytes(4, "little")
    assert length_s(bytes(data[:START_BYTES]), len(data)) == pytest.approx(10.0, abs=0.05)


@pytest.mark.parametrize(
    "start", [b"", b"RIFF", b"RIFF\0\0\0\0WAVEfmt ", b"fLaC\0", b"\xff\xfb", b"ID3", b"OggS", b"\0\0\0\x18ftyp"]
)
def test_what_tells_nothing_is_none(start):
    assert length_s(start, 1_000_000) is None


@pytest.mark.parametrize("kind", ["mp3", "wav", "flac"])
def test_any_cut_or_flipped_byte_breaks_nothing(kind):
    codec = {"mp3": "mp3", "wav": "pcm_s16le", "flac": "flac"}[kind]
    start = encoded(kind, codec, 44_100)[:300]
    for at in range(len(start)):
        for damaged in (start[:at], start[:at] + bytes([start[at] ^ 0xFF]) + start[at + 1 :]):
            found = length_s(damaged, 100_000)
            assert found is None or found >= 0
