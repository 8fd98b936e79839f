"""Examples and numbers in the documents are what the code gives."""

from __future__ import annotations

import json
import re

import pytest

from services.domain import wire
from services.domain.brief import Brief
from services.usecases.write_script import write_script
from tests.architecture.repository import ROOT

_README = (ROOT / "README.md").read_text(encoding="utf-8")
_SPEECH = (ROOT / "docs" / "speech.md").read_text(encoding="utf-8")
_EXAMPLES = re.findall(r"^\| ([a-z]{2}(?:-[A-Z]{2})?) \| (.+?) \| (.+?) \|$", _SPEECH, re.MULTILINE)


def test_readme_shows_the_script_that_is_written():
    call = re.search(r"/v1/scripts .*?-d '(\{.*?\})'\n```", _README, re.DOTALL)
    shown = re.search(r"```json\n(\{.*?\})\n```", _README, re.DOTALL)
    brief = wire.from_values(Brief, json.loads(call.group(1))["brief"])
    assert wire.to_values(write_script(brief)) == json.loads(shown.group(1))


def test_numbers_of_voices_are_the_catalogues():
    voices = json.loads((ROOT / "services" / "adapters" / "local" / "voices.json").read_text(encoding="utf-8"))
    tags = {voice["language"] for voice in voices}
    languages = {tag.split("-")[0] for tag in tags}
    assert f"{len(voices)} voices in {len(languages)} languages" in _README
    assert f"{len(voices)} voices, {len(tags)} language tags, {len(languages)} languages" in _SPEECH


def test_there_are_examples_of_normalisation():
    assert len(_EXAMPLES) >= 12


@pytest.mark.parametrize(("language", "written", "spoken"), _EXAMPLES)
def test_normalisation_examples_are_what_is_spoken(language, written, spoken):
    pytest.importorskip("pykakasi", reason="the extra `speech` is not installed")
    from models.speech.normalize import speakable

    sentences = speakable(written, language=language, pronunciations={})
    assert " ".join(sentence.spoken for sentence in sentences) == spoken
