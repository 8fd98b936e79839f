"""What every voice catalogue does, and what the list in a file does beyond."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

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
