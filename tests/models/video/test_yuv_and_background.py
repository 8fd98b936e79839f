from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from models.video import yuv
from models.video.background import BackgroundComposer, blurred_behind, cover, parse_color
from models.video.picture import PictureSource
from services.domain.errors import ContentRejected, InvalidRequest
from services.domain.video import Background, BackgroundKind


# Table of ITU-R BT.709 colour bars at 100 %, 8 bits (SMPTE RP 177 derives the matrix).
@pytest.mark.parametrize(
    ("rgb", "expected"),
    [
        ((255, 255, 255), (235, 128, 128)),
        ((0, 0, 0), (16, 128, 128)),
        ((255, 0, 0), (63, 102, 240)),
        ((0, 255, 0), (173, 42, 26)),
        ((0, 0, 255), (32, 240, 118)),
        ((255, 255, 0), (219, 16, 138)),
        ((0, 255, 255), (188, 154, 16)),
        ((255, 0, 255), (78, 214, 230)),
    ],
)
def test_colour_bars_have_their_standard_values(rgb: tuple[int, int, int], expected: tuple[int, int, int]) -> None:
    assert yuv.color_to_yuv(rgb) == expected
    frame = yuv.rgb_to_i420(np.full((4, 6, 3), rgb, np.uint8))
    planes = yuv.planes(frame)
    assert (planes.y[0, 0], planes.u[0, 0], planes.v[0, 0]) == expected
    assert np.abs(yuv.i420_to_rgb(frame).astype(int) - rgb).max() <= 2


def test_planes_are_views() -> None:
    frame = yuv.new_frame(8, 4)
    planes = yuv.planes(frame)
    planes.y[:], planes.u[:], planes.v[:] = 1, 2, 3
    assert frame[:4].max() == 1
    assert frame[4].tolist() == [2] * 8
    assert frame[5].tolist() == [3] * 8


def test_chroma_is_the_mean_of_four_pixels_and_odd_sides_are_refused() -> None:
    rgb = np.zeros((2, 2, 3), np.uint8)
    rgb[0, 0] = rgb[0, 1] = (0, 0, 255)
    u = int(yuv.planes(yuv.rgb_to_i420(rgb)).u[0, 0])
    assert u == pytest.approx(128 + (240 - 128) / 2, abs=1)
    with pytest.raises(ValueError, match="even"):
        yuv.rgb_to_i420(np.zeros((3, 4, 3), np.uint8))


def person(width: int = 64, height: int = 96) -> tuple[np.ndarray, np.ndarray]:
    """A green person before red, and who is where."""
    rgb = np.full((height, width, 3), (200, 30, 30), np.uint8)
    matte = np.zeros((height, width), np.float32)
    rgb[20:, 20:44] = (30, 160, 60)
    matte[20:, 20:44] = 1
    return rgb, matte


def composer(kind: BackgroundKind, **options: object) -> BackgroundComposer:
    picture = options.pop("picture", None)
    return BackgroundComposer(Background(kind=kind, **options), width=64, height=96, picture=picture)  # type: ignore[arg-type]


def test_original_background_returns_the_frame_itself() -> None:
    rgb, _ = person()
    assert composer(BackgroundKind.ORIGINAL).compose(rgb, None) is rgb


def test_colour_background_replaces_all_but_the_person() -> None:
    rgb, matte = person()
    out = composer(BackgroundKind.COLOR, color="#0040ff").compose(rgb, matte)
    assert (out[:15] == (0, 64, 255)).all()
    assert np.array_equal(out[25:, 25:40], rgb[25:, 25:40])


def test_half_covered_edge_keeps_no_fringe_of_the_old_background() -> None:
    rgb, matte = person()
    matte[20:, 19] = matte[20:, 44] = 0.5
    rgb[20:, 19] = rgb[20:, 44] = (115, 95, 45)  # half person, half red
    out = composer(BackgroundKind.COLOR, color="#0000ff").compose(rgb, matte)
    clean = np.mean([(30, 160, 60), (0, 0, 255)], axis=0)
    fringed = np.mean([(115, 95, 45), (0, 0, 255)], axis=0)
    edge = out[60, 19].astype(float)
    assert np.abs(edge - clean).sum() < np.abs(edge - fringed).sum()


