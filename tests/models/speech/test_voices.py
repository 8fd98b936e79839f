"""The list of voices is what the engines speak."""

from __future__ import annotations

import json

import langcodes
import pytest

from models.speech import espeak, synthesizer
from models.speech.languages import NOT_OFFERED
from models.speech.voices import TARGET, _measured, failure_of, sample
from services.ports.catalogue import Voice

pytest.importorskip("espeakng_loader")


@pytest.fixture(scope="module")
def listed() -> dict[str, Voice]:
    return {row["id"]: Voice(**row) for row in json.loads(TARGET.read_text("utf-8"))}


def file_of(voice: espeak.EspeakVoice) -> str:
    return voice.identifier.rsplit("/", 1)[-1].lower()


def test_every_voice_that_speaks_is_listed_and_no_other(listed):
    offered = {file_of(voice) for voice in espeak.voices()} - set(NOT_OFFERED)
    assert {voice_id for voice_id in listed if "+" not in voice_id} == offered | {"en-gb", "piper-joe"}


def test_every_listed_voice_passes_the_measures_and_the_rest_says_why_not():
    failures = {file_of(voice): failure_of(voice) for voice in espeak.voices()}
    assert {name for name, failure in failures.items() if failure and name not in NOT_OFFERED} == set()
    assert {"he", "kl", "my", "fo", "kok"} <= {name for name, failure in failures.items() if failure}


@pytest.mark.parametrize("voice_id", ["en-us", "cmn", "ja", "de+f3", "hi", "sv", "sw+m3", "en-gb"])
def test_rates_are_what_the_voices_measure(listed, voice_id):
    row = listed[voice_id]
    assert _measured(voice_id, row.name, row.language, row.engine, row.gender) == row


def test_rates_are_those_of_people_who_talk(listed):
    """Languages with letters 8 to 23 characters a second, Chinese characters 3 to 7."""
    for voice in listed.values():
        low, high = (3, 7) if voice.language in ("zh", "yue") else (5, 9) if voice.language in ("ja", "ko") else (7, 23)
        assert low <= voice.characters_per_s <= high, voice


def test_languages_are_valid_tags(listed):
    assert [voice.id for voice in listed.values() if not langcodes.tag_is_valid(voice.language)] == []


def test_female_and_male_variants_of_the_main_languages_are_listed(listed):
    for language in ("en-us", "de", "fr", "es", "pt-br", "it", "ru", "cmn", "ja", "ko", "vi", "hi"):
        assert listed[f"{language}+f3"].gender == "female"
        assert listed[f"{language}+m3"].gender == "male"


def test_every_listed_id_has_a_synthesizer(listed):
    for voice_id in listed:
        synthesizer(voice_id)


def test_samples_are_in_the_languages_script():
    assert "лампа" in sample("ru")
    assert "Albanien Armenien" in sample("sv")
    assert sample("tlh") is None
