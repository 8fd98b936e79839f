"""How attempts end: one final state, one result, one charge."""

from __future__ import annotations

from dataclasses import replace

import pytest

from services.domain.engine import AnswerState, EngineAnswer, EngineEvent, EngineKind
from services.domain.errors import Conflict, Unavailable
from services.domain.job import JobState, JobStep
from services.settings import Settings
from services.usecases.delete_job import delete_job
from services.usecases.record_progress import record_progress
from tests.fakes.world import CALLBACK_URL, TENANT


def event(job, sequence: int, fraction: float = 0.5, attempt: int | None = None) -> EngineEvent:
    number = job.attempt if attempt is None else attempt
    return EngineEvent(job_id=job.id, attempt=number, sequence=sequence, stage="render", fraction=fraction)


def test_good_answer_is_the_result_and_is_charged(world):
    job = world.start()
    answer = world.answer(job)
    done = world.complete(answer)
    assert (done.state, done.step, done.deadline_at) == (JobState.SUCCEEDED, JobStep.NONE, None)
    assert (done.result.outputs, done.result.facts) == (answer.outputs, {"duration_s": 1.5})
    assert done.finished_at == world.clock.now()
    assert world.bill() == [job.id]


def test_final_job_with_a_callback_is_to_be_notified(world):
    job = world.start(callback_url=CALLBACK_URL)
    assert world.complete(world.answer(job)).step is JobStep.NOTIFY


def test_repeated_answer_changes_nothing(world):
    job = world.start()
    answer = world.answer(job)
    done = world.complete(answer)
    world.clock.advance(60)
    assert world.complete(answer) == done
    assert world.bill() == [job.id]


def test_contradicting_answer_after_the_first_is_ignored(world):
    job = world.start()
    done = world.complete(world.answer(job))
    assert world.complete(world.failed(job, retryable=False)) == done


def test_charge_lost_in_a_crash_is_made_up_by_the_repeated_answer(world, monkeypatch):
    job = world.start()
    answer = world.answer(job)

    def crash(record: object) -> bool:
        raise Unavailable("gone", code="store_unavailable")

    with monkeypatch.context() as patch:
        patch.setattr(world.usage, "record", crash)
        with pytest.raises(Unavailable):
            world.complete(answer)
    assert world.jobs.get(job.id).state is JobState.SUCCEEDED
    world.complete(answer)
    assert world.bill() == [job.id]


def test_answer_of_an_earlier_attempt_is_ignored(world):
    first = world.start()
    world.complete(world.failed(first, retryable=True))
    world.clock.advance(5)
    second = world.dispatch(first.id)
    assert second.attempt == 2
    assert world.complete(world.answer(second, attempt=1)) == second
    assert not world.bill()


def test_answer_that_overtakes_the_row_is_told_to_come_again(world):
    job = world.prepare(world.submit().id)
    early = world.answer(job, attempt=1)
    with pytest.raises(Conflict) as raised:
        world.complete(early)
    assert (raised.value.code, raised.value.retryable) == ("attempt_not_recorded", True)
    world.dispatch(job.id)
    assert world.complete(early).state is JobState.SUCCEEDED


def test_retryable_failure_waits_longer_each_time_and_then_fails(world):
    world.settings = Settings(max_attempts=3)
    job = world.start(callback_url=CALLBACK_URL)
    delays = []
    for _ in range(2):
        job = world.complete(world.failed(job, retryable=True))
        assert (job.state, job.step, job.deadline_at) == (JobState.QUEUED, JobStep.DISPATCH, None)
        delays.append((job.available_at - world.clock.now()).total_seconds())
        world.clock.advance(delays[-1])
        job = world.dispatch(job.id)
    assert delays[1] > delays[0] > 0
    job = world.complete(world.failed(job, retryable=True))
    assert (job.state, job.step, job.attempt) == (JobState.FAILED, JobStep.NOTIFY, 3)
    assert job.failure.code == "face_not_found"
    assert not world.bill()


def test_duplicate_failure_is_not_counted_as_another_attempt(world):
    job = world.start()
    waiting = world.complete(world.failed(job, retryable=True))
    assert world.complete(world.failed(job, retryable=True)) == waiting


def test_fatal_failure_ends_the_job_at_once_and_keeps_its_inputs(world):
    job = world.start()
    failed = world.complete(world.failed(job, retryable=False))
    assert (failed.state, failed.attempt) == (JobState.FAILED, 1)
    assert (failed.failure.code, failed.failure.detail) == ("face_not_found", "No face.")
    assert failed.storyboard_key in world.objects.stored_keys()


def test_failure_without_a_reason_is_retried(world):
    job = world.start()
    answer = EngineAnswer(job_id=job.id, attempt=1, state=AnswerState.FAILED)
    assert world.complete(answer).state is JobState.QUEUED


def test_engine_that_saw_the_stop_mark_of_a_lost_cancel_ends_the_job(world):
    job = world.start()
    canceled = world.complete(EngineAnswer(job_id=job.id, attempt=1, state=AnswerState.CANCELED))
    assert canceled.state is JobState.CANCELED
    assert not world.bill()