def test_green_behind_loose_hair_does_not_come_along() -> None:
    """A wide soft edge of brown hair over green, by arithmetic: on blue it is brown and blue, with no green."""
    brown, green, blue = np.array((110, 70, 40)), np.array((40, 220, 60)), np.array((0, 0, 255))
    row = np.clip((np.arange(400) - 190) / 16, 0, 1).astype(np.float32)
    share = np.repeat(row[None], 300, axis=0)
    rgb = np.round(share[..., None] * brown + (1 - share[..., None]) * green).astype(np.uint8)
    composer = BackgroundComposer(Background(kind=BackgroundKind.COLOR, color="#0000ff"), width=400, height=300)
    out = composer.compose(rgb, share)
    expected = share[..., None] * brown + (1 - share[..., None]) * blue
    assert np.abs(out[100:200] - expected[100:200]).max() < 20


def test_transparent_picture_is_laid_on_exactly() -> None:
    share = np.linspace(0, 1, 64, dtype=np.float32)[None].repeat(96, 0)
    color = np.array((200, 100, 50))
    over_white = np.round(share[..., None] * color + (1 - share[..., None]) * 255).astype(np.uint8)
    out = composer(BackgroundKind.COLOR, color="#00ff00").compose(over_white, share, is_over_white=True)
    assert np.abs(out - (share[..., None] * color + (1 - share[..., None]) * (0, 255, 0))).max() <= 1


def test_picture_background_covers_without_stretching() -> None:
    rings = Image.new("RGB", (400, 100), "white")
    rings.paste((0, 0, 0), (190, 40, 210, 60))
    out = cover(np.asarray(rings), 64, 96)
    assert out.shape == (96, 64, 3)
    dark = np.argwhere(out[..., 0] < 128)
    sides = dark.max(axis=0) - dark.min(axis=0)
    assert abs(int(sides[0]) - int(sides[1])) <= 1
    rgb, matte = person()
    picture = PictureSource(name="p", rgb=np.asarray(rings), alpha=None, original_size=(400, 100))
    laid = composer(BackgroundKind.IMAGE, picture=picture).compose(rgb, matte)
    assert np.array_equal(laid[:15], out[:15])


def test_blur_keeps_the_person_and_does_not_smear_them_into_the_background() -> None:
    rgb, matte = person()
    out = composer(BackgroundKind.BLUR).compose(rgb, matte)
    assert np.array_equal(out[25:, 25:40], rgb[25:, 25:40])
    plate = blurred_behind(rgb, matte)
    assert np.abs(plate.astype(int) - (200, 30, 30)).max() <= 3


def test_blur_softens_the_background() -> None:
    rgb = np.full((384, 256, 3), (200, 30, 30), np.uint8)
    matte = np.zeros((384, 256), np.float32)
    matte[200:, 100:150] = 1
    rgb[:, ::8] = 255
    plate = blurred_behind(rgb, matte)
    assert plate[100].astype(float).std(axis=0).max() < 0.3 * rgb[100].astype(float).std(axis=0).max()


def test_nobody_in_the_matte_is_refused() -> None:
    rgb, matte = person()
    with pytest.raises(ContentRejected) as caught:
        composer(BackgroundKind.BLUR).compose(rgb, matte * 0)
    assert caught.value.code == "person_not_found"


@pytest.mark.parametrize("text", ["red", "#fff", "#12345g", "123456", "#1234567"])
def test_malformed_colours_are_refused(text: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse_color(text)
    assert caught.value.code == "malformed_color"


@pytest.mark.parametrize("kind", [BackgroundKind.COLOR, BackgroundKind.IMAGE])
def test_background_without_its_colour_or_picture_is_refused(kind: BackgroundKind) -> None:
    with pytest.raises(InvalidRequest) as caught:
        composer(kind)
    assert caught.value.code == "background_missing"
