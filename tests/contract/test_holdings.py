"""What every job store does with jobs that hold something of their tenant's month."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from services.adapters.aws.jobs import DynamoJobStore
from services.adapters.local.jobs import SqliteJobStore
from services.domain.allowance import Allowance
from services.domain.engine import EngineKind, Failure
from services.domain.errors import Conflict, ContentRejected, QuotaExceeded
from services.domain.ids import new_id
from services.domain.job import Job, JobState, JobStep, Progress, Result
from services.domain.outcome import fail_or_retry, finish, reopen
from services.ports.jobs import JobStore
from tests.fakes.clock import FakeClock
from tests.fakes.jobs import FakeJobStore

TENANT, OTHER = "tenant_a", "tenant_b"
NUM_THREADS = 20


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["fake", "sqlite", "dynamodb"])
def store(request: pytest.FixtureRequest, clock: FakeClock, tmp_path: Path) -> Callable[[], JobStore]:
    """Stores on the same rows, as several processes have them."""
    match request.param:
        case "fake":
            fake = FakeJobStore(clock)
            return lambda: fake
        case "sqlite":
            return lambda: SqliteJobStore(tmp_path / "jobs.sqlite", clock=clock)
        case _:
            aws = request.getfixturevalue("aws")
            prefix = aws.tables("jobs", "turns")
            return lambda: DynamoJobStore(aws.clients, table_prefix=prefix, clock=clock, retention_days=90)


@pytest.fixture
def jobs(store: Callable[[], JobStore]) -> JobStore:
    return store()


def make(clock: FakeClock, held_s: float | None = 4.0, tenant_id: str = TENANT) -> Job:
    now = clock.now()
    return Job(
        id=new_id("job"),
        tenant_id=tenant_id,
        kind=EngineKind.NOOP,
        request={},
        created_at=now,
        updated_at=now,
        available_at=now,
        held_s=held_s,
    )


def allowance(clock: FakeClock, output_s: float = 10.0, used_s: float = 0.0) -> Allowance:
    return Allowance(output_s=output_s, used_s=used_s, at=clock.now())


def add(jobs: JobStore, clock: FakeClock, output_s: float = 10.0, used_s: float = 0.0, held_s: float = 4.0) -> Job:
    job = make(clock, held_s)
    jobs.add(job, allowance=allowance(clock, output_s, used_s))
    return job


def run(jobs: JobStore, job: Job, clock: FakeClock) -> Job:
    return jobs.save(job.move(JobState.PROCESSING, step=JobStep.RUN, now=clock.now(), attempt=job.attempt + 1))


def succeed(jobs: JobStore, job: Job, clock: FakeClock, output_s: float) -> Job:
    result = Result(outputs=(), usage={"output_s": output_s})
    return jobs.save(finish(run(jobs, job, clock), JobState.SUCCEEDED, now=clock.now(), result=result))


def refused(jobs: JobStore, clock: FakeClock, **options: float) -> QuotaExceeded:
    with pytest.raises(QuotaExceeded) as raised:
        add(jobs, clock, **options)
    assert raised.value.code == "monthly_quota_used"
    return raised.value


def test_as_many_are_added_as_fit_and_the_refusal_says_what_is_in_the_way(jobs, clock):
    held = [add(jobs, clock), add(jobs, clock)]
    error = refused(jobs, clock)
    assert error.retry_after_s == 60
    assert error.detail == (
        "0.0 of this month's 10 seconds of video are made and unfinished jobs hold 8.0; there is no room for about 4.0"
        " more."
    )
    assert {job.id for job in jobs.list(TENANT).items} == {job.id for job in held}
    add(jobs, clock, held_s=2.0)


def test_what_is_made_already_counts(jobs, clock):
    until = (datetime(2026, 4, 1, tzinfo=UTC) - clock.now()).total_seconds()
    assert refused(jobs, clock, used_s=6.5).retry_after_s == until
    assert refused(jobs, clock, used_s=10.0, held_s=0.0).retry_after_s == until
    add(jobs, clock, used_s=6.0)


def test_what_would_fit_no_month_is_refused_for_good(jobs, clock):
    with pytest.raises(ContentRejected) as raised:
        add(jobs, clock, held_s=10.01)
    assert (raised.value.code, raised.value.retryable) == ("longer_than_monthly_quota", False)


def test_jobs_without_held_seconds_are_none_of_it(jobs, clock):
    for _ in range(3):
        job = make(clock, None)
        jobs.add(job)
        succeed(jobs, job, clock, 100.0)
    add(jobs, clock, held_s=10.0)


@pytest.mark.parametrize("end", [JobState.FAILED, JobState.CANCELED])
def test_a_job_that_ends_without_a_film_lets_go_once(jobs, clock, end):
    first, _ = add(jobs, clock), add(jobs, clock)
    ended = jobs.save(finish(first, end, now=clock.now()))
    add(jobs, clock)
    refused(jobs, clock)
    jobs.save(replace(ended, step=JobStep.NOTIFY))
    jobs.delete(first.id)
    refused(jobs, clock)


def test_a_film_counts_as_long_as_it_became(jobs, clock):
    succeed(jobs, add(jobs, clock, held_s=8.0), clock, 3.0)
    refused(jobs, clock, held_s=7.01)
    # The bill has it a moment later, and it counts once.
    succeed(jobs, add(jobs, clock, used_s=3.0, held_s=3.0), clock, 3.5)
    refused(jobs, clock, used_s=3.0, held_s=3.51)
    add(jobs, clock, used_s=6.5, held_s=3.5)


def test_attempts_progress_and_retries_hold_on(jobs, clock):
    job = run(jobs, add(jobs, clock, held_s=10.0), clock)
    job = jobs.save(replace(job, progress=Progress(stage="render", fraction=0.5, sequence=1)))
    refused(jobs, clock)
    job = jobs.save(fail_or_retry(job, Failure(code="c", detail="d", retryable=True), now=clock.now(), max_attempts=3))
    assert job.state is JobState.QUEUED
    refused(jobs, clock)
    succeed(jobs, job, clock, 9.0)
    add(jobs, clock, held_s=1.0)


def test_a_replayed_job_holds_again(jobs, clock):
    failed = jobs.save(finish(add(jobs, clock, held_s=10.0), JobState.FAILED, now=clock.now()))
    jobs.save(reopen(failed, step=JobStep.PREPARE, now=clock.now()))
    refused(jobs, clock)


def test_a_new_month_begins_with_what_is_still_unfinished(jobs, clock):
    succeed(jobs, add(jobs, clock), clock, 4.0)
    open_job = add(jobs, clock)
    refused(jobs, clock)
    clock.advance(timedelta(days=31).total_seconds())
    add(jobs, clock)
    refused(jobs, clock)
    succeed(jobs, open_job, clock, 1.0)
    refused(jobs, clock, held_s=5.01)
    add(jobs, clock, held_s=5.0)


def test_a_stale_writer_changes_nothing(jobs, clock):
    job = add(jobs, clock, held_s=10.0)
    jobs.save(replace(job, callback_id="x"))
    with pytest.raises(Conflict) as raised:
        jobs.save(finish(job, JobState.CANCELED, now=clock.now()))
    assert raised.value.code == "stale_job"
    refused(jobs, clock)


def test_asked_again_a_job_has_its_room_already(jobs, clock):
    job = add(jobs, clock, held_s=10.0)
    with pytest.raises(Conflict) as raised:
        jobs.add(job, allowance=allowance(clock))
    assert raised.value.code == "job_exists"
    jobs.save(finish(job, JobState.FAILED, now=clock.now()))
    assert jobs.holdings(TENANT).open_ms == 0


def test_tenants_do_not_share_and_a_deleted_one_leaves_nothing(jobs, clock):
    add(jobs, clock, held_s=10.0)
    jobs.add(make(clock, 9.0, OTHER), allowance=allowance(clock))
    assert (jobs.holdings(TENANT).open_ms, jobs.holdings(OTHER).open_ms) == (10_000, 9_000)
    jobs.forget_holdings(TENANT)
    jobs.forget_holdings(TENANT)
    assert (jobs.holdings(TENANT).open_ms, jobs.holdings(OTHER).open_ms) == (0, 9_000)


def test_holdings_are_no_job(jobs, clock):
    add(jobs, clock)
    assert len(jobs.list(TENANT).items) == 1
    assert jobs.count_open(TENANT, at_most=9) == 1
    assert len(jobs.claim(JobStep.PREPARE, limit=9, lease_s=30)) == 1


def test_of_twenty_at_once_exactly_those_that_fit_are_added_and_ends_meanwhile_are_not_lost(store, clock):
    """Seven fit beside two, and these two end while the twenty come."""
    jobs = store()
    ending = [run(jobs, add(jobs, clock, output_s=36.0), clock) for _ in range(2)]
    barrier = threading.Barrier(NUM_THREADS + len(ending))
    outcomes: list[str] = []

    def come() -> None:
        own = store()
        barrier.wait()
        try:
            add(own, clock, output_s=36.0)
            outcomes.append("added")
        except QuotaExceeded:
            outcomes.append("refused")

    def end(job: Job) -> None:
        own = store()
        barrier.wait()
        result = Result(outputs=(), usage={"output_s": 4.0})
        own.save(finish(job, JobState.SUCCEEDED, now=clock.now(), result=result))

    threads = [threading.Thread(target=come) for _ in range(NUM_THREADS)]
    threads += [threading.Thread(target=end, args=(job,)) for job in ending]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["added"] * 7 + ["refused"] * 13
    holdings = jobs.holdings(TENANT)
    assert (holdings.made_ms, holdings.open_ms) == (8_000, 28_000)
    for job in jobs.list(TENANT, limit=50).items:
        if not job.state.is_final:
            jobs.save(finish(job, JobState.CANCELED, now=clock.now()))
    assert jobs.holdings(TENANT).open_ms == 0
