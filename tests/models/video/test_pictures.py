from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageCms

from models.video.picture import PictureSource
from models.video.source import open_source
from services.domain.errors import ContentRejected
from tests.models.video.conftest import AWKWARD_NAMES

RED, GREEN, BLUE = (255, 0, 0), (0, 255, 0), (0, 0, 255)


def quadrants(size: tuple[int, int] = (60, 40)) -> Image.Image:
    """Red top left, green top right, blue bottom left, white bottom right."""
    image = Image.new("RGB", size, "white")
    half = (size[0] // 2, size[1] // 2)
    image.paste(RED, (0, 0, *half))
    image.paste(GREEN, (half[0], 0, size[0], half[1]))
    image.paste(BLUE, (0, half[1], half[0], size[1]))
    return image


def png_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def picture(path: Path) -> PictureSource:
    source = open_source(path)
    assert isinstance(source, PictureSource)
    return source


# Where the stored picture's corners must be seen, by the table of TIFF 6.0: (top left, top right, bottom left).
@pytest.mark.parametrize(
    ("orientation", "stored"),
    [
        (2, Image.Transpose.FLIP_LEFT_RIGHT),
        (3, Image.Transpose.ROTATE_180),
        (4, Image.Transpose.FLIP_TOP_BOTTOM),
        (5, Image.Transpose.TRANSPOSE),
        (6, Image.Transpose.ROTATE_90),
        (7, Image.Transpose.TRANSVERSE),
        (8, Image.Transpose.ROTATE_270),
    ],
)
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_exif_orientation_is_turned_upright(
    tmp_path: Path, orientation: int, stored: Image.Transpose, kind: str
) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = tmp_path / "photo"
    quadrants().transpose(stored).save(path, format=kind, exif=exif, quality=95)
    source = picture(path)
    assert source.size == (60, 40)
    assert source.original_size == (60, 40)
    for (x, y), color in {(15, 10): RED, (45, 10): GREEN, (15, 30): BLUE}.items():
        assert np.abs(source.rgb[y, x].astype(int) - color).max() < 12


def test_transparent_png_lies_on_white_and_any_background_follows_exactly(tmp_path: Path) -> None:
    rgba = np.zeros((10, 10, 4), np.uint8)
    rgba[..., :3] = (200, 100, 50)
    rgba[..., 3] = np.linspace(0, 255, 100).reshape(10, 10).round()
    Image.fromarray(rgba).save(tmp_path / "p.png")
    source = picture(tmp_path / "p.png")
    assert source.alpha is not None
    assert np.array_equal(source.alpha, rgba[..., 3])
    share = rgba[..., 3:].astype(float) / 255
    assert np.abs(source.rgb - (share * (200, 100, 50) + (1 - share) * 255)).max() <= 0.51
    on_green = source.rgb - (1 - share) * 255 + (1 - share) * np.array(GREEN)
    assert np.abs(on_green - (share * (200, 100, 50) + (1 - share) * GREEN)).max() <= 0.51


def test_hidden_colours_of_transparent_pixels_do_not_show(tmp_path: Path) -> None:
    rgba = np.zeros((8, 8, 4), np.uint8)
    rgba[..., 0] = 255  # bright red under alpha 0
    rgba[4:, :, 3] = 255
    Image.fromarray(rgba).save(tmp_path / "p.png")
    assert (picture(tmp_path / "p.png").rgb[:4] == 255).all()


def test_opaque_rgba_has_no_alpha(tmp_path: Path) -> None:
    quadrants().convert("RGBA").save(tmp_path / "p.png")
    assert picture(tmp_path / "p.png").alpha is None


@pytest.mark.parametrize("mode", ["P", "1", "L", "LA", "CMYK", "RGBA", "I;16"])
def test_every_mode_shows_black_as_black_and_white_as_white(tmp_path: Path, mode: str) -> None:
    grey = np.zeros((20, 40), np.uint8)
    grey[:, 20:] = 255
    if mode == "I;16":
        image = Image.fromarray(grey.astype(np.uint16) * 257)
    else:
        image = Image.fromarray(grey).convert("RGB").convert(mode)
    path = tmp_path / "p"
    image.save(path, format="JPEG" if mode == "CMYK" else "PNG")
    source = picture(path)
    assert source.rgb.shape == (20, 40, 3)
    assert source.rgb[:, :15].max() <= 8
    assert source.rgb[:, 25:].min() >= 247


def test_sixteen_bit_grey_keeps_its_middle(tmp_path: Path) -> None:
    ramp = np.linspace(0, 65535, 256).astype(np.uint16)[None].repeat(4, 0)
    Image.fromarray(ramp).save(tmp_path / "p.png")
    assert np.abs(picture(tmp_path / "p.png").rgb[0, :, 0].astype(int) - np.arange(256)).max() <= 1


def test_sixteen_bit_colour_png_is_read(tmp_path: Path) -> None:
    """Written byte by byte, since Pillow does not write it: 2x1, 16 bits, RGB."""
    row = b"\0" + struct.pack(">6H", 65535, 32768, 0, 0, 16384, 65535)
    data = png_chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 1, 16, 2, 0, 0, 0)) + png_chunk(b"IDAT", zlib.compress(row))
    (tmp_path / "p.png").write_bytes(b"\x89PNG\r\n\x1a\n" + data + png_chunk(b"IEND", b""))
    rgb = picture(tmp_path / "p.png").rgb
    assert np.abs(rgb[0].astype(int) - [[255, 128, 0], [0, 64, 255]]).max() <= 1


