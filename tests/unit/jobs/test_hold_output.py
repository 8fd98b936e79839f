"""What a video holds of its tenant's month."""

from __future__ import annotations

import io
import wave

import pytest

from services.domain.brief import Brief
from services.domain.video import Presenter, SpokenAudio, SpokenText, VideoRequest, VoiceSettings
from services.usecases.estimate_request import estimate_request
from services.usecases.hold_output import held_seconds
from tests.fakes.world import TENANT

VOICE = VoiceSettings(voice_id="en-us")


@pytest.fixture
def held(world):
    def held(speech, most_s: float = 10_000.0) -> float:
        return held_seconds(
            VideoRequest(presenter=Presenter(avatar_id="any"), speech=speech),
            tenant_id=TENANT,
            voices=world.voices,
            uploads=world.uploads,
            objects=world.objects,
            settings=world.settings,
            most_s=most_s,
        )

    return held


def wav(seconds: float) -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as output:
        output.setnchannels(1)
        output.setsampwidth(2)
        output.setframerate(8_000)
        output.writeframes(b"\0\0" * int(8_000 * seconds))
    return file.getvalue()


def test_a_text_holds_what_its_estimate_says(world, held):
    speech = SpokenText(voice=VOICE, text="Meet the Aurora, made for wet streets.")
    request = VideoRequest(presenter=Presenter(avatar_id="any"), speech=speech)
    estimate = estimate_request(
        request,
        tenant_id=TENANT,
        voices=world.voices,
        uploads=world.uploads,
        prices=world.services.prices,
        settings=world.settings,
    )
    assert held(speech) == estimate.duration_s > 1


def test_a_brief_holds_the_seconds_asked_for(held):
    assert held(SpokenText(voice=VOICE, brief=Brief(product="Lamp", language="en", duration_s=20))) == 20


def test_a_recording_holds_its_length_where_the_first_bytes_tell(world, held):
    assert held(SpokenAudio(upload_id=world.upload("audio/wav", wav(40)))) == pytest.approx(40, abs=0.1)


def test_a_recording_that_does_not_tell_holds_a_bound(world, held):
    ogg = b"OggS" + bytes(19_996)
    assert held(SpokenAudio(upload_id=world.upload("audio/ogg", ogg))) == 10.0  # 16 kbit/s
    webm = b"\x1aE\xdf\xa3" + bytes(99_996)
    assert held(SpokenAudio(upload_id=world.upload("video/webm", webm))) == 5.0  # 160 kbit/s


def test_no_bound_is_more_than_the_whole_month(world, held):
    assert held(SpokenAudio(source_url="https://client.example/a.mp3"), most_s=60.0) == 60.0
    ogg = world.upload("audio/ogg", b"OggS" + bytes(199_996))
    assert held(SpokenAudio(upload_id=ogg), most_s=60.0) == 60.0
    # What is known to be longer is not made to fit.
    assert held(SpokenAudio(upload_id=world.upload("audio/wav", wav(70))), most_s=60.0) == pytest.approx(70, abs=0.1)


def test_no_recording_holds_more_than_one_may_have(world, held):
    most = world.settings.max_audio_s
    assert held(SpokenAudio(source_url="https://client.example/a.mp3")) == most
    assert held(SpokenAudio(upload_id=world.upload("audio/ogg", b"OggS" + bytes(2_000 * int(most) + 1)))) == most
