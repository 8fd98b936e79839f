"""What the API refuses for its letters, before a job is made, the engine would refuse too."""

from __future__ import annotations

import pytest

from models.speech.scripts import is_readable
from services.adapters.local.voices import LocalVoiceCatalogue
from services.domain.copywriting import is_foreign_to

TEXTS = {
    "Latin": "Hello my friends",
    "Han": "大家好",
    "Japanese": "こんにちは、世界",
    "Korean": "안녕하세요",
    "Cyrillic": "Привет",
    "Greek": "Καλημέρα",
    "Devanagari": "नमस्ते",
    "Arabic": "سلام",
    "Hebrew": "שלום",
    "Bengali": "হ্যালো",
    "Gujarati": "નમસ્તે",
    "Gurmukhi": "ਸਤ ਸ੍ਰੀ ਅਕਾਲ",
    "Tamil": "வணக்கம்",
    "Ethiopic": "ሰላም",
    "Georgian": "გამარჯობა",
    "Armenian": "Բարեւ",
    "mixed": "我们的 USB-C Dongle XYZ",
    "sign": "ʰ 5 µm ª ℝ",
    "wide": "Ｈｅｌｌｏ",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_letters_that_are_refused_at_once_would_be_refused_by_the_voice(text):
    languages = {voice.language for voice in LocalVoiceCatalogue().list()}
    assert {
        language for language in languages if is_foreign_to(text, language) and is_readable(text, language)
    } == set()


@pytest.mark.parametrize(("text", "language"), [("Hello", "zh"), ("大家好", "en-US"), ("Hello", "ka"), ("سلام", "ru")])
def test_letters_of_another_writing_are_foreign(text, language):
    assert is_foreign_to(text, language)
