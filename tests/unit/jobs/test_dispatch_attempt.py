"""Attempts are handed over within what engine and tenant can hold."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from services.domain.engine import EngineKind
from services.domain.errors import Unavailable
from services.domain.ids import new_id
from services.domain.job import Job, JobState, JobStep
from services.usecases.claim_step import claim_step
from tests.fakes.world import OTHER_TENANT, TENANT, World, make_tenant


def prepared(world: World, **submit: object):
    return world.prepare(world.submit(**submit).id)


def claim(world: World, limit: int = 10):
    return claim_step(
        JobStep.DISPATCH,
        limit=limit,
        lease_s=30,
        jobs=world.jobs,
        engine=world.engine,
        tenants=world.tenants,
    )


def test_dispatched_job_is_processing_as_attempt_one(world):
    job = world.dispatch(prepared(world).id)
    assert (job.state, job.step, job.attempt) == (JobState.PROCESSING, JobStep.RUN, 1)
    [request] = world.engine.started
    assert (request.inference_id, request.tenant_id) == (f"{job.id}.1", TENANT)
    assert request.storyboard_key == job.storyboard_key
    expected = world.clock.now() + timedelta(seconds=world.settings.attempt_timeout_s)
    assert request.deadline_at == job.deadline_at == expected


def test_repeated_message_starts_nothing(world):
    job = world.dispatch(prepared(world).id)
    assert world.dispatch(job.id) == job
    assert len(world.engine.started) == 1


def test_full_engine_leaves_the_job_waiting_without_counting_a_try(world):
    world.engine.num_instances = 1
    running = [world.dispatch(prepared(world).id) for _ in range(2)]
    before = prepared(world)
    [claimed] = world.jobs.claim(JobStep.DISPATCH, limit=1, lease_s=30)
    waiting = world.dispatch(claimed.id)
    assert waiting == replace(before, version=waiting.version)
    assert len(world.engine.started) == 2
    world.complete(world.answer(running[0]))
    assert [job.id for job in claim(world)] == [waiting.id], "it was put back at once"


def preview(world: World) -> Job:
    """A stored garment preview that waits for an engine."""
    now = world.clock.now()
    job = Job(
        id=new_id("job"),
        tenant_id=TENANT,
        kind=EngineKind.GARMENT_PREVIEW,
        request={},
        created_at=now,
        updated_at=now,
        available_at=now,
        step=JobStep.DISPATCH_NOW,
        storyboard_key="work/t/j/0/storyboard.json",
    )
    world.jobs.add(job)
    return job


def test_preview_does_not_wait_behind_videos_that_fill_their_engine_and_the_tenants_share(world):
    world.engine.num_instances = 1
    world.tenants.update(make_tenant(max_outstanding=2))
    for _ in range(5):
        world.dispatch(prepared(world).id)
    assert world.jobs.outstanding() == 2
    started = world.dispatch(preview(world).id)
    assert (started.step, started.kind) == (JobStep.RUN, EngineKind.GARMENT_PREVIEW)
    again = world.complete(world.failed(started, retryable=True))
    assert again.step is JobStep.DISPATCH_NOW, "the next attempt waits in the same lane"


def test_previews_are_claimed_within_their_own_engines_room(world):
    world.engine.num_instances = 1
    waiting = [preview(world) for _ in range(4)]
    prepared(world)
    claimed = claim_step(
        JobStep.DISPATCH_NOW, limit=10, lease_s=30, jobs=world.jobs, engine=world.engine, tenants=world.tenants
    )
    assert [job.id for job in claimed] == [job.id for job in waiting[:2]]


def test_room_made_by_a_finished_job_is_used(world):
    world.engine.num_instances = 1
    running = [world.dispatch(prepared(world).id) for _ in range(2)]
    waiting = prepared(world)
    world.complete(world.answer(running[0]))
    assert world.dispatch(waiting.id).state is JobState.PROCESSING


def test_tenant_at_its_cap_waits_while_another_is_served(world):
    world.tenants.update(make_tenant(TENANT, max_outstanding=1))
    world.dispatch(prepared(world).id)
    assert world.dispatch(prepared(world).id).state is JobState.QUEUED
    assert world.dispatch(prepared(world, tenant_id=OTHER_TENANT).id).state is JobState.PROCESSING


def test_message_that_comes_early_starts_nothing(world):
    job = world.jobs.save(replace(prepared(world), available_at=world.clock.now() + timedelta(seconds=5)))
    assert world.dispatch(job.id) == job
    world.clock.advance(5)
    assert world.dispatch(job.id).state is JobState.PROCESSING


def test_claims_for_dispatch_take_no_more_of_a_tenant_than_its_share(world):
    world.tenants.update(make_tenant(TENANT, max_outstanding=2))
    world.start()
    for _ in range(4):
        prepared(world)
    assert len(claim(world)) == 1


def test_unreachable_engine_fails_the_message_and_not_the_job(world):
    job = prepared(world)
    world.engine.is_reachable = False
    with pytest.raises(Unavailable) as raised:
        world.dispatch(job.id)
    assert raised.value.code == "engine_unavailable"
    assert world.jobs.get(job.id) == job


def test_dispatch_is_given_up_after_the_last_try(world):
    job = world.jobs.save(replace(prepared(world), step_tries=world.settings.max_step_tries))
    failed = world.dispatch(job.id)
    assert (failed.state, failed.failure.code) == (JobState.FAILED, "dispatch_failed")


def test_crash_between_start_and_save_starts_the_same_attempt_again(world, monkeypatch):
    job = prepared(world)
    with monkeypatch.context() as patch:
        patch.setattr(world.jobs, "save", lambda job: (_ for _ in ()).throw(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            world.dispatch(job.id)
    world.dispatch(job.id)
    assert [request.attempt for request in world.engine.started] == [1, 1]


def test_job_canceled_while_it_is_dispatched_stops_the_attempt(world, monkeypatch):
    job = prepared(world)
    start = world.engine.start

    def cancel_meanwhile(request: object) -> None:
        start(request)
        world.cancel(job.id)

    monkeypatch.setattr(world.engine, "start", cancel_meanwhile)
    assert world.dispatch(job.id).state is JobState.CANCELED
    assert world.objects.exists(world.engine.started[0].cancel_key())


def test_claims_for_dispatch_take_no_more_than_there_is_room_for(world):
    world.engine.num_instances = 2
    world.start()
    for _ in range(6):
        prepared(world)
    assert len(claim(world)) == 3


def test_full_engine_leaves_waiting_jobs_unclaimed(world):
    world.engine.num_instances = 1
    for _ in range(2):
        world.start()
    waiting = prepared(world)
    assert not claim(world)
    assert world.jobs.get(waiting.id) == waiting


def test_claims_pass_over_tenants_at_their_cap(world):
    world.tenants.update(make_tenant(TENANT, max_outstanding=1))
    world.start()
    prepared(world)
    other = prepared(world, tenant_id=OTHER_TENANT)
    assert [job.id for job in claim(world)] == [other.id]
