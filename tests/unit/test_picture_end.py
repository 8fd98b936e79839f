"""Whether a picture is there to its end: against what Pillow writes."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from services.domain.picture_end import is_cut_off

PIXELS = np.random.default_rng(3).integers(0, 255, (90, 120, 3), dtype=np.uint8)


def picture(form: str, **options: object) -> bytes:
    file = io.BytesIO()
    Image.fromarray(PIXELS).save(file, form, **options)
    return file.getvalue()


def thumbnail_in_exif() -> bytes:
    exif = Image.Exif()
    exif[0x010E] = "\xff\xd9 is what a preview ends with"
    return picture("JPEG", exif=exif.tobytes() + b"\xff\xd8\xff\xda\0\x02..\xff\xd9")


PICTURES = {
    "baseline": picture("JPEG"),
    "progressive": picture("JPEG", progressive=True),
    "with a preview": thumbnail_in_exif(),
    "restart markers": picture("JPEG", restart_marker_rows=1),
    "png": picture("PNG"),
    "lossy webp": picture("WEBP"),
    "lossless webp": picture("WEBP", lossless=True),
}


@pytest.mark.parametrize("data", PICTURES.values(), ids=PICTURES)
def test_whole_picture_is_whole_whatever_stands_behind_it(data):
    assert not is_cut_off(io.BytesIO(data))
    assert not is_cut_off(io.BytesIO(data + b"a film, as telephones append it"))


@pytest.mark.parametrize("data", PICTURES.values(), ids=PICTURES)
@pytest.mark.parametrize("share", [0.02, 0.2, 0.5, 0.9, 0.99])
def test_picture_without_its_rest_is_cut_off(data, share):
    assert is_cut_off(io.BytesIO(data[: max(12, int(len(data) * share))]))


@pytest.mark.parametrize("data", PICTURES.values(), ids=PICTURES)
def test_one_byte_less_is_noticed(data):
    assert is_cut_off(io.BytesIO(data[:-1]))


def test_end_is_found_across_blocks(monkeypatch):
    monkeypatch.setattr("services.domain.picture_end._BLOCK_BYTES", 7)
    for padding in range(7):
        head = b"\xff\xd8\xff\xda\0\x02" + bytes(padding)
        assert not is_cut_off(io.BytesIO(head + b"\xff\xd9"))
        assert is_cut_off(io.BytesIO(head + b"\xff\0\xd9"))


@pytest.mark.parametrize("form", ["GIF", "BMP", "TIFF"])
def test_formats_that_do_not_tell_are_left_to_the_decoder(form):
    data = picture(form)
    assert not is_cut_off(io.BytesIO(data[: len(data) // 2]))
