"""Small files that would become huge, slow or another file than they seem: refused, or read within bounds.

Bounds are of what is read and allocated, not of time.
"""

from __future__ import annotations

import io
import struct
import tracemalloc
import wave
import zlib
from pathlib import Path

import pytest
from PIL import Image, TiffImagePlugin

from models.video.audio import load_audio
from models.video.picture import PictureSource
from models.video.source import open_source
from services.domain.errors import ContentRejected
from tests.models.video.test_pictures import png_chunk


def png(width: int, height: int, *chunks: bytes) -> bytes:
    header = png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    pixels = png_chunk(
        b"IDAT", zlib.compress(b"".join(b"\0" + bytes(3 * min(width, 8)) for _ in range(min(height, 8))))
    )
    return b"\x89PNG\r\n\x1a\n" + header + b"".join(chunks) + pixels + png_chunk(b"IEND", b"")


def compressed(kind: bytes, size_bytes: int) -> bytes:
    """A chunk of text or a colour profile that unpacks to ``size_bytes``."""
    return png_chunk(kind, b"k\0\0" + zlib.compress(bytes(size_bytes), 9))


def webp(width: int, height: int, num_frames: int = 1) -> bytes:
    """An animation with a canvas of any size and frames of 2x2."""
    encoded = io.BytesIO()
    Image.new("RGB", (2, 2)).save(encoded, "WEBP", lossless=True)
    place = struct.pack("<I", 0)[:3] * 2 + struct.pack("<I", 1)[:3] * 2 + struct.pack("<I", 100)[:3] + b"\0"
    frame = place + encoded.getvalue()[12:]
    frame += b"\0" * (len(frame) % 2)
    canvas = bytes([2, 0, 0, 0]) + struct.pack("<I", width - 1)[:3] + struct.pack("<I", height - 1)[:3]
    body = b"WEBP" + b"VP8X" + struct.pack("<I", 10) + canvas + b"ANIM" + struct.pack("<I", 6) + bytes(6)
    body += (b"ANMF" + struct.pack("<I", len(frame)) + frame) * num_frames
    return b"RIFF" + struct.pack("<I", len(body)) + body


def gif(num_frames: int, size: tuple[int, int] = (16, 16)) -> bytes:
    """An animation whose canvas is of any size and whose frames are 16x16."""
    encoded = io.BytesIO()
    first, second = Image.new("P", (16, 16), 0), Image.new("P", (16, 16), 1)
    first.save(encoded, "GIF", save_all=True, append_images=[second], duration=10)
    data = encoded.getvalue()
    last = data.rindex(b"\x21\xf9\x04")
    data = data[:last] + data[last:-1] * num_frames + b";"
    return data[:6] + struct.pack("<HH", *size) + data[10:]


def tiff(num_directories: int, size: tuple[int, int] = (8, 8)) -> bytes:
    """Grey pictures of 8x8, one behind another, each with a directory of its own."""
    data = bytearray(b"II*\0" + struct.pack("<I", 8))
    for number in range(num_directories):
        place = len(data) + 2 + 12 * 9 + 4
        tags = (
            (256, size[0]), (257, size[1]), (258, 8), (259, 1), (262, 1), (273, place), (277, 1), (278, size[1]),
            (279, 64),
        )  # fmt: skip
        data += struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags)
        data += struct.pack("<I", place + 64 if number < num_directories - 1 else 0) + bytes(64)
    return bytes(data)


HUGE = [
    png(60_000, 60_000),
    png(9_000, 9_000),
    webp(16_383, 16_383),
    webp(9_000, 9_000),
    gif(1, (65_535, 65_535)),
    gif(1, (9_000, 9_000)),
    tiff(1, (60_000, 60_000)),
]


