"""Estimates, without anything being made."""

from __future__ import annotations

import pytest

from services.domain.brief import Brief
from services.domain.errors import ContentRejected, InvalidRequest
from services.domain.video import (
    Aspect,
    FrameSettings,
    Presenter,
    SpokenAudio,
    SpokenText,
    VideoRequest,
    VoiceSettings,
)
from services.usecases.estimate_request import estimate_request
from services.usecases.estimate_speech import Basis
from tests.fakes.world import OTHER_TENANT, TENANT

BRIEF = Brief(product="Aurora running shoe", benefits=("weighs 190 grams",), language="en-US", duration_s=12.0)


def order(speech=None, **frame):
    voice = VoiceSettings(voice_id="en-us")
    speech = speech or SpokenText(voice=voice, text="a" * 140 + ".")
    return VideoRequest(presenter=Presenter(avatar_id="any"), speech=speech, frame=FrameSettings(**frame))


@pytest.fixture
def estimate(world):
    def estimate(request, **more):
        return estimate_request(
            request,
            tenant_id=more.pop("tenant_id", TENANT),
            voices=world.voices,
            uploads=world.uploads,
            prices=world.services.prices,
            settings=world.settings,
            **more,
        )

    return estimate


def test_text_takes_its_characters_at_the_voices_rate(estimate):
    found = estimate(order(height_px=256, aspect=Aspect.SQUARE))
    # 141 letters and a sentence's pause, over prose's pauses (1.17), at 15 a second, and some silence
    assert found.duration_s == pytest.approx(8.8, abs=0.2)
    assert (found.basis, found.uncertainty) == (Basis.TEXT, 0.15)
    assert found.quantities == {"output_s": found.duration_s, "characters": 141.0}
    assert found.cost.amount == pytest.approx(found.duration_s * 0.001, abs=1e-6)


def test_speed_and_pauses_count(estimate):
    usual = estimate(order()).duration_s
    fast = SpokenText(voice=VoiceSettings(voice_id="en-us", speed=2.0), text="a" * 140 + ".")
    assert estimate(order(fast)).duration_s == pytest.approx(usual / 2, abs=0.2)
    slow = SpokenText(voice=VoiceSettings(voice_id="en-us", pause_s=2.0), text="a" * 140 + ".")
    assert estimate(order(slow)).duration_s == pytest.approx(usual + 2.0)


def test_larger_pictures_cost_more(estimate):
    assert estimate(order()).cost.amount > estimate(order(height_px=256)).cost.amount


def test_brief_is_estimated_by_the_script_that_will_be_written(estimate):
    found = estimate(order(SpokenText(voice=VoiceSettings(voice_id="en-us"), brief=BRIEF)))
    assert found.basis is Basis.SCRIPT
    assert 0 < found.duration_s < BRIEF.duration_s  # it has one fact only
    assert found.quantities["scripts"] == 1.0


@pytest.mark.parametrize("how", [{"write_script_first": False}, {"has_language_model": True}])
def test_brief_is_estimated_by_the_seconds_asked_for_where_no_script_is_written_first(estimate, how):
    found = estimate(order(SpokenText(voice=VoiceSettings(voice_id="en-us"), brief=BRIEF)), **how)
    assert (found.basis, found.duration_s, found.uncertainty) == (Basis.BRIEF, 12.0, 0.25)


def test_recording_is_a_guess_by_its_size_and_says_so(world, estimate):
    upload_id = world.upload("audio/wav", b"\0" * 88_200)
    found = estimate(order(SpokenAudio(upload_id=upload_id)))
    assert (found.basis, found.uncertainty, found.duration_s) == (Basis.RECORDING, None, 1.0)
    assert "characters" not in found.quantities


def test_recording_of_another_tenant_is_not_found(world, estimate):
    upload_id = world.upload("audio/wav")
    with pytest.raises(ContentRejected) as refused:
        estimate(order(SpokenAudio(upload_id=upload_id)), tenant_id=OTHER_TENANT)
    assert (refused.value.code, refused.value.param) == ("upload_not_found", "speech.audio_upload_id")


def test_what_the_creation_would_refuse_is_refused(estimate):
    with pytest.raises(ContentRejected) as refused:
        estimate(order(SpokenText(voice=VoiceSettings(voice_id="none"), text="Hi.")))
    assert refused.value.code == "voice_not_found"
    with pytest.raises(InvalidRequest):
        estimate(order(fps=24))


def test_nothing_is_stored(world, estimate):
    estimate(order())
    assert world.jobs.list(TENANT).items == ()


def test_short_texts_numbers_and_other_languages_are_less_sure(estimate):
    def bound(text):
        return estimate(order(SpokenText(voice=VoiceSettings(voice_id="en-us"), text=text))).uncertainty

    assert bound("This is a sentence that says a few things about shoes.") == 0.15
    assert bound("This is a sentence that says $49.90 about shoes.") == 0.25
    assert bound("OK?") > 0.4
