"""Ends that no engine answer brings."""

from __future__ import annotations

import pytest

from services.domain.errors import Conflict, NotFound
from services.domain.job import JobState, JobStep
from services.settings import Settings
from services.usecases.cancel_job import cancel_job
from services.usecases.delete_job import delete_job
from tests.fakes.world import CALLBACK_URL, OTHER_TENANT, TENANT, World


def delete(world: World, job_id: str, tenant_id: str = TENANT) -> None:
    delete_job(
        job_id,
        tenant_id=tenant_id,
        actor="key_1",
        jobs=world.jobs,
        objects=world.objects,
        products=world.products,
        usage=world.usage,
        deliveries=world.deliveries,
        audit=world.audit,
        clock=world.clock,
    )


def test_queued_job_is_canceled_at_once(world):
    job = world.submit()
    canceled = world.cancel(job.id)
    assert (canceled.state, canceled.step) == (JobState.CANCELED, JobStep.NONE)
    assert canceled.finished_at == world.clock.now()


def test_processing_job_is_canceled_at_once_and_its_engine_told(world):
    job = world.start(callback_url=CALLBACK_URL)
    canceled = world.cancel(job.id)
    assert (canceled.state, canceled.step, canceled.deadline_at) == (JobState.CANCELED, JobStep.NOTIFY, None)
    assert world.objects.exists(world.engine.started[0].cancel_key())


def test_canceling_twice_changes_nothing(world):
    job = world.submit()
    canceled = world.cancel(job.id)
    world.clock.advance(9)
    assert world.cancel(job.id) == canceled


def test_finished_job_cannot_be_canceled(world):
    job = world.start()
    done = world.complete(world.answer(job))
    with pytest.raises(Conflict) as raised:
        world.cancel(job.id)
    assert raised.value.code == "job_is_final"
    assert world.jobs.get(job.id) == done


def test_job_of_another_tenant_is_not_found(world):
    job = world.start()
    with pytest.raises(NotFound):
        cancel_job(job.id, tenant_id=OTHER_TENANT, jobs=world.jobs, objects=world.objects, clock=world.clock)
    with pytest.raises(NotFound):
        delete(world, job.id, OTHER_TENANT)
    assert world.jobs.get(job.id) == job


def test_active_job_cannot_be_deleted(world):
    for job in (world.submit(), world.start()):
        with pytest.raises(Conflict) as raised:
            delete(world, job.id)
        assert raised.value.code == "job_active"
        assert world.jobs.get(job.id) == job


def test_deleting_takes_row_and_objects_and_leaves_the_bill(world):
    job = world.start()
    world.complete(world.answer(job))
    delete(world, job.id)
    with pytest.raises(NotFound):
        world.jobs.get(job.id)
    assert not world.objects.stored_keys()
    assert world.bill() == [job.id]


def test_deleting_makes_up_a_charge_that_a_crash_lost(world, monkeypatch):
    job = world.start()
    with monkeypatch.context() as patch:
        patch.setattr(world.usage, "record", lambda record: (_ for _ in ()).throw(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            world.complete(world.answer(job))
    assert not world.bill()
    delete(world, job.id)
    assert world.bill() == [job.id]


def test_deleting_a_canceled_job_still_stops_its_engine(world):
    job = world.start()
    world.cancel(job.id)
    delete(world, job.id)
    assert world.objects.stored_keys() == {str(world.engine.started[0].cancel_key())}


def test_attempt_past_its_deadline_is_given_up_and_tried_again(world):
    job = world.start()
    world.clock.advance(world.settings.attempt_timeout_s + 1)
    [reaped] = world.reap()
    assert (reaped.id, reaped.state, reaped.step, reaped.attempt) == (
        job.id,
        JobState.QUEUED,
        JobStep.DISPATCH,
        1,
    )
    assert world.objects.exists(world.engine.started[0].cancel_key()), "the silent engine is told to stop"
    world.clock.advance(60)
    assert world.dispatch(job.id).attempt == 2


def test_last_attempt_past_its_deadline_fails_the_job(world):
    world.settings = Settings(max_attempts=1, attempt_timeout_s=10)
    world.start(callback_url=CALLBACK_URL)
    world.clock.advance(11)
    [failed] = world.reap()
    assert (failed.state, failed.step, failed.failure.code) == (
        JobState.FAILED,
        JobStep.NOTIFY,
        "attempt_timed_out",
    )
    assert "10 s" in failed.failure.detail
    assert not world.reap()


def test_attempt_within_its_deadline_is_left_alone(world):
    job = world.start()
    world.clock.advance(world.settings.attempt_timeout_s)
    assert not world.reap()
    assert world.jobs.get(job.id) == job


def test_answer_that_wins_the_race_against_the_reaper_stands(world, monkeypatch):
    job = world.start()
    answer = world.answer(job)
    world.clock.advance(world.settings.attempt_timeout_s + 1)
    overdue = world.jobs.overdue

    def complete_meanwhile(*args: object, **kwargs: object) -> object:
        found = overdue(*args, **kwargs)
        world.complete(answer)
        return found

    monkeypatch.setattr(world.jobs, "overdue", complete_meanwhile)
    world.reap()
    assert world.jobs.get(job.id).state is JobState.SUCCEEDED


def test_late_answer_of_a_reaped_attempt_is_ignored(world):
    job = world.start()
    world.clock.advance(world.settings.attempt_timeout_s + 1)
    [reaped] = world.reap()
    assert world.complete(world.answer(job)) == reaped
