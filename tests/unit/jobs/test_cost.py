"""What a job costs, from its end to the bill."""

from __future__ import annotations

from dataclasses import replace

import pytest

from services.domain.job import JobStep
from services.domain.pricing import Cost
from services.domain.video import FrameSettings, Presenter, SpokenText, VideoRequest, VoiceSettings
from services.usecases.complete_attempt import complete_attempt
from services.usecases.get_usage import get_usage
from services.usecases.view_job import view_job
from tests.fakes.world import TENANT

REQUEST = VideoRequest(
    presenter=Presenter(avatar_id="avatar_x"),
    speech=SpokenText(voice=VoiceSettings(voice_id="en-us"), text="Hi."),
    frame=FrameSettings(height_px=256),
)


@pytest.fixture
def done(world):
    """A video job whose engine has answered: ten seconds, 144 pixels wide."""
    job = world.dispatch(world.add_video(REQUEST, step=JobStep.DISPATCH, storyboard_key="work/x").id)
    answer = replace(
        world.answer(job), usage={"output_s": 10.0, "characters": 3.0}, facts={"width_px": 144, "height_px": 256}
    )
    return complete_attempt(
        answer,
        jobs=world.jobs,
        objects=world.objects,
        products=world.products,
        usage=world.usage,
        clock=world.clock,
        settings=world.settings,
        prices=world.services.prices,
    )


def test_cost_is_kept_with_the_job_and_shown(world, done):
    assert done.result.cost == Cost(amount=0.01, currency="USD")  # ten seconds of the smallest size
    shown = view_job(done, objects=world.objects, link_lifetime_s=60)
    assert shown["cost"] == {"amount": 0.01, "currency": "USD"}


def test_bill_sums_the_costs_of_the_day_they_were_made(world, done):
    world.clock.advance(1)
    [total] = get_usage(TENANT, since=None, until=None, usage=world.usage, clock=world.clock).totals
    assert total.costs == (Cost(amount=0.01, currency="USD"),)


def test_work_without_a_price_costs_nothing_and_says_so(world):
    job = world.start()
    noop = complete_attempt(
        world.answer(job),
        jobs=world.jobs,
        objects=world.objects,
        products=world.products,
        usage=world.usage,
        clock=world.clock,
        settings=world.settings,
        prices=world.services.prices,
    )
    assert view_job(noop, objects=world.objects, link_lifetime_s=60)["cost"] is None
    world.clock.advance(1)
    [total] = get_usage(TENANT, since=None, until=None, usage=world.usage, clock=world.clock).totals
    assert total.costs == ()
