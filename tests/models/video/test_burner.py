from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from models import weights
from models.video import yuv
from models.video.subtitles import Cue, SubtitleBurner, SubtitleStyle
from models.video.subtitles.fonts import COLOR_EMOJI, FontBook
from models.video.subtitles.style import safe_area
from models.video.subtitles.typesetting import embedding_levels, typeset

SIZES = [(1080, 1920), (1080, 1080), (1080, 1350), (1920, 1080), (512, 512)]
SAMPLES = {
    "en": "Meet Aurora, the running shoe that learns from every step",
    "ar": "نقدم لكم أفضل العروض على الأحذية (Aurora X2) مع خصم 20%",
    "he": "הכירו את אורורה: נעל ריצה חדשה, 705A",
    "th": "วันนี้เรามีรองเท้าวิ่งรุ่นใหม่มาแนะนำ น้ำหนักเบามาก",
    "hi": "हमारे नए स्मार्टफ़ोन में शानदार कैमरा और लंबी बैटरी",
    "zh": "我们的智能手表可以全天候监测心率、睡眠和血氧",
    "ja": "新しいランニングシューズが発売されました。",
    "ko": "새로운 러닝화를 만나보세요",
    "ru": "Новые кроссовки уже в продаже: всего 7 990 ₽",
    "ta": "எங்கள் புதிய காலணிகள் இப்போது கிடைக்கின்றன",
    "ka": "ახალი სპორტული ფეხსაცმელი",
    "km": "ស្បែកជើងថ្មីរបស់យើង",
}


def cue(*lines: str) -> Cue:
    return Cue(start_s=1.0, end_s=2.0, lines=lines)


def burnt(lines: tuple[str, ...], size: tuple[int, int], language: str | None, **options: object) -> NDArray[np.uint8]:
    """A mid-grey frame with the cue on it."""
    frame = yuv.new_frame(*size)
    frame[: size[1]] = 126
    SubtitleBurner([cue(*lines)], size, language, **options).draw(frame, 1.5)  # type: ignore[arg-type]
    return frame


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("language", SAMPLES)
def test_white_text_stays_inside_the_safe_area(size: tuple[int, int], language: str) -> None:
    luma = yuv.planes(burnt((SAMPLES[language], SAMPLES[language]), size, language)).y
    rows, columns = np.nonzero(luma > 200)
    safe = safe_area(*size)
    assert len(rows) > 100
    assert columns.min() >= safe.left - 2
    assert columns.max() <= safe.right + 2
    assert rows.max() <= safe.bottom
    assert rows.min() > size[1] * 0.4
    # In the middle, since nothing says otherwise.
    assert (columns.min() + columns.max()) / 2 == pytest.approx((safe.left + safe.right) / 2, abs=size[0] * 0.02)


@pytest.mark.parametrize("language", SAMPLES)
def test_every_character_has_a_glyph(language: str) -> None:
    line = typeset(SAMPLES[language], FontBook(40, language), right_to_left=False, language=language)
    assert line.glyphs
    assert all(glyph.id != 0 for glyph in line.glyphs)  # glyph 0 is the box for what a font lacks


def ids(text: str, language: str | None = None, *, right_to_left: bool = False) -> list[int]:
    return [g.id for g in typeset(text, FontBook(40, language), right_to_left=right_to_left, language=language).glyphs]


def test_arabic_letters_join() -> None:
    """A letter at the start of a word has another form than alone, and a word is narrower than its letters apart."""
    book = FontBook(40, "ar")

    def advance(text: str) -> float:
        return typeset(text, book, right_to_left=True, language="ar").width

    assert set(ids("ببب", "ar", right_to_left=True)) != set(ids("ب", "ar", right_to_left=True))
    assert advance("ببب") < 0.9 * 3 * advance("ب")
    # Lam and alif are one letter when they meet.
    assert advance("لا") < 0.9 * (advance("ل") + advance("ا"))


def test_right_to_left_is_drawn_from_the_right() -> None:
    """The first letter of a Hebrew line is its rightmost glyph; numbers inside keep their order."""
    assert ids("שלום", "he", right_to_left=True) == [ids(letter, "he")[0] for letter in reversed("שלום")]
    mixed = ids("מחיר 240 שקל", "he", right_to_left=True)
    digits = [ids(digit, "he")[0] for digit in "240"]
    position = mixed.index(digits[0])
    assert mixed[position : position + 3] == digits


def test_levels_follow_the_unicode_algorithm() -> None:
    """Examples worked by hand from UAX #9: letters R at 1, numbers in them at 2, Latin in them at 2."""
    assert embedding_levels("abc", right_to_left=False) == [0, 0, 0]
    assert embedding_levels("אבג 12 x", right_to_left=True) == [1, 1, 1, 1, 2, 2, 1, 2]
    assert embedding_levels("car אב car", right_to_left=False) == [0, 0, 0, 0, 1, 1, 0, 0, 0, 0]
    # A mark and a joiner keep their place and their letter's level.
    assert embedding_levels("שּׁ\u200dא", right_to_left=False) == [1, 1, 1, 1, 1]


