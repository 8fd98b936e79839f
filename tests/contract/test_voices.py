"""What every voice catalogue does, and what the list in a file does beyond."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from services.adapters.local import voices as voices_module
from services.adapters.local.voices import LocalVoiceCatalogue
from services.domain.errors import InvalidRequest, NotFound, Unavailable
from services.ports.catalogue import Voice
from tests.fakes.catalogue import FakeVoiceCatalogue


def voice(voice_id: str, language: str) -> Voice:
    return Voice(id=voice_id, name=voice_id, language=language, engine="espeak", gender=None, characters_per_s=14.5)


VOICES = (voice("en-us", "en-US"), voice("en", "en-GB"), voice("cmn", "cmn"), voice("de", "de"))


@pytest.fixture
def from_file(tmp_path: Path) -> LocalVoiceCatalogue:
    path = tmp_path / "voices.json"
    path.write_text(json.dumps([asdict(one) for one in VOICES]))
    return LocalVoiceCatalogue(path)


@pytest.fixture(params=["fake", "file"])
def voices(request: pytest.FixtureRequest, from_file):
    return FakeVoiceCatalogue(*VOICES) if request.param == "fake" else from_file


def test_voice_comes_back_whole(voices):
    assert voices.get("cmn") == VOICES[2]


def test_unknown_voice_is_not_found(voices):
    with pytest.raises(NotFound) as caught:
        voices.get("en-uk")
    assert caught.value.code == "voice_not_found"


def test_language_takes_its_regions_and_all_come_without_one(voices):
    assert {one.id for one in voices.list(language="en")} == {"en-us", "en"}
    assert len(voices.list()) == 4


def test_languages_count_their_voices(voices):
    assert {one.tag: one.num_voices for one in voices.languages()} == {"cmn": 1, "de": 1, "en-GB": 1, "en-US": 1}


def test_unknown_voice_names_near_ones(from_file):
    with pytest.raises(NotFound, match="en-us"):
        from_file.get("en-uk")


@pytest.mark.parametrize(
    ("asked", "near"),
    [
        ("fr-fr", "fr, fr-be, fr-ch"),
        ("fr-FR", "fr, fr-be, fr-ch"),
        ("zh", "cmn"),
        ("zh-CN", "cmn"),
        ("de-de", "de"),
        ("no", "nb"),
        ("en-uk", "en, en-us, en-gb"),
        ("EN-GB", "en, en-gb, en-gb-x-rp"),
        ("joe", "piper-joe"),
    ],
)
def test_near_ones_are_of_the_language_asked_for_its_plain_voice_first(asked, near):
    with pytest.raises(NotFound) as caught:
        LocalVoiceCatalogue().get(asked)
    assert caught.value.detail.endswith(f"Near ones: {near}.")


def test_near_ones_of_an_unknown_variant_are_variants():
    with pytest.raises(NotFound, match=r"en-us\+"):
        LocalVoiceCatalogue().get("en-us+zz")


@pytest.mark.parametrize(
    ("asked", "reason"),
    [("ar", "vowel marks"), ("ar-SA", "vowel marks"), ("he+f3", "vowel marks"), ("TH", "letter by letter")],
)
def test_voice_that_is_not_offered_says_why(asked, reason):
    with pytest.raises(NotFound, match=f"is not offered: .*{reason}") as caught:
        LocalVoiceCatalogue().get(asked)
    assert caught.value.code == "voice_not_found"


def test_reasons_are_those_of_the_speech_engine():
    from models.speech.languages import NOT_OFFERED

    path = Path(voices_module.__file__).with_name("voices_not_offered.json")
    assert json.loads(path.read_text(encoding="utf-8")) == NOT_OFFERED
    assert not {voice.id for voice in LocalVoiceCatalogue().list()} & NOT_OFFERED.keys()


@pytest.mark.parametrize(
    ("asked", "found"),
    [("en-US", {"en-us"}), ("EN", {"en-us", "en"}), ("zh", {"cmn"}), ("fr", set()), ("e", None), ("!!", None)],
)
def test_languages_are_compared_as_bcp_47(from_file, asked, found):
    if found is None:
        with pytest.raises(InvalidRequest) as caught:
            from_file.list(language=asked)
        assert (caught.value.code, caught.value.param) == ("malformed_language", "language")
    else:
        assert {one.id for one in from_file.list(language=asked)} == found


def test_languages_have_english_and_own_names(from_file):
    german = next(one for one in from_file.languages() if one.tag == "de")
    assert (german.name, german.native_name) == ("German", "Deutsch")
    chinese = next(one for one in from_file.languages() if one.tag == "cmn")
    assert chinese.native_name == "中文"


@pytest.mark.parametrize("text", [None, "{}", "[{}]", "not json"])
def test_unusable_list_is_told(tmp_path, text):
    path = tmp_path / "voices.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(Unavailable) as caught:
        LocalVoiceCatalogue(path)
    assert caught.value.code == "voices_missing"


def test_languages_are_called_what_unicode_calls_them():
    from babel import Locale

    languages = {language.tag: language for language in LocalVoiceCatalogue().languages()}
    english = Locale("en")
    assert languages["de"].name == english.languages["de"] == "German"
    for tag in ("de", "fr", "hi", "ru", "pt-BR", "en-US", "en-GB"):
        assert languages[tag].native_name == Locale.parse(tag, sep="-").get_display_name()
    assert languages["zh"].native_name == Locale("zh").get_display_name()


def test_names_of_languages_are_what_their_command_writes():
    from models.speech.language_names import TARGET, language_names

    assert json.loads(TARGET.read_text(encoding="utf-8")) == language_names()
