"""A failed job run once more by the operator."""

from __future__ import annotations

from dataclasses import replace

import pytest

from services.domain.engine import AnswerState, EngineAnswer, Failure
from services.domain.errors import Conflict
from services.domain.ids import new_id
from services.domain.job import JobState, JobStep
from services.usecases.deliver_webhook import event_id
from services.usecases.find_stuck_jobs import MANY_TRIES, find_stuck_jobs, serve_now
from services.usecases.record_act import OPERATOR
from services.usecases.replay_job import replay_job
from tests.fakes.world import CALLBACK_URL, OTHER_TENANT, TENANT


@pytest.fixture
def replay(world):
    def replay(job_id, **more):
        services = world.services
        return replay_job(
            job_id, jobs=world.jobs, objects=world.objects, audit=services.audit, clock=world.clock, **more
        )

    return replay


def failed(world, code, *, retryable=False, **submit):
    """A job whose last attempt failed so."""
    job = world.start(**submit)
    job = world.jobs.save(replace(job, attempt=world.settings.max_attempts))
    failure = Failure(code=code, detail="x", retryable=retryable)
    return world.complete(EngineAnswer(job_id=job.id, attempt=job.attempt, state=AnswerState.FAILED, failure=failure))


def test_replayed_job_runs_again_under_its_id_and_is_charged_once(world, replay):
    job = failed(world, "attempt_timed_out", retryable=True)
    again = replay(job.id)
    assert (again.state, again.step, again.failure, again.finished_at) == (
        JobState.QUEUED,
        JobStep.DISPATCH,
        None,
        None,
    )
    running = world.dispatch(job.id)
    assert running.attempt == job.attempt + 1
    done = world.complete(world.answer(running))
    assert done.state is JobState.SUCCEEDED
    assert world.bill() == [job.id]


def test_second_end_is_another_event(world, replay):
    job = failed(world, "attempt_timed_out", retryable=True, callback_url=CALLBACK_URL)
    world.notify(job.id)
    replay(job.id)
    done = world.complete(world.answer(world.dispatch(job.id)))
    world.notify(job.id)
    first, second = (request.headers["webhook-id"] for request in world.sender.posted)
    assert (first, second) == (event_id(job), event_id(done))
    assert first != second


def test_late_answer_of_the_attempt_before_changes_nothing(world, replay):
    job = failed(world, "attempt_timed_out", retryable=True)
    late = world.answer(job)
    replay(job.id)
    world.dispatch(job.id)
    assert world.complete(late).state is JobState.PROCESSING


def test_job_without_its_storyboard_is_prepared_anew(world, replay):
    job = failed(world, "attempt_timed_out", retryable=True)
    world.objects.delete_owner(TENANT, job.id)
    assert replay(job.id).step is JobStep.PREPARE


def test_act_is_on_record(world, replay):
    job = failed(world, "attempt_timed_out", retryable=True)
    replay(job.id)
    entry = world.services.audit.list(TENANT).items[0]
    assert (entry.actor, entry.action, entry.target) == (OPERATOR, "job.replayed", job.id)
    assert entry.details["failure"] == "attempt_timed_out"


def test_failure_of_the_content_is_replayed_only_by_force(world, replay):
    job = failed(world, "face_not_found")
    with pytest.raises(Conflict) as refused:
        replay(job.id)
    assert refused.value.code == "job_not_replayable"
    assert world.jobs.get(job.id) == job
    assert replay(job.id, force=True).state is JobState.QUEUED


@pytest.mark.parametrize("force", [False, True])
def test_only_failed_jobs_are_replayed(world, replay, force):
    waiting, done, canceled = world.submit(), world.start(), world.start()
    world.complete(world.answer(done))
    world.cancel(canceled.id)
    for job in (waiting, done, canceled):
        with pytest.raises(Conflict) as refused:
            replay(job.id, force=force)
        assert refused.value.code == "job_not_replayable"


def test_row_of_a_batch_is_left_to_the_batch(world, replay):
    job = failed(world, "attempt_timed_out", retryable=True)
    world.jobs.save(replace(job, batch_id=new_id("batch")))
    with pytest.raises(Conflict, match="batch"):
        replay(job.id, force=True)


def test_stuck_jobs_are_those_given_up_and_those_tried_in_vain(world):
    given_up = failed(world, "prepare_failed")
    failed(world, "face_not_found")
    world.submit()
    tried = world.jobs.save(replace(world.submit(tenant_id=OTHER_TENANT), step_tries=MANY_TRIES))
    found = find_stuck_jobs(jobs=world.jobs, tenants=world.tenants)
    assert {job.id for job in found} == {given_up.id, tried.id}
    assert len(find_stuck_jobs(jobs=world.jobs, tenants=world.tenants, limit=1)) == 1


def test_stuck_job_is_due_at_once_with_all_its_tries(world):
    job = world.jobs.save(replace(world.submit(), step_tries=7))
    assert serve_now(job.id, jobs=world.jobs, clock=world.clock).step_tries == 0
    running = world.start()
    assert serve_now(running.id, jobs=world.jobs, clock=world.clock) == running
