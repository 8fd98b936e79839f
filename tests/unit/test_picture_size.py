"""Sizes from headers, compared with what Pillow writes."""

from __future__ import annotations

import io
import struct

import pytest
from PIL import Image

from services.domain.media_format import START_BYTES
from services.domain.picture_size import size_of


def encoded(kind: str, size: tuple[int, int], **options: object) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", size, (200, 30, 90)).save(file, kind, **options)
    return file.getvalue()[:START_BYTES]


@pytest.mark.parametrize("size", [(1, 1), (3, 700), (701, 2), (640, 480)])
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("PNG", {}),
        ("GIF", {}),
        ("BMP", {}),
        ("JPEG", {}),
        ("JPEG", {"progressive": True}),
        ("JPEG", {"exif": b"Exif\0\0" + bytes(1000)}),
        ("WEBP", {}),
        ("WEBP", {"lossless": True}),
        ("WEBP", {"exif": b"Exif\0\0" + bytes(20)}),
    ],
)
def test_size_is_the_encoders(kind, options, size):
    assert size_of(encoded(kind, size, **options)) == size


def test_animations_state_their_canvas():
    file = io.BytesIO()
    frames = [Image.new("RGB", (50, 20), (shade, 0, 0)) for shade in (0, 200)]
    frames[0].save(file, "WEBP", save_all=True, append_images=frames[1:])
    assert size_of(file.getvalue()[:START_BYTES]) == (50, 20)


def test_bitmap_that_is_stored_from_the_top_has_a_size_too():
    head = b"BM" + bytes(12) + struct.pack("<Iii", 40, 30, -20) + bytes(20)
    assert size_of(head) == (30, 20)
    assert size_of(b"BM" + bytes(12) + struct.pack("<IHH", 12, 30, 20)) == (30, 20)


@pytest.mark.parametrize("kind", ["PNG", "GIF", "BMP", "JPEG", "WEBP"])
def test_cut_off_header_tells_nothing_or_the_size(kind):
    whole = encoded(kind, (640, 480))
    for length in range(min(len(whole), 700)):
        assert size_of(whole[:length]) in (None, (640, 480))


@pytest.mark.parametrize(
    "start", [b"", b"\xff\xd8\xff", b"\xff\xd8\xff\xe0\0\0" * 700, b"RIFF\0\0\0\0WAVE", b"II*\0", b"%PDF"]
)
def test_what_does_not_tell_its_size_has_none(start):
    assert size_of(start) is None