def test_palette_with_a_transparent_entry_is_transparent_there(tmp_path: Path) -> None:
    image = quadrants().quantize(4)
    clear = image.getpixel((5, 5))
    image.save(tmp_path / "p.png", transparency=clear)
    source = picture(tmp_path / "p.png")
    assert source.alpha is not None
    assert source.alpha[5, 5] == 0
    assert (source.rgb[5, 5] == 255).all()
    assert np.abs(source.rgb[5, 55].astype(int) - GREEN).max() < 8


def test_first_frame_of_an_animation_is_used_and_told(tmp_path: Path) -> None:
    frames = [Image.new("RGB", (20, 20), color) for color in ("red", "blue")]
    frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
    source = picture(tmp_path / "a.gif")
    assert tuple(source.rgb[5, 5]) == RED
    assert any("first frame" in note for note in source.notes)


def test_colour_profile_is_applied(tmp_path: Path) -> None:
    """A LAB profile is one that Pillow itself can make: its pixels are far from sRGB's."""
    lab = ImageCms.createProfile("LAB")
    srgb = ImageCms.createProfile("sRGB")
    image = ImageCms.profileToProfile(Image.new("RGB", (16, 16), (180, 90, 40)), srgb, lab, outputMode="LAB")
    assert image is not None
    buffer = io.BytesIO()
    image.save(buffer, "TIFF", icc_profile=ImageCms.ImageCmsProfile(lab).tobytes())
    (tmp_path / "p.tif").write_bytes(buffer.getvalue())
    assert np.abs(picture(tmp_path / "p.tif").rgb[8, 8].astype(int) - (180, 90, 40)).max() <= 4


def test_broken_colour_profile_is_ignored_and_told(tmp_path: Path) -> None:
    quadrants().save(tmp_path / "p.png", icc_profile=b"no profile at all")
    source = picture(tmp_path / "p.png")
    assert tuple(source.rgb[5, 5]) == RED
    assert any("profile" in note for note in source.notes)


def test_large_picture_is_worked_at_a_bounded_size(tmp_path: Path) -> None:
    Image.new("L", (4096, 6144), 90).save(tmp_path / "p.png")
    source = picture(tmp_path / "p.png")
    assert source.original_size == (4096, 6144)
    assert source.rgb.shape[0] * source.rgb.shape[1] <= 16_100_000
    assert abs(source.size[0] / source.size[1] - 2 / 3) < 0.001
    assert source.notes


def test_too_many_pixels_are_refused_before_decoding(tmp_path: Path) -> None:
    Image.new("1", (400, 300)).save(tmp_path / "p.png")
    with pytest.raises(ContentRejected) as caught:
        open_source(tmp_path / "p.png", max_pixels=100_000)
    assert caught.value.code == "picture_too_large"
    assert "400x300" in caught.value.detail
    assert "100,000" in caught.value.detail


def test_decompression_bomb_is_refused(tmp_path: Path) -> None:
    """A PNG header that claims 60000x60000 pixels in a few bytes."""
    header = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    data = png_chunk(b"IHDR", header) + png_chunk(b"IDAT", zlib.compress(bytes(1000)))
    (tmp_path / "bomb.png").write_bytes(b"\x89PNG\r\n\x1a\n" + data)
    with pytest.raises(ContentRejected) as caught:
        open_source(tmp_path / "bomb.png")
    assert caught.value.code == "picture_too_large"


def test_picture_cut_off_in_its_header_is_damaged_not_unsupported(tmp_path: Path) -> None:
    quadrants().save(tmp_path / "p.png")
    (tmp_path / "p.png").write_bytes((tmp_path / "p.png").read_bytes()[:20])
    with pytest.raises(ContentRejected) as caught:
        open_source(tmp_path / "p.png")
    assert caught.value.code == "unreadable_media"


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_cut_off_picture_is_refused_by_name(tmp_path: Path, kind: str) -> None:
    noise = np.random.default_rng(0).integers(0, 255, (200, 200, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(noise).save(buffer, kind)
    path = tmp_path / "portrait of Zoë.jpg"
    path.write_bytes(buffer.getvalue()[: len(buffer.getvalue()) // 2])
    with pytest.raises(ContentRejected) as caught:
        open_source(path)
    assert caught.value.code == "unreadable_media"
    assert "portrait of Zoë.jpg" in caught.value.detail


@pytest.mark.parametrize("name", AWKWARD_NAMES)
def test_any_file_name_works_and_its_ending_means_nothing(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"{name}.mp3"
    quadrants().save(path, format="PNG")
    assert picture(path).size == (60, 40)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"just some text, not a picture", "no media file"),
        (b"%PDF-1.7 ...", "PDF"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "SVG"),
        (b"#EXTM3U\n#EXT-X-TARGETDURATION:1\n/etc/passwd\n", "playlist"),
        (b"ffconcat version 1.0\nfile '/etc/passwd'\n", "no media file"),
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(100), "HEIC"),
    ],
)
def test_what_is_no_picture_or_video_is_refused_by_name(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "presenter.jpg"
    path.write_bytes(content)
    with pytest.raises(ContentRejected) as caught:
        open_source(path, name="Anna.jpg")
    assert caught.value.code == "unsupported_media"
    assert "Anna.jpg" in caught.value.detail
    assert says in caught.value.detail


def test_empty_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "p.jpg").touch()
    with pytest.raises(ContentRejected) as caught:
        open_source(tmp_path / "p.jpg")
    assert caught.value.code == "empty_file"


def test_real_portraits_open_at_their_own_size(shared_data: Path) -> None:
    for path in sorted((shared_data / "portraits").iterdir()):
        with Image.open(path) as reference:
            expected = reference.size
        assert picture(path).size == expected
