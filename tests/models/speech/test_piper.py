"""What is the Piper voice's own; ``tests/contract/test_speech.py`` holds what every voice does."""

from __future__ import annotations

import pytest

from models import weights
from services.domain.errors import ContentRejected

pytest.importorskip("piper")
pytestmark = pytest.mark.skipif(not weights.is_present("piper-joe"), reason="run `python -m models.weights` first")

TEXT = "Pick one of the best cups, it's $19.99. The USA team launches today!"


@pytest.fixture(scope="module")
def joe(say):
    return lambda text=TEXT, **settings: say(text, "piper-joe", **settings)


def test_phonemes_are_ipa_units(joe):
    symbols = {phoneme.symbol for phoneme in joe().timeline.phonemes}
    assert {"aɪ", "tʃ", "ʌ", ""} <= symbols
    assert not symbols & {"ˈ", "ˌ", "ː", " ", ".", ","}


def test_other_scripts_are_refused(joe):
    with pytest.raises(ContentRejected) as caught:
        joe("Welcome to 北京")
    assert caught.value.code == "language_not_spoken"
