"""Length read aloud."""

from __future__ import annotations

import pytest

from services.domain.copywriting import primary_language, spoken_characters


def test_numbers_count_as_the_words_they_are_read_as():
    figures = spoken_characters("You get 24 of them.", "en")
    words = spoken_characters("You get twenty-four of them.", "en")
    assert figures == pytest.approx(words, rel=0.1)


def test_prices_count_their_currency():
    figures = spoken_characters("It costs $38 here.", "en")
    assert figures == pytest.approx(spoken_characters("It costs thirty-eight dollars here.", "en"), rel=0.1)


def test_chinese_counts_syllables_and_no_marks():
    assert spoken_characters("一二三四五六七八九十" * 2 + "，。", "zh") == pytest.approx(20, rel=0.02)
    figures = spoken_characters("价格是199元。", "zh")
    assert figures == pytest.approx(spoken_characters("价格是一百九十九元。", "zh"), rel=0.02)


def test_prose_counts_its_characters():
    prose = "The quick brown fox jumps over the lazy dog, and nobody was surprised by it. " * 4
    assert spoken_characters(prose.strip(), "en") == pytest.approx(len(prose), rel=0.03)


@pytest.mark.parametrize(
    ("tag", "primary"),
    [("en-GB", "en"), ("zh_TW", "zh"), ("cmn", "zh"), ("cmn-Hans", "zh"), ("nb", "no"), ("DE", "de")],
)
def test_primary_language(tag, primary):
    assert primary_language(tag) == primary
