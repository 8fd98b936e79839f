"""The Piper voice through the port."""

from __future__ import annotations

import numpy as np
import pytest

from models import weights
from models.speech.utterance import LEAD_S, TAIL_S
from services.domain.errors import ContentRejected
from tests.models.speech.test_espeak import check_timeline, fundamental_hz

pytest.importorskip("piper")
pytestmark = pytest.mark.skipif(not weights.is_present("piper-joe"), reason="run `python -m models.weights` first")

TEXT = "Pick one of the best cups, it's $19.99. The USA team launches today!"


@pytest.fixture(scope="module")
def joe(say):
    return lambda text=TEXT, **settings: say(text, "piper-joe", **settings)


def test_words_phonemes_and_samples_share_one_axis(joe):
    speech = joe()
    check_timeline(speech, TEXT)
    assert [word.text for word in speech.timeline.words] == [
        "Pick", "one", "of", "the", "best", "cups", "it's", "$19.99", "The", "USA", "team", "launches", "today",
    ]  # fmt: skip
    assert speech.samples.dtype == np.float32
    assert 0.3 < np.abs(speech.samples).max() <= 1


def test_phonemes_are_ipa_units(joe):
    symbols = {phoneme.symbol for phoneme in joe().timeline.phonemes}
    assert {"aɪ", "tʃ", "ʌ", ""} <= symbols
    assert not symbols & {"ˈ", "ˌ", "ː", " ", ".", ","}


def test_same_text_gives_the_same_samples(joe):
    assert np.array_equal(joe().samples, joe().samples)


def test_speed_is_a_factor_on_the_duration(joe):
    def spoken_s(speed):
        return joe("This is a long sentence that shows the rate.", speed=speed).duration_s - LEAD_S - TAIL_S

    assert spoken_s(2) == pytest.approx(spoken_s(1) / 2, rel=0.12)
    assert spoken_s(0.5) == pytest.approx(spoken_s(1) * 2, rel=0.12)


@pytest.mark.parametrize("semitones", [-5, 5])
def test_pitch_is_in_semitones_and_keeps_the_speed(joe, semitones):
    text = "Now we know many more women and men will win."
    normal, shifted = joe(text), joe(text, pitch=semitones)
    shift = 12 * np.log2(fundamental_hz(shifted) / fundamental_hz(normal))
    assert shift == pytest.approx(semitones, abs=1.2)
    assert shifted.duration_s == pytest.approx(normal.duration_s, rel=0.12)


def test_other_scripts_are_refused(joe):
    with pytest.raises(ContentRejected) as caught:
        joe("Welcome to 北京")
    assert caught.value.code == "language_not_spoken"


def test_many_sentences_are_one_piece(joe):
    text = "Say this again. " * 12
    speech = joe(text)
    check_timeline(speech, text)
    assert len(speech.timeline.words) == 36
