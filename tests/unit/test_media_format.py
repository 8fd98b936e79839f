"""Files are known by their bytes: ones that Pillow and FFmpeg write, and the recordings of the shared data."""

from __future__ import annotations

import io
import json

import av
import numpy as np
import pytest
from PIL import Image

from services.domain.media_format import START_BYTES, format_of


@pytest.mark.parametrize("name", ["JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "AVIF"])
def test_pictures_as_pillow_writes_them(name):
    file = io.BytesIO()
    Image.new("RGB", (64, 48), "red").save(file, format=name)
    found = format_of(file.getvalue()[:START_BYTES])
    assert found is not None
    assert (found.name.upper(), found.families) == (name, {"image"})


@pytest.mark.parametrize(
    ("container", "codec", "family"),
    [
        ("wav", "pcm_s16le", "audio"),
        ("mp3", "libmp3lame", "audio"),
        ("adts", "aac", "audio"),
        ("flac", "flac", "audio"),
        ("ogg", "libopus", "audio"),
        ("ipod", "aac", "audio"),
        ("webm", "libopus", "audio"),
        ("aiff", "pcm_s16be", "audio"),
        ("mp4", "libx264", "video"),
        ("mov", "libx264", "video"),
        ("webm", "libvpx-vp9", "video"),
        ("matroska", "libx264", "video"),
        ("avi", "mpeg4", "video"),
        ("mpegts", "libx264", "video"),
    ],
)
def test_sound_and_video_as_ffmpeg_writes_them(container, codec, family):
    file = io.BytesIO()
    with av.open(file, "w", format=container) as out:
        if family == "audio":
            stream = out.add_stream(codec, rate=48_000)
            frame = av.AudioFrame.from_ndarray(np.zeros((1, 9600), np.int16), format="s16", layout="mono")
            frame.sample_rate = 48_000
        else:
            stream = out.add_stream(codec, rate=25)
            stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
            frame = av.VideoFrame.from_ndarray(np.zeros((48, 64, 3), np.uint8), format="rgb24")
        out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    start = file.getvalue()[:START_BYTES]
    found = format_of(start)
    assert found is not None
    assert family in found.families
    if container == "mp3":
        bare = start[start.index(b"\xff\xfb") :]
        for padded in (bare, b"\0" * 1000 + bare, bare[200:]):
            again = format_of(padded)
            assert again is not None
            assert again.families == {"audio"}


def test_heic_by_its_brand():
    found = format_of(b"\0\0\0\x24ftypheic\0\0\0\0mif1heic")
    assert found is not None
    assert (found.name, found.families) == ("HEIC", {"image"})


@pytest.mark.parametrize(
    "start",
    [
        b"",
        b"plain words",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        b"<!doctype html><script>alert(1)</script>",
        "BMW 很好".encode(),
        json.dumps({"a": 1}).encode(),
        b"MZ\x90\0\x03\0\0\0\x04\0\0\0",
        b"\x7fELF\x02\x01\x01\0",
        b"RIFF\x10\0\0\0ACON",
        bytes(4096),
    ],
)
def test_what_is_no_media_has_no_format(start):
    assert format_of(start) is None


@pytest.mark.parametrize(("start", "name"), [(b"%PDF-1.7", "PDF"), (b"PK\x03\x04\x14\0", "ZIP")])
def test_documents_are_named_but_are_no_media(start, name):
    found = format_of(start)
    assert found is not None
    assert found.name == name
    assert not found.families & {"image", "audio", "video"}


def test_every_file_of_the_shared_data_is_known(shared_data):
    files = [
        *((path, "audio") for path in (shared_data / "speech").iterdir() if path.suffix in (".wav", ".mp3", ".m4a")),
        *((path, "image") for path in shared_data.rglob("*.jpg")),
        *((path, "video") for path in shared_data.rglob("*.mp4")),
    ]
    assert files
    for path, family in files:
        with path.open("rb") as file:
            found = format_of(file.read(START_BYTES))
        assert found is not None, path.name
        assert family in found.families, path.name
