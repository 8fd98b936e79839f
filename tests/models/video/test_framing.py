from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from models.perception.face import FaceBox
from models.video.framing import FramePlan, HeadBox, head_box, plan_frame
from models.video.source import PictureSource, open_source
from services.domain.errors import InvalidRequest
from services.domain.video import Aspect, FrameSettings

RATIOS = {
    Aspect.PORTRAIT: Fraction(9, 16),
    Aspect.SQUARE: Fraction(1),
    Aspect.TALL: Fraction(4, 5),
    Aspect.LANDSCAPE: Fraction(16, 9),
}


def plan(size: tuple[int, int], head: HeadBox | None, aspect: Aspect, height_px: int | None = None) -> FramePlan:
    return plan_frame(size, head, FrameSettings(aspect=aspect, height_px=height_px))


def head_at(x: float, y: float, height: float) -> HeadBox:
    """A head of the given height whose eyes lie at (x, y)."""
    return HeadBox(
        left=x - 0.37 * height, right=x + 0.37 * height, top=y - 0.5 * height, bottom=y + 0.5 * height, eye_y=y
    )


def gradient(size: tuple[int, int]) -> NDArray[np.uint8]:
    """Red rises to the right and green downwards, so that a pixel tells where it comes from."""
    width, height = size
    picture = np.zeros((height, width, 3), np.uint8)
    picture[..., 0] = np.linspace(0, 255, width)[None]
    picture[..., 1] = np.linspace(0, 255, height)[:, None]
    return picture


@st.composite
def sources(draw: st.DrawFn) -> tuple[tuple[int, int], HeadBox]:
    width, height = draw(st.integers(200, 3000)), draw(st.integers(200, 3000))
    head_height = draw(st.floats(0.08, 0.95)) * min(height, width / 0.74)
    x = draw(st.floats(0.37 * head_height, width - 0.37 * head_height))
    y = draw(st.floats(0.5 * head_height, height - 0.5 * head_height))
    return (width, height), head_at(x, y, head_height)


@settings(max_examples=300, deadline=None)
@given(source=sources(), aspect=st.sampled_from(list(RATIOS)), height_px=st.sampled_from([None, 512, 720, 1081]))
def test_whole_head_is_shown_unstretched_at_even_size(
    source: tuple[tuple[int, int], HeadBox], aspect: Aspect, height_px: int | None
) -> None:
    size, head = source
    made = plan(size, head, aspect, height_px)
    assert made.width % 2 == made.height % 2 == 0
    # Two pixels of rounding at most, in the film and in the crop.
    assert abs(made.width - made.height * RATIOS[aspect]) <= 2
    assert abs(made.crop_width - made.crop_height * RATIOS[aspect]) <= 2
    assert made.left <= head.left + 1
    assert made.top <= head.top + 1
    assert made.left + made.crop_width >= head.right - 1
    assert made.top + made.crop_height >= head.bottom - 1
    if height_px is not None:
        assert abs(made.height - height_px) <= 1
    else:
        assert made.scale <= 1.51


def test_eyes_sit_near_the_upper_third() -> None:
    for aspect in RATIOS:
        made = plan((3000, 3000), head_at(1500, 1500, 500), aspect)
        assert (1500 - made.top) / made.crop_height == pytest.approx(1 / 3, abs=0.05)
        assert (1500 - made.left) / made.crop_width == pytest.approx(1 / 2, abs=0.01)


def test_small_head_is_brought_nearer() -> None:
    made = plan((3840, 2160), head_at(2000, 700, 150), Aspect.LANDSCAPE)
    assert made.crop_height < 1000
    assert 150 / made.crop_height > 0.2


def test_head_at_the_edge_stays_inside_the_source() -> None:
    made = plan((2000, 2000), head_at(160, 300, 400), Aspect.PORTRAIT)
    assert made.left == 0
    assert not made.is_extended


def test_too_narrow_source_is_extended_not_cut_and_told() -> None:
    made = plan((600, 1000), head_at(300, 450, 700), Aspect.LANDSCAPE)
    assert made.is_extended
    assert any("too narrow" in note for note in made.notes)
    frame = made.apply(np.full((1000, 600, 3), (40, 90, 200), np.uint8))
    assert frame.shape == (made.height, made.width, 3)
    # Blurred surroundings of one colour are that colour; a black bar would not be.
    assert np.abs(frame.astype(int) - (40, 90, 200)).max() <= 1


def test_note_names_the_side_on_which_the_source_has_too_little() -> None:
    low = plan((508, 504), head_at(254, 250, 500), Aspect.PORTRAIT)
    assert low.crop_height > 504 >= 0
    assert low.crop_width <= 508
    assert any("too low" in note for note in low.notes)
    assert not any("too narrow" in note for note in low.notes)


