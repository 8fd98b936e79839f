"""What every managed voice promises: a file that can be played, and times that fit it and the text as it was given.

Polly has no emulator: its client is ``FakePolly``, which speaks with our own voice and gives marks in Polly's form.
``tests/unit/aws/test_polly.py`` holds its requests and errors to botocore's model of the service. One machine has no
managed voice; what a job is told there stands in ``tests/unit/jobs/test_prepare_storyboard.py``.
"""

from __future__ import annotations

import io
from itertools import pairwise
from typing import Any, Protocol

import av
import boto3
import numpy as np
import pytest
from botocore.stub import Stubber

from services.adapters.aws.polly import PollySpeech
from services.domain.errors import ContentRejected, Unavailable
from services.domain.timeline import TimelineSource
from services.domain.video import VoiceSettings
from services.ports.catalogue import Voice
from services.ports.managed_speech import ManagedSpeech, SpokenFile
from tests.fakes.managed_speech import FakeManagedSpeech
from tests.unit.aws.test_attempt_session import OneClient

pytest.importorskip("espeakng_loader", reason="the extra `speech` is not installed")

from tests.fakes.polly import FakePolly

JOANNA = Voice(id="polly-joanna", name="Joanna", language="en-US", engine="polly", gender=None, characters_per_s=14.5)
TEXT = "The lamp costs five euros. It is red, and it shines."
LONG = " ".join(f"Sentence number {number} tells what the lamp does, in some more words." for number in range(60))


class Told(Protocol):
    """A service that a test can put out of order."""

    speech: ManagedSpeech

    def break_down(self) -> None: ...

    def lose_the_voice(self) -> None:
        """It is not to be had in the region."""


class Fake:
    def __init__(self) -> None:
        self.speech = FakeManagedSpeech()

    def break_down(self) -> None:
        self.speech.is_reachable = False

    def lose_the_voice(self) -> None:
        self.speech.absent.add(JOANNA.id)


class Polly:
    def __init__(self) -> None:
        self.speech = PollySpeech(FakePolly())

    def break_down(self) -> None:
        self._answer("ServiceFailureException", 500)

    def lose_the_voice(self) -> None:
        self._answer("EngineNotSupportedException", 400)

    def _answer(self, code: str, status: int) -> None:
        client = boto3.client("polly", region_name="eu-central-1", aws_access_key_id="x", aws_secret_access_key="x")
        stub = Stubber(client)
        stub.add_client_error("synthesize_speech", code, TEXT, http_status_code=status)
        stub.activate()
        self.speech = PollySpeech(OneClient(client))


@pytest.fixture(params=["fake", "polly"])
def told(request: pytest.FixtureRequest) -> Told:
    return Fake() if request.param == "fake" else Polly()


@pytest.fixture
def speech(told: Told) -> ManagedSpeech:
    return told.speech


def speak(speech: ManagedSpeech, text: str, **settings: Any) -> SpokenFile:
    return speech.speak(text, JOANNA, VoiceSettings(voice_id=JOANNA.id, **settings))


def samples_of(spoken: SpokenFile) -> np.ndarray:
    """At 16 kHz, -1 to 1."""
    resampler = av.AudioResampler(format="flt", layout="mono", rate=16_000)
    with av.open(io.BytesIO(spoken.data)) as container:
        frames = [out for frame in container.decode(audio=0) for out in resampler.resample(frame)]
    return np.concatenate([frame.to_ndarray()[0] for frame in frames + resampler.resample(None)])


def check_times(spoken: SpokenFile, text: str) -> None:
    """Words and phonemes are in order, inside the sound, without overlap; words are where the text says."""
    timeline = spoken.timeline
    assert timeline.source is TimelineSource.SYNTHESIS
    for things in (timeline.words, timeline.phonemes):
        assert things[0].start_s >= 0
        assert all(one.start_s <= one.end_s for one in things)
        assert all(one.end_s <= following.start_s + 1e-6 for one, following in pairwise(things))
        assert things[-1].end_s <= timeline.duration_s + 1e-6
    spans = [(word.char_start, word.char_end) for word in timeline.words]
    assert [text[start:end] for start, end in spans] == [word.text for word in timeline.words]
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))


@pytest.mark.parametrize("text", [TEXT, LONG], ids=["short", "of more than one request"])
def test_sound_can_be_played_and_is_as_long_as_its_times(speech, text):
    spoken = speak(speech, text)
    endings = {"audio/ogg": ".ogg", "audio/wav": ".wav"}
    assert spoken.name.endswith(endings[spoken.media_type])
    samples = samples_of(spoken)
    assert len(samples) / 16_000 == pytest.approx(spoken.timeline.duration_s, abs=0.03)
    check_times(spoken, text)
    assert len(spoken.timeline.words) == len(text.split())


def test_words_are_where_the_sound_is(speech):
    spoken = speak(speech, TEXT)
    loud = np.abs(samples_of(spoken)) > 0.02
    heard = {
        word.text: loud[round(word.start_s * 16_000) : round(word.end_s * 16_000)] for word in spoken.timeline.words
    }
    assert all(part.any() for part in heard.values()), "every word is heard"


def test_places_of_words_are_those_of_the_text_as_it_was_given(speech):
    text = "Das ist **Lumo**, 图! It costs a lot & <b>shines</b> 🌿 now."
    spoken = speak(speech, text, pronunciations={"Lumo": "loo mo"})
    check_times(spoken, text)
    assert {"Das", "Lumo", "costs", "now"} <= {word.text for word in spoken.timeline.words}


def test_speed_is_heard(speech):
    usual = speak(speech, TEXT).timeline.duration_s
    assert speak(speech, TEXT, speed=1.5).timeline.duration_s < 0.85 * usual
    assert speak(speech, TEXT, speed=0.7).timeline.duration_s > 1.2 * usual


def test_same_text_is_spoken_the_same_again(speech):
    first, again = speak(speech, TEXT), speak(speech, TEXT)
    assert (first.timeline, first.name, first.media_type) == (again.timeline, again.name, again.media_type)
    assert np.array_equal(samples_of(first), samples_of(again))


@pytest.mark.parametrize("text", ["", "?!", "🌿", "**", " \n "])
def test_nothing_to_say_is_refused_with_the_field(speech, text):
    with pytest.raises(ContentRejected) as caught:
        speak(speech, text)
    assert (caught.value.code, caught.value.param) == ("nothing_to_say", "speech.text")


@pytest.mark.parametrize("pitch", [-3.0, 0.5])
def test_pitch_is_refused_with_the_field(speech, pitch):
    with pytest.raises(ContentRejected) as caught:
        speak(speech, TEXT, pitch=pitch)
    assert (caught.value.code, caught.value.param) == ("voice_setting_not_supported", "speech.voice.pitch")


def test_service_that_does_not_answer_may_be_asked_later_and_gives_no_text_away(told):
    told.break_down()
    with pytest.raises(Unavailable) as caught:
        speak(told.speech, TEXT)
    assert (caught.value.code, caught.value.retryable) == ("speech_unavailable", True)
    assert "lamp" not in str(caught.value)


def test_voice_that_is_not_to_be_had_here_is_not_asked_for_again(told):
    told.lose_the_voice()
    with pytest.raises(Unavailable) as caught:
        speak(told.speech, TEXT)
    assert (caught.value.code, caught.value.retryable) == ("voice_not_available", False)
