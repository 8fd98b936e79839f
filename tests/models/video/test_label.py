"""The visible label: how high its letters are, that they can be read, and what it stays clear of."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from models.speech import normalize
from models.video import yuv
from models.video.label import KeepClear, VisibleLabel, face_mask
from models.video.label_texts import TEXTS, label_text
from services.domain.video import LabelCorner

# The languages whose numbers, dates and prices are spoken right.
SPOKEN_WELL = sorted(path.stem for path in (Path(normalize.__file__).parent / "data").glob("*.toml"))
SIZES = [(1080, 1920), (1080, 1080), (1080, 1350), (1920, 1080), (3840, 2160), (256, 256), (144, 256), (128, 128)]


def picture(size: tuple[int, int], grey: int) -> np.ndarray:
    frame = yuv.new_frame(*size)
    frame[: size[1]] = 16 + grey * 219 // 255
    return frame


def drawn(label: VisibleLabel, size: tuple[int, int], grey: int) -> np.ndarray:
    """Luma of the labelled picture."""
    frame = picture(size, grey)
    label.draw(frame)
    return frame[: size[1]].astype(int)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("language", ["en", "zh-CN", "ar", "es", "hi", "tr"])
def test_letters_are_as_high_as_china_asks(size, language):
    """GB 45438-2025: 5 % of the shortest side; measured on the white of the letters in the drawn picture."""
    luma = drawn(VisibleLabel(size, language), size, 0)
    rows = np.flatnonzero((luma > 120).any(axis=1))
    assert rows[-1] - rows[0] + 1 >= 0.05 * min(size)
    assert rows[-1] - rows[0] + 1 <= max(0.11 * min(size), 24)


@pytest.mark.parametrize("grey", [0, 128, 255])
@pytest.mark.parametrize("size", SIZES)
def test_letters_stand_out_on_any_picture(size, grey):
    label = VisibleLabel(size, "en")
    luma = drawn(label, size, grey)
    left, top, right, bottom = label.box
    inside = luma[top:bottom, left:right]
    letters, glass = np.percentile(inside, 99), np.percentile(inside, 25)
    # WCAG 2.2, 1.4.3: 3 to 1 for large letters; luma as gamma 2.4, limited range.
    light, dark = (((value - 16) / 219) ** 2.4 for value in (letters, max(glass, 16)))
    assert (light + 0.05) / (dark + 0.05) >= 3


@pytest.mark.parametrize("size", SIZES)
def test_only_the_labels_box_changes_and_it_is_inside(size):
    label = VisibleLabel(size, "en")
    left, top, right, bottom = label.box
    assert left >= 0
    assert top >= 0
    assert right <= size[0]
    assert bottom <= size[1]
    frame, before = picture(size, 90), picture(size, 90)
    label.draw(frame)
    changed = frame != before
    for plane, step in zip(yuv.planes(changed.view(np.uint8)), (1, 2, 2), strict=True):
        plane[top // step : bottom // step, left // step : right // step] = 0
        assert not plane.any()


def test_drawing_twice_is_drawing_on_each_frame():
    label = VisibleLabel((256, 256), "en")
    assert (drawn(label, (256, 256), 60) == drawn(label, (256, 256), 60)).all()


def test_picture_looks_as_the_film_does():
    """The same label in RGB, on a grey that both can hold."""
    label, size = VisibleLabel((640, 360), "en"), (640, 360)
    frame = yuv.rgb_to_i420(np.full((360, 640, 3), 180, np.uint8))
    label.draw(frame)
    pixels = np.full((360, 640, 3), 180, np.uint8)
    label.draw_on_picture(pixels)
    assert size == (640, 360)
    assert np.abs(yuv.i420_to_rgb(frame).astype(int) - pixels).mean(axis=2).max() < 24
    assert np.abs(yuv.i420_to_rgb(frame).astype(int) - pixels).mean() < 1


@pytest.mark.parametrize("size", [(255, 333), (300, 301)])
def test_label_stays_whole_on_a_transparent_picture_of_odd_size(size):
    pixels = np.zeros((size[1], size[0], 4), np.uint8)
    label = VisibleLabel(size, "en")
    label.draw_on_picture(pixels)
    left, top, right, bottom = label.box
    alpha = pixels[..., 3]
    assert alpha[top + 3 : bottom - 3, left + 3 : right - 3].min() > 120  # glass
    assert ((alpha > 250) & (pixels[..., 0] > 250)).sum() > 60  # white letters
    alpha[top:bottom, left:right] = 0
    assert not alpha.any()


def test_label_does_not_thin_an_opaque_picture():
    pixels = np.full((300, 300, 4), 255, np.uint8)
    VisibleLabel((300, 300), "en").draw_on_picture(pixels)
    assert (pixels[..., 3] == 255).all()
    assert pixels[..., 0].min() < 120


def face(center: tuple[float, float], radius: float) -> np.ndarray:
    angles = np.linspace(0, 2 * np.pi, 40)
    return np.stack([center[0] + radius * np.cos(angles), center[1] + radius * np.sin(angles)], axis=1).astype(
        np.float32
    )


def overlap(box: tuple[int, int, int, int], center: tuple[float, float], radius: float) -> bool:
    """Whether the box and the circle share a point, by geometry."""
    nearest = (min(max(center[0], box[0]), box[2]), min(max(center[1], box[1]), box[3]))
    return bool(np.hypot(nearest[0] - center[0], nearest[1] - center[1]) < radius)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("wanted", [None, *LabelCorner])
@pytest.mark.parametrize("where", list(itertools.product((0.15, 0.5, 0.85), (0.15, 0.5, 0.85))))
def test_label_leaves_a_face_anywhere_free(size, wanted, where):
    center, radius = (where[0] * size[0], where[1] * size[1]), 0.22 * min(size)
    label = VisibleLabel(size, "en", corner=wanted, keep_clear=KeepClear(faces=face_mask(size, [face(center, radius)])))
    assert not overlap(label.box, center, radius)
    assert not label.covers_face


def in_head(box: tuple[int, int, int, int], head: tuple[float, float, float, float]) -> bool:
    """Whether a pixel of the box is in the ellipse of the head, by counting them."""
    y, x = np.mgrid[box[1] : box[3], box[0] : box[2]] + 0.5
    across, down = (2 * x - head[0] - head[2]) / (head[2] - head[0]), (2 * y - head[1] - head[3]) / (head[3] - head[1])
    return bool((across**2 + down**2 < 1).any())


def head_mask(size: tuple[int, int], head: tuple[float, float, float, float]) -> np.ndarray:
    """The ellipse in the box ``head``, in every pixel of a frame."""
    y, x = np.mgrid[0 : size[1], 0 : size[0]] + 0.5
    across, down = (2 * x - head[0] - head[2]) / (head[2] - head[0]), (2 * y - head[1] - head[3]) / (head[3] - head[1])
    return across**2 + down**2 < 1


HEADS = {  # of frames 720 pixels high; the label as it stands without regard to hair reaches into each
    "room at the side": ((404, 720), (31.0, -10.0, 231.0, 200.0), None),
    "room above": ((720, 720), (350.0, 88.0, 560.0, 380.0), None),
    "room in the other corner": ((404, 720), (190.0, 20.0, 380.0, 290.0), None),
    "room in the corner that was asked for": ((720, 720), (250.0, 82.0, 470.0, 380.0), LabelCorner.TOP_RIGHT),
}


@pytest.mark.parametrize("name", HEADS)
def test_label_leaves_hair_free_where_a_top_place_near_by_does(name):
    size, head, corner = HEADS[name]
    before = VisibleLabel(size, "en", corner=corner)
    label = VisibleLabel(size, "en", corner=corner, keep_clear=KeepClear(heads=head_mask(size, head)))
    assert in_head(before.box, head)
    assert not in_head(label.box, head)
    assert label.box[1] <= before.box[1], "never lower, over the body"
    assert label.box[0] >= 0
    assert label.box[2] <= size[0]
    if corner is not None:
        assert label.corner is corner


def test_label_stays_where_no_place_near_by_leaves_hair_free():
    size, head = (404, 720), (10.0, -20.0, 394.0, 400.0)
    before = VisibleLabel(size, "en")
    assert VisibleLabel(size, "en", keep_clear=KeepClear(heads=head_mask(size, head))).box == before.box


def test_hair_is_left_free_at_no_cost_to_faces_and_subtitles():
    size, head, _ = HEADS["room above"]
    captions = (0, 40)
    faces = face_mask(size, [face((360, 250), 90)])
    label = VisibleLabel(
        size, "en", keep_clear=KeepClear(faces=faces, heads=head_mask(size, head), caption_rows=captions)
    )
    assert label.box[1] >= captions[1]
    assert not label.covers_face


def test_label_wanted_low_in_an_upright_film_keeps_off_the_edge_where_apps_have_their_controls():
    """Subtitles and a face leave it no room below but at the edge: it goes to the top."""
    size, captions = (270, 480), (330, 420)
    faces = face_mask(size, [face((135, 280), 90)])
    label = VisibleLabel(
        size, "en", corner=LabelCorner.BOTTOM_LEFT, keep_clear=KeepClear(faces=faces, caption_rows=captions)
    )
    assert not label.corner.startswith("bottom")
    assert not label.covers_face


@pytest.mark.parametrize("corner", LabelCorner)
def test_wanted_corner_is_kept_where_it_is_free(corner):
    size = (640, 480)
    label = VisibleLabel(size, "en", corner=corner)
    assert label.corner is corner
    middle = ((label.box[0] + label.box[2]) / 2 > size[0] / 2, (label.box[1] + label.box[3]) / 2 > size[1] / 2)
    assert middle == (corner.endswith("right"), corner.startswith("bottom"))


@pytest.mark.parametrize("corner", LabelCorner)
def test_wanted_corner_with_a_face_in_it_is_left(corner):
    size = (640, 480)
    x, y = (560 if corner.endswith("right") else 80), (400 if corner.startswith("bottom") else 80)
    label = VisibleLabel(size, "en", corner=corner, keep_clear=KeepClear(faces=face_mask(size, [face((x, y), 80)])))
    assert label.corner is not corner
    assert not label.covers_face


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("rows", [(0.0, 0.25), (0.7, 0.85), (0.75, 1.0), (0.4, 0.6)])
@pytest.mark.parametrize("wanted", [None, *LabelCorner])
def test_label_and_subtitles_share_no_row(size, rows, wanted):
    captions = (round(rows[0] * size[1]), round(rows[1] * size[1]))
    label = VisibleLabel(size, "en", corner=wanted, keep_clear=KeepClear(caption_rows=captions))
    assert label.box[3] <= captions[0] or label.box[1] >= captions[1]
    is_low = label.box[1] + label.box[3] > size[1]
    assert is_low == label.corner.startswith("bottom")


def test_face_that_fills_the_frame_is_told():
    size = (256, 256)
    label = VisibleLabel(size, "en", keep_clear=KeepClear(faces=face_mask(size, [face((128, 128), 300)])))
    assert label.covers_face


def test_narrow_frame_holds_the_longest_text():
    size = (72, 128)
    for language in TEXTS:
        label = VisibleLabel(size, language)
        assert label.box[2] - label.box[0] <= size[0]


@pytest.mark.parametrize("language", [*SPOKEN_WELL, "zh-TW", "yue", "pt-BR", "es-419", "en-GB"])
def test_every_language_that_is_spoken_well_has_its_own_words(language):
    text, used = label_text(language)
    assert used.split("-")[0] == language.split("-")[0]
    assert text != TEXTS["en"] or language.startswith("en")


@pytest.mark.parametrize("language", [None, "", "und", "tlh", "x-none", "e" * 400])
def test_unknown_language_is_labelled_in_english(language):
    assert label_text(language) == ("AI-generated", "en")


@pytest.mark.parametrize("language", ["zh", "zh-CN", "zh-Hant-HK", "cmn", "cmn-latn-pinyin", "yue"])
def test_chinese_label_has_the_prescribed_elements(language):
    """GB 45438-2025, 5.1: "AI" or 人工智能, and 生成 or 合成."""
    text, _ = label_text(language)
    assert "AI" in text or "人工智能" in text
    assert "生成" in text or "合成" in text


@pytest.mark.parametrize("language", TEXTS)
def test_no_letter_of_a_label_is_missing_in_the_fonts(language):
    from models.video.subtitles.fonts import FontBook
    from models.video.subtitles.typesetting import is_right_to_left, typeset

    text, tagged = label_text(language)
    line = typeset(text, FontBook(40, tagged), right_to_left=is_right_to_left(text, tagged), language=tagged)
    assert all(glyph.id != 0 for glyph in line.glyphs)  # glyph 0 is the empty box


def test_hebrew_label_runs_from_the_right():
    """Its Hebrew begins at the right end of the line; the Latin AI comes last, at the left."""
    from models.video.subtitles.fonts import FontBook
    from models.video.subtitles.typesetting import is_right_to_left, typeset

    text = TEXTS["he"]
    assert text.endswith("AI")
    line = typeset(text, FontBook(40, "he"), right_to_left=is_right_to_left(text, "he"), language="he")
    latin = typeset("AI", FontBook(40, "en"), right_to_left=False, language="en")
    assert [glyph.id for glyph in line.glyphs[:2]] == [glyph.id for glyph in latin.glyphs]