@pytest.mark.parametrize("max_attempts", [1])
@pytest.mark.parametrize("code", ["empty_output", "output_missing", "damaged_output", "foreign_output"])
def test_success_without_a_usable_file_is_a_failure(world, code, max_attempts):
    world.settings = Settings(max_attempts=max_attempts)
    job = world.start()
    answer = world.answer(job, data=b"" if code == "empty_output" else b"result")
    [output] = answer.outputs
    match code:
        case "output_missing":
            world.objects.delete_owner(TENANT, job.id)
        case "damaged_output":
            output = replace(output, size_bytes=output.size_bytes + 1)
        case "foreign_output":
            output = replace(output, key=output.key.replace(job.id, "job_other"))
    failed = world.complete(replace(answer, outputs=(output,)))
    assert (failed.state, failed.failure.code, failed.result) == (JobState.FAILED, code, None)
    assert not world.bill()


def test_video_without_any_file_is_a_failure(world):
    world.settings = Settings(max_attempts=1)
    job = world.jobs.save(replace(world.start(), kind=EngineKind.VIDEO))
    answer = replace(world.answer(job), outputs=())
    assert world.complete(answer).failure.code == "empty_output"


def test_broken_output_is_made_again(world):
    job = world.start()
    again = world.complete(world.answer(job, data=b""))
    assert (again.state, again.step) == (JobState.QUEUED, JobStep.DISPATCH)


def test_failing_store_leaves_the_answer_to_come_again(world, monkeypatch):
    job = world.start()
    answer = world.answer(job)

    def crash(key: object) -> None:
        raise Unavailable("gone", code="store_unavailable")

    with monkeypatch.context() as patch:
        patch.setattr(world.objects, "head", crash)
        with pytest.raises(Unavailable):
            world.complete(answer)
    assert world.complete(answer).state is JobState.SUCCEEDED


def test_canceled_job_ignores_late_engine_result(world):
    job = world.start()
    canceled = world.cancel(job.id)
    assert world.complete(world.answer(job)) == canceled
    assert not world.bill()


def test_answer_for_a_deleted_job_leaves_no_objects(world):
    job = world.start()
    world.cancel(job.id)
    delete_job(
        job.id,
        tenant_id=TENANT,
        actor="key_1",
        jobs=world.jobs,
        objects=world.objects,
        products=world.products,
        usage=world.usage,
        deliveries=world.deliveries,
        audit=world.audit,
        clock=world.clock,
    )
    assert world.complete(world.answer(job)) is None
    assert not any(job.id in key for key in world.objects.stored_keys())


def test_answer_with_strange_keys_for_a_deleted_job_is_done(world):
    job = world.start()
    answer = world.answer(job)
    [output] = answer.outputs
    world.jobs.delete(job.id)
    strange = (replace(output, key="../../etc/passwd"), replace(output, key=output.key.replace(job.id, "job_other")))
    assert world.complete(replace(answer, outputs=strange)) is None


def test_progress_follows_the_sequence_and_not_the_order_of_arrival(world):
    job = world.start()
    for sequence, fraction in ((0, 0.1), (2, 0.3), (1, 0.2), (2, 0.9)):
        record_progress(event(job, sequence, fraction), jobs=world.jobs, clock=world.clock)
    progress = world.jobs.get(job.id).progress
    assert (progress.stage, progress.fraction, progress.sequence) == ("render", 0.3, 2)


def test_progress_of_other_attempts_and_of_final_jobs_is_ignored(world):
    job = world.start()
    record_progress(event(job, 5, attempt=2), jobs=world.jobs, clock=world.clock)
    assert world.jobs.get(job.id) == job
    done = world.complete(world.answer(job))
    record_progress(event(job, 9), jobs=world.jobs, clock=world.clock)
    assert world.jobs.get(job.id) == done
    record_progress(replace(event(job, 1), job_id="job_gone"), jobs=world.jobs, clock=world.clock)


@pytest.mark.parametrize(("sent", "kept"), [(-1.0, 0.0), (7.0, 1.0), (float("nan"), 0.0)])
def test_fraction_stays_within_zero_and_one(world, sent, kept):
    job = world.start()
    record_progress(event(job, 0, sent), jobs=world.jobs, clock=world.clock)
    assert world.jobs.get(job.id).progress.fraction == kept


def test_next_attempt_starts_its_progress_anew(world):
    job = world.start()
    record_progress(event(job, 9, 0.9), jobs=world.jobs, clock=world.clock)
    world.complete(world.failed(job, retryable=True))
    world.clock.advance(5)
    second = world.dispatch(job.id)
    assert second.progress.fraction == 0.0
    record_progress(event(second, 0, 0.1), jobs=world.jobs, clock=world.clock)
    assert world.jobs.get(job.id).progress.fraction == 0.1


def test_progress_between_read_and_save_does_not_lose_the_answer(world, monkeypatch):
    job = world.start()
    answer = world.answer(job)
    save = world.jobs.save
    raced: list[bool] = []

    def race(changed: object) -> object:
        if not raced:
            raced.append(True)
            record_progress(event(job, 1), jobs=world.jobs, clock=world.clock)
        return save(changed)

    monkeypatch.setattr(world.jobs, "save", race)
    assert world.complete(answer).state is JobState.SUCCEEDED