def test_with_a_new_background_the_lower_edge_of_the_source_is_that_of_the_film() -> None:
    size, head = (500, 500), head_at(250, 240, 460)
    made = plan_frame(size, head, FrameSettings(aspect=Aspect.PORTRAIT), stands_on_edge=True)
    assert made.top < 0
    assert made.top + made.crop_height == 500
    assert made.window()[3] == made.height


def test_film_pixels_come_from_where_the_plan_says() -> None:
    for aspect in RATIOS:
        for size, head in (((1200, 800), head_at(700, 300, 300)), ((500, 900), head_at(250, 300, 320))):
            made = plan(size, head, aspect)
            frame = made.apply(gradient(size))
            point = np.array([[head.left + 30, head.eye_y]], np.float32)
            x, y = np.round(made.to_film(point)[0]).astype(int)
            expected = point[0] / (np.array(size) - 1) * 255
            assert np.abs(frame[y, x, :2] - expected).max() <= 2.5, aspect


def test_same_scale_copies_the_pixels() -> None:
    noise = np.random.default_rng(0).integers(0, 255, (723, 1080, 3), dtype=np.uint8)
    made = plan((1080, 723), None, Aspect.SOURCE)
    assert np.array_equal(made.apply(noise), noise[:722])


def test_odd_source_is_evened_and_told() -> None:
    made = plan((1080, 723), None, Aspect.SOURCE)
    assert (made.width, made.height) == (1080, 722)
    assert any("1080x723" in note and "1080x722" in note for note in made.notes)


def test_source_aspect_is_bounded_and_keeps_its_shape() -> None:
    made = plan((4096, 6144), None, Aspect.SOURCE)
    assert (made.width, made.height) == (1280, 1920)
    assert plan((4096, 6144), None, Aspect.SOURCE, 3000).height == 3000


def test_usual_sizes_when_the_source_has_the_pixels() -> None:
    expected = {
        Aspect.PORTRAIT: (1080, 1920),
        Aspect.SQUARE: (1080, 1080),
        Aspect.TALL: (1080, 1350),
        Aspect.LANDSCAPE: (1920, 1080),
    }
    for aspect, size in expected.items():
        made = plan((4000, 4000), head_at(2000, 1500, 900), aspect)
        assert (made.width, made.height) == size


def test_small_source_is_not_blown_up_unless_asked() -> None:
    head = head_at(256, 220, 200)
    made = plan((512, 512), head, Aspect.SQUARE)
    assert made.height == 768
    assert any("768x768" in note for note in made.notes)
    assert plan((512, 512), head, Aspect.SQUARE, 1080).height == 1080


@pytest.mark.parametrize("height_px", [0, 64, 5000])
def test_height_outside_the_limits_is_refused(height_px: int) -> None:
    with pytest.raises(InvalidRequest) as caught:
        plan((1000, 1000), None, Aspect.SQUARE, height_px)
    assert caught.value.code == "frame_size"
    assert str(height_px) in caught.value.detail


def test_mask_follows_the_picture_and_is_empty_beyond_it() -> None:
    made = plan((600, 1000), head_at(300, 450, 700), Aspect.LANDSCAPE)
    mask = made.apply_mask(np.ones((1000, 600), np.float32))
    x0, y0, x1, y1 = made.window()
    assert mask[y0:y1, x0:x1].min() == 1
    assert mask.sum() == (x1 - x0) * (y1 - y0)


def test_measured_hair_raises_the_head() -> None:
    face = FaceBox(
        left=400,
        top=500,
        width=200,
        height=200,
        confidence=1.0,
        keypoints=np.array([[450, 560], [550, 560], [500, 610], [500, 660], [400, 580], [600, 580]], np.float32),
    )
    matte = np.zeros((1200, 1000), np.float32)
    matte[250:1200, 330:670] = 1
    head = head_box(face, matte)
    assert head.top == 250
    assert head.left <= 350
    assert head.eye_y == 560
    assert head.bottom >= 700


def test_real_portraits_keep_their_faces(shared_data: Path) -> None:
    """An independent look: the face finder must still find the face in every framed picture."""
    from models.perception.faces import FaceFinder

    finder = FaceFinder()
    for name in ("woman_neutral.jpg", "man_glasses.png", "fullbody_smallface.jpg", "anime_man.jpeg"):
        source = open_source(shared_data / "portraits" / name)
        assert isinstance(source, PictureSource)
        face = max(finder.find(source.rgb), key=lambda face: face.width)
        for aspect in RATIOS:
            made = plan(source.size, head_box(finder.landmarks(source.rgb, face)), aspect)
            found = max(finder.find(made.apply(source.rgb)), key=lambda face: face.width)
            expected = made.to_film(face.keypoints)
            assert np.abs(found.keypoints[:2] - expected[:2]).max() < 0.15 * found.width, (name, aspect)
