"""However a job goes, what it holds of its tenant's month goes with it."""

from __future__ import annotations

import pytest

from services.domain.allowance import Allowance
from services.domain.ids import new_id
from services.domain.job import Job, JobState
from services.domain.video import Presenter, SpokenAudio, SpokenText, VideoRequest, VoiceSettings
from services.usecases.replay_job import replay_job
from services.usecases.submit_noop import submit_noop
from tests.fakes.world import TENANT, World
from tests.unit.jobs.test_hold_output import wav

URL = "https://media.example/sound"


def submit(world: World, duration_s: float = 4.0) -> Job:
    return submit_noop(
        {"duration_s": duration_s},
        job_id=new_id("job"),
        tenant_id=TENANT,
        jobs=world.jobs,
        clock=world.clock,
        settings=world.settings,
        allowance=Allowance(output_s=100.0, used_s=0.0, at=world.clock.now()),
    )


def start(world: World) -> Job:
    job = submit(world)
    world.prepare(job.id)
    return world.dispatch(job.id)


def open_s(world: World) -> float:
    return world.jobs.holdings(TENANT).open_ms / 1000


def test_job_holds_from_its_submission_to_its_success(world):
    job = submit(world)
    assert open_s(world) == 4
    world.prepare(job.id)
    assert open_s(world) == 4
    job = world.dispatch(job.id)
    assert open_s(world) == 4
    answer = world.answer(job)
    for _ in range(2):
        world.complete(answer)
    holdings = world.jobs.holdings(TENANT)
    assert (holdings.open_ms, holdings.made_ms) == (0, round(answer.usage["output_s"] * 1000))


def test_retries_hold_and_the_last_failure_lets_go(world):
    job = start(world)
    world.complete(world.failed(job, retryable=True))
    assert open_s(world) == 4
    world.clock.advance(60)
    job = world.dispatch(job.id)
    failed = world.complete(world.failed(job, retryable=False))
    assert failed is not None
    assert (failed.state, open_s(world)) == (JobState.FAILED, 0)


def test_canceled_job_lets_go_and_its_late_answer_changes_nothing(world):
    job = start(world)
    answer = world.answer(job)
    world.cancel(job.id)
    assert open_s(world) == 0
    world.complete(answer)
    assert world.jobs.holdings(TENANT).made_ms == 0


def test_job_that_is_given_up_by_the_reaper_lets_go(world):
    job = start(world)
    while not world.jobs.get(job.id).state.is_final:
        world.clock.advance(world.settings.attempt_timeout_s + 3600)
        world.reap()
        world.dispatch(job.id)
    assert open_s(world) == 0


def test_replayed_job_holds_again_and_a_deleted_one_has_nothing_left(world):
    job = start(world)
    for _ in range(world.settings.max_attempts):
        world.complete(world.failed(job, retryable=True))
        world.clock.advance(3600)
        job = world.dispatch(job.id)
    assert (job.state, open_s(world)) == (JobState.FAILED, 0)
    replay_job(job.id, jobs=world.jobs, objects=world.objects, audit=world.audit, clock=world.clock)
    assert open_s(world) == 4
    world.cancel(job.id)
    world.jobs.delete(job.id)
    assert open_s(world) == 0


def recording(world: World, data: bytes, held_s: float) -> Job:
    world.fetcher.answers[URL] = data
    request = VideoRequest(
        presenter=Presenter(upload_id=world.upload(), synthetic=True), speech=SpokenAudio(source_url=URL)
    )
    return world.add_video(request, held_s=held_s)


@pytest.mark.parametrize(("seconds", "held_s"), [(12, 12), (40, 40)])
def test_recording_behind_a_url_holds_its_length_once_it_is_fetched(world, seconds, held_s):
    job = recording(world, wav(seconds), 60.0)
    assert open_s(world) == 60
    assert world.prepare(job.id).failure is None
    assert open_s(world) == pytest.approx(held_s, abs=0.1)


def test_fetched_recording_that_is_longer_than_what_was_free_for_it_fails(world):
    job = world.prepare(recording(world, wav(12), 10.0).id)
    assert job.failure is not None
    assert (job.failure.code, job.failure.param) == ("longer_than_monthly_quota", "speech")
    assert open_s(world) == 0


def test_text_keeps_what_it_holds_when_prepared(world):
    speech = SpokenText(voice=VoiceSettings(voice_id="en-us"), text="Hello there.")
    request = VideoRequest(presenter=Presenter(upload_id=world.upload(), synthetic=True), speech=speech)
    world.prepare(world.add_video(request, held_s=2.0).id)
    assert open_s(world) == 2