@pytest.mark.parametrize("data", HUGE, ids=lambda data: f"{data[:4]!r} {len(data)} bytes")
def test_huge_picture_of_few_bytes_is_refused_before_its_pixels_are_made(tmp_path: Path, data: bytes) -> None:
    assert len(data) < 5_000
    path = tmp_path / "picture"
    path.write_bytes(data)
    tracemalloc.start()
    try:
        with pytest.raises(ContentRejected) as caught:
            open_source(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert caught.value.code == "picture_too_large"
    assert peak < 5_000_000


@pytest.mark.parametrize("chunk", [compressed(b"zTXt", 300_000_000), compressed(b"iCCP", 300_000_000)])
def test_text_and_profile_that_unpack_to_hundreds_of_megabytes_are_not_unpacked(tmp_path: Path, chunk: bytes) -> None:
    path = tmp_path / "picture.png"
    path.write_bytes(png(8, 8, chunk))
    tracemalloc.start()
    try:
        with pytest.raises(ContentRejected) as caught:
            open_source(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert caught.value.code == "unreadable_media"
    assert peak < 70_000_000


class _Counted(io.BytesIO):
    num_read = 0

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self.num_read += len(data)
        return data


@pytest.mark.parametrize(
    ("data", "kind"), [(gif(20_000), "GIF"), (tiff(20_000), "TIFF"), (webp(64, 64, 20_000), "WEBP")]
)
def test_picture_of_thousands_of_frames_gives_its_first_and_says_so(tmp_path: Path, data: bytes, kind: str) -> None:
    path = tmp_path / "picture"
    path.write_bytes(data)
    source = open_source(path)
    assert isinstance(source, PictureSource)
    assert any("animated" in note for note in source.notes)
    assert source.rgb.shape[:2] in ((16, 16), (8, 8), (64, 64))


def test_directories_behind_the_second_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counting 100,000 of them takes most of a minute."""
    read = []
    real = TiffImagePlugin.ImageFileDirectory_v2.load
    monkeypatch.setattr(
        TiffImagePlugin.ImageFileDirectory_v2, "load", lambda self, file: (read.append(1), real(self, file))[1]
    )
    path = tmp_path / "picture.tiff"
    path.write_bytes(tiff(500))
    assert isinstance(open_source(path), PictureSource)
    assert len(read) < 10


def test_tiff_of_one_picture_is_not_called_animated(tmp_path: Path) -> None:
    path = tmp_path / "picture.tiff"
    path.write_bytes(tiff(1))
    source = open_source(path)
    assert isinstance(source, PictureSource)
    assert source.notes == ()


def test_directories_in_a_ring_end(tmp_path: Path) -> None:
    data = bytearray(tiff(2))
    second = data.index(struct.pack("<H", 9), 20)
    end = second + 2 + 12 * 9
    data[end : end + 4] = struct.pack("<I", 8)
    path = tmp_path / "picture.tiff"
    path.write_bytes(bytes(data))
    assert isinstance(open_source(path), PictureSource)


@pytest.mark.parametrize(
    "content", [b"PK\x03\x04" + bytes(200), b"7z\xbc\xaf\x27\x1c" + bytes(200), b"\x1f\x8b\x08" + bytes(99)]
)
def test_archive_is_neither_sound_nor_picture(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "sound.wav"
    path.write_bytes(content)
    for read in (load_audio, open_source):
        with pytest.raises(ContentRejected) as caught:
            read(path)
        assert caught.value.code in ("unsupported_media", "unreadable_media")


@pytest.mark.parametrize(("rate_hz", "channels"), [(4_000_000_000, 1), (1_000_000, 2), (48_000, 200)])
def test_sound_of_impossible_rate_or_channels_is_refused(tmp_path: Path, rate_hz: int, channels: int) -> None:
    path = tmp_path / "sound.wav"
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(48_000)
        file.writeframes(bytes(2 * channels * 4_800))
    data = bytearray(path.read_bytes())
    data[24:28] = struct.pack("<I", rate_hz)
    path.write_bytes(bytes(data))
    with pytest.raises(ContentRejected) as caught:
        load_audio(path)
    assert caught.value.code in ("unsupported_media", "unreadable_media")


def test_archive_behind_a_sound_is_not_opened(tmp_path: Path) -> None:
    """A file that is both: what is read is the sound."""
    path = tmp_path / "sound.wav"
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16_000)
        file.writeframes(b"\x00\x10" * 16_000)
    path.write_bytes(path.read_bytes() + b"PK\x03\x04" + b"archive" * 100)
    assert load_audio(path).duration_s == pytest.approx(1.0, abs=0.05)