def test_devanagari_is_shaped() -> None:
    """The vowel sign i is written after its consonant and drawn before it; ksha is one glyph."""
    consonant = ids("क", "hi")
    assert ids("कि", "hi")[-1] == consonant[0]
    assert len(ids("क्ष", "hi")) == 1


def test_thai_marks_take_no_room() -> None:
    book = FontBook(40, "th")

    def advance(text: str) -> float:
        return typeset(text, book, right_to_left=False, language="th").width

    assert advance("ที่") == pytest.approx(advance("ท"), abs=0.5)


def test_language_chooses_the_national_form_of_a_character() -> None:
    forms = {language: tuple(ids("直骨", language)) for language in ("ja", "ko", "zh-CN", "zh-TW")}
    assert forms["ja"] != forms["zh-CN"]
    assert len(set(forms.values())) >= 3


def test_emoji_are_in_colour_and_sequences_are_one_picture() -> None:
    if not weights.is_present(COLOR_EMOJI):
        pytest.skip("the colour emoji font is not fetched: python -m models.weights")
    for emoji in ("🎁", "👩‍🚀", "🇩🇪", "❤️", "1️⃣", "👍🏽"):
        line = typeset(emoji, FontBook(40, None), right_to_left=False, language=None)
        assert all(glyph.font.is_color for glyph in line.glyphs), emoji
        assert line.width < 1.4 * 40, emoji
    planes = yuv.planes(burnt(("🎁",), (512, 512), "en"))
    assert np.abs(planes.u.astype(int) - 128).max() > 20 or np.abs(planes.v.astype(int) - 128).max() > 20


def test_plain_emoji_serve_where_the_colour_font_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    from models.video.subtitles import fonts

    every_path = fonts._path
    monkeypatch.setattr(fonts, "_path", lambda name: None if name == COLOR_EMOJI else every_path(name))
    glyphs = typeset("🎁", FontBook(40, None), right_to_left=False, language=None).glyphs
    assert [glyph.font.is_color for glyph in glyphs] == [False]
    assert glyphs[0].id != 0


def test_frame_is_untouched_outside_the_text_and_outside_its_time() -> None:
    size = (640, 360)
    noise = np.random.default_rng(0).integers(16, 235, (540, 640), dtype=np.uint8)
    burner = SubtitleBurner([cue("Short line")], size, "en")
    for time_s in (0.0, 0.999, 2.0, 5.0):
        frame = noise.copy()
        burner.draw(frame, time_s)
        assert np.array_equal(frame, noise)
    frame = noise.copy()
    burner.draw(frame, 1.0)
    assert not np.array_equal(frame, noise)
    assert np.array_equal(frame[:200], noise[:200])


def test_drawing_twice_on_fresh_frames_gives_the_same() -> None:
    burner = SubtitleBurner([cue("One"), Cue(start_s=2.0, end_s=3.0, lines=("Two",))], (640, 360), "en")
    first, second = yuv.new_frame(640, 360), yuv.new_frame(640, 360)
    burner.draw(first, 1.2)
    burner.draw(yuv.new_frame(640, 360), 2.2)
    burner.draw(second, 1.7)
    assert np.array_equal(first, second)


def test_outline_makes_white_text_readable_on_white() -> None:
    frame = yuv.new_frame(640, 360)
    frame[:360] = 235
    SubtitleBurner([cue("Readable")], (640, 360), "en").draw(frame, 1.5)
    assert yuv.planes(frame).y.min() < 60


def test_style_decides_colour_and_box() -> None:
    style = SubtitleStyle(color=(255, 255, 0), box_color=(0, 0, 255), box_opacity=1.0, outline=0, shadow=0)
    rgb = yuv.i420_to_rgb(burnt(("Yellow on blue",), (1920, 1080), "en", style=style))
    drawn = rgb[840:1040, 600:1320].reshape(-1, 3).astype(int)
    assert (np.abs(drawn - (255, 255, 0)).max(axis=1) < 30).sum() > 200
    assert (np.abs(drawn - (0, 0, 255)).max(axis=1) < 10).sum() > 2000


def test_long_lines_are_broken_further_and_nothing_is_lost() -> None:
    text = "Donaudampfschifffahrtsgesellschaftskapitänsmütze und noch viel mehr davon in einer einzigen langen Zeile"
    burner = SubtitleBurner([cue(text)], (1080, 1920), "de")
    shown = burner.lines(cue(text))
    assert len(shown) > 2
    assert "".join(shown).replace(" ", "") == text.replace(" ", "")


def test_empty_and_tiny_cases_do_not_fail() -> None:
    frame = yuv.new_frame(64, 48)
    SubtitleBurner([], (64, 48), None).draw(frame, 0.0)
    SubtitleBurner([cue("A rather long line for a frame of sixty-four pixels")], (64, 48), None).draw(frame, 1.5)
    SubtitleBurner([cue(" ")], (64, 48), None).draw(frame, 1.5)
