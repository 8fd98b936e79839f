"""What every voice catalogue does, and what lists in files do beyond."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from services.adapters.local import voices as voices_module
from services.adapters.local.voices import LocalVoiceCatalogue
from services.domain.errors import InvalidRequest, NotFound, Unavailable
from services.ports.catalogue import Voice, VoiceCatalogue
from services.settings import Settings
from tests.fakes.catalogue import FakeVoiceCatalogue


def voice(voice_id: str, language: str) -> Voice:
    return Voice(id=voice_id, name=voice_id, language=language, engine="espeak", gender=None, characters_per_s=14.5)


VOICES = (voice("en-us", "en-US"), voice("en", "en-GB"), voice("cmn", "cmn"), voice("de", "de"))
MANAGED = (voice("polly-joanna", "en-US"), voice("polly-ines", "pt-PT"))
ALL = VOICES + MANAGED


def listed(path: Path, voices: tuple[Voice, ...]) -> Path:
    path.write_text(json.dumps([asdict(one) for one in voices]))
    return path


@pytest.fixture
def from_file(tmp_path: Path) -> LocalVoiceCatalogue:
    return LocalVoiceCatalogue(listed(tmp_path / "voices.json", VOICES))


@pytest.fixture(params=["fake", "local", "aws"])
def voices(request: pytest.FixtureRequest, tmp_path: Path) -> VoiceCatalogue:
    """On AWS the managed voices stand in a list of their own."""
    if request.param == "fake":
        return FakeVoiceCatalogue(*ALL)
    if request.param == "local":
        return LocalVoiceCatalogue(listed(tmp_path / "all.json", ALL))
    return LocalVoiceCatalogue(listed(tmp_path / "own.json", VOICES), listed(tmp_path / "managed.json", MANAGED))


def test_voice_comes_back_whole(voices):
    assert [voices.get(one.id) for one in ALL] == list(ALL)


@pytest.mark.parametrize("asked", ["en-uk", "EN-US", "", "nothing like it", "polly-joanna "])
def test_unknown_voice_is_not_found(voices, asked):
    with pytest.raises(NotFound) as caught:
        voices.get(asked)
    assert caught.value.code == "voice_not_found"


@pytest.mark.parametrize(("asked", "near"), [("en-uk", "en-us"), ("polly-joana", "polly-joanna")])
def test_unknown_voice_names_near_ones(voices, asked, near):
    with pytest.raises(NotFound) as caught:
        voices.get(asked)
    assert near in caught.value.detail


def test_all_are_listed_in_their_order_without_a_language(voices):
    assert list(voices.list()) == list(ALL)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("en", {"en-us", "en", "polly-joanna"}),
        ("EN", {"en-us", "en", "polly-joanna"}),
        ("en-US", {"en-us", "polly-joanna"}),
        ("en-gb", {"en"}),
        ("pt", {"polly-ines"}),
        ("de-AT", set()),
        ("fr", set()),
    ],
)
def test_language_takes_its_regions_and_no_region_its_language(voices, asked, found):
    assert {one.id for one in voices.list(language=asked)} == found


@pytest.mark.parametrize("asked", ["e", "!!", "", "en_US!", "-"])
def test_what_is_no_tag_is_refused_by_name(voices, asked):
    with pytest.raises(InvalidRequest) as caught:
        voices.list(language=asked)
    assert (caught.value.code, caught.value.param) == ("malformed_language", "language")


def test_languages_are_those_that_are_spoken_and_count_their_voices(voices):
    languages = voices.languages()
    assert {one.tag: one.num_voices for one in languages} == {"cmn": 1, "de": 1, "en-GB": 1, "en-US": 2, "pt-PT": 1}
    assert len(languages) == 5
    assert all(one.name and one.native_name for one in languages)


def test_profile_of_aws_lists_managed_voices_where_they_are_used_and_the_local_one_none():
    from services.adapters.aws.wiring import adapters as of_aws
    from services.adapters.local.wiring import adapters as of_this_machine

    catalogues = [of_aws(Settings(polly=used), {})["voices"]() for used in (True, False)]
    catalogues.append(of_this_machine(Settings(), {})["voices"]())
    with_managed, *without = ({one.engine for one in catalogue.list()} for catalogue in catalogues)
    assert with_managed == {"espeak", "piper", "polly"}
    assert without == [{"espeak", "piper"}] * 2


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


def test_macro_languages_are_the_languages_they_hold(from_file):
    assert [one.id for one in from_file.list(language="zh")] == ["cmn"]


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
