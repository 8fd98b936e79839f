"""What every voice of the engine's own promises, whatever synthesises it.

It is no service, and tests use the voices themselves: there is no fake, and the same adapters serve in the cloud.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from models import weights
from models.speech import synthesizer
from models.speech.piper_synthesis import PiperSynthesizer
from models.speech.synthesis import EspeakSynthesizer
from services.domain.errors import ContentRejected, NotFound
from services.domain.video import VoiceSettings
from services.ports.speech import Speech
from tests.models.speech.test_espeak import check_timeline, fundamental_hz

TEXT = "Pick one of the best cups, it's $19.99. The team launches today!"
SONOROUS = "Now we know many more women and men will win."
Say = Callable[..., Speech]


@pytest.fixture(params=["en-us", "piper-joe"])
def voice_id(request: pytest.FixtureRequest) -> str:
    pytest.importorskip("espeakng_loader", reason="the extra `speech` is not installed")
    if request.param.startswith("piper"):
        pytest.importorskip("piper")
        if not weights.is_present(request.param):
            pytest.skip("run `python -m models.weights` first")
    return str(request.param)


@pytest.fixture
def say(voice_id: str) -> Say:
    def speak(text: str = TEXT, *, language: str | None = None, **settings: object) -> Speech:
        voice = VoiceSettings(voice_id=voice_id, **settings)  # type: ignore[arg-type]
        return synthesizer(voice_id).synthesize(text, voice, language=language)

    return speak


def test_voice_is_spoken_by_the_engine_that_has_it(voice_id):
    engines = {"en-us": EspeakSynthesizer, "piper-joe": PiperSynthesizer}
    assert isinstance(synthesizer(voice_id), engines[voice_id])


def spoken_s(speech: Speech) -> float:
    """From the first to the last sample that is not silence."""
    sounding = np.flatnonzero(np.abs(speech.samples) > 0.003)
    return float(sounding[-1] - sounding[0]) / speech.sample_rate_hz


def test_words_phonemes_and_samples_share_one_axis(say):
    speech = say()
    check_timeline(speech, TEXT)
    assert [word.text for word in speech.timeline.words] == [
        "Pick", "one", "of", "the", "best", "cups", "it's", "$19.99", "The", "team", "launches", "today",
    ]  # fmt: skip
    assert (speech.samples.dtype, speech.samples.ndim, speech.language) == (np.float32, 1, "en-US")
    assert 0.2 < np.abs(speech.samples).max() <= 1


def test_same_text_gives_the_same_samples(say):
    assert np.array_equal(say().samples, say().samples)


def test_many_sentences_are_one_piece(say):
    text = "Say this again. " * 12
    speech = say(text)
    check_timeline(speech, text)
    assert len(speech.timeline.words) == 36


@pytest.mark.parametrize("speed", [0.5, 2.0])
def test_speed_is_a_factor_on_the_duration(say, speed):
    text = "This is a fairly long sentence that shows the rate."
    assert spoken_s(say(text, speed=speed)) == pytest.approx(spoken_s(say(text)) / speed, rel=0.12)


@pytest.mark.parametrize("semitones", [-5, 5])
def test_pitch_is_in_semitones_and_keeps_the_speed(say, semitones):
    normal, shifted = say(SONOROUS), say(SONOROUS, pitch=semitones)
    shift = 12 * np.log2(fundamental_hz(shifted) / fundamental_hz(normal))
    assert shift == pytest.approx(semitones, abs=1.2)
    assert shifted.duration_s == pytest.approx(normal.duration_s, rel=0.12)


def test_volume_is_a_factor_that_never_exceeds_full_scale(say):
    normal, soft, loud = say(), say(volume=0.5), say(volume=2)
    assert np.allclose(soft.samples, normal.samples / 2, atol=0.02)
    assert np.abs(loud.samples).max() <= 1
    assert np.sqrt(np.mean(loud.samples**2)) > 1.2 * np.sqrt(np.mean(normal.samples**2))
    assert not say(volume=0).samples.any()


def test_pause_is_added_after_each_sentence(say):
    text = "One is here. Two is here."
    usual, slow = say(text), say(text, pause_s=1.0)
    assert slow.duration_s - usual.duration_s == pytest.approx(2.0, abs=0.05)
    check_timeline(slow, text)


def test_written_form_is_pronounced_as_told_and_read_as_written(say):
    text = "The Lumo is here."
    told = say(text, pronunciations={"Lumo": "extraordinarily complicated"})
    check_timeline(told, text)
    assert "Lumo" in [word.text for word in told.timeline.words]
    assert told.duration_s > say(text).duration_s + 0.5


@pytest.mark.parametrize("text", ["", " \n", "?! …", "😀🎉"])
def test_nothing_to_say_is_refused(say, text):
    with pytest.raises(ContentRejected) as caught:
        say(text)
    assert caught.value.code == "nothing_to_say"


@pytest.mark.parametrize(
    ("text", "language"), [("Welcome to our little shop, שלום and good morning", None), ("Guten Tag", "de-AT")]
)
def test_language_that_the_voice_does_not_speak_is_refused(say, text, language):
    with pytest.raises(ContentRejected) as caught:
        say(text, language=language)
    assert caught.value.code == "language_not_spoken"


def test_voice_that_is_not_there_is_not_found(voice_id):
    with pytest.raises(NotFound) as caught:
        synthesizer(f"{voice_id}-or-not")
    assert caught.value.code == "voice_not_found"
