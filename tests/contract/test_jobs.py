"""What every job store does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from services.adapters.aws.jobs import DynamoJobStore
from services.adapters.local.jobs import SqliteJobStore
from services.domain.engine import EngineKind, Failure, Lane, Output
from services.domain.errors import Conflict, InvalidRequest, NotFound
from services.domain.ids import new_id
from services.domain.job import Job, JobState, JobStep, Progress, Result
from services.ports.jobs import JobStore
from tests.fakes.clock import FakeClock
from tests.fakes.jobs import FakeJobStore

MakeJob = Callable[..., Job]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["fake", "sqlite", "dynamodb"])
def jobs(request: pytest.FixtureRequest, clock: FakeClock, tmp_path: Path) -> JobStore:
    match request.param:
        case "fake":
            return FakeJobStore(clock)
        case "sqlite":
            return SqliteJobStore(tmp_path / "jobs.sqlite", clock=clock)
        case _:
            aws = request.getfixturevalue("aws")
            prefix = aws.tables("jobs", "turns")
            return DynamoJobStore(aws.clients, table_prefix=prefix, clock=clock, retention_days=90)


@pytest.fixture
def add(jobs: JobStore, clock: FakeClock) -> MakeJob:
    def add_job(tenant_id: str = "tenant_a", **fields: object) -> Job:
        now = clock.now()
        job = Job(
            id=new_id("job"),
            tenant_id=tenant_id,
            kind=EngineKind.NOOP,
            request={"duration_s": 1.0, "text": "Grüße 图 'quoted'"},
            created_at=now,
            updated_at=now,
            available_at=now,
        )
        job = replace(job, **fields)
        jobs.add(job)
        return job

    return add_job


def test_stored_job_comes_back_equal(jobs, add, clock):
    full = add(
        state=JobState.SUCCEEDED,
        step=JobStep.NOTIFY,
        attempt=2,
        progress=Progress(stage="render", fraction=0.5, sequence=7),
        storyboard_key="work/t/j/0/storyboard.json",
        finished_at=clock.now() + timedelta(microseconds=1),
        result=Result(
            outputs=(Output(name="video", key="k", media_type="video/mp4", size_bytes=3, sha256="ab"),),
            facts={"fps": 25, "warnings": ["w"]},
            usage={"output_s": 1.25},
        ),
        failure=Failure(code="c", detail="d", param="p"),
        callback_url="https://client.example/",
        callback_id="x",
    )
    assert jobs.get(full.id) == full


def test_same_id_is_not_added_twice(jobs, add):
    job = add()
    with pytest.raises(Conflict) as raised:
        jobs.add(replace(job, tenant_id="tenant_b"))
    assert raised.value.code == "job_exists"
    assert jobs.get(job.id).tenant_id == "tenant_a"


def test_unknown_job_is_not_found(jobs, add):
    job = add()
    jobs.delete(job.id)
    jobs.delete(job.id)
    for call in (lambda: jobs.get(job.id), lambda: jobs.save(job)):
        with pytest.raises(NotFound) as raised:
            call()
        assert raised.value.code == "job_not_found"


def test_many_jobs_are_fetched_at_once_and_unknown_ones_left_out(jobs, add):
    added = [add() for _ in range(3)]
    assert jobs.get_many([*(job.id for job in added), "job_unknown", added[0].id]) == {job.id: job for job in added}
    assert jobs.get_many([]) == {}


def test_second_writer_of_a_version_is_refused(jobs, add):
    job = add()
    saved = jobs.save(replace(job, callback_id="first"))
    assert saved.version == job.version + 1
    with pytest.raises(Conflict) as raised:
        jobs.save(replace(job, callback_id="second"))
    assert raised.value.code == "stale_job"
    assert jobs.get(job.id) == saved


def test_claim_is_exclusive_until_its_lease_ends(jobs, add, clock):
    job = add()
    assert [one.id for one in jobs.claim(JobStep.PREPARE, limit=5, lease_s=30)] == [job.id]
    clock.advance(29)
    assert not jobs.claim(JobStep.PREPARE, limit=5, lease_s=30)
    clock.advance(2)
    [again] = jobs.claim(JobStep.PREPARE, limit=5, lease_s=30)
    assert (again.id, again.step_tries) == (job.id, 1)


def test_claimed_job_can_be_saved_as_it_was_claimed(jobs, add):
    add()
    [claimed] = jobs.claim(JobStep.PREPARE, limit=1, lease_s=30)
    jobs.save(replace(claimed, step=JobStep.DISPATCH))
    assert not jobs.claim(JobStep.PREPARE, limit=1, lease_s=30)
    assert jobs.claim(JobStep.DISPATCH, limit=1, lease_s=30)


def test_save_ends_the_claim(jobs, add):
    add()
    [claimed] = jobs.claim(JobStep.PREPARE, limit=1, lease_s=30)
    jobs.save(claimed)
    assert jobs.claim(JobStep.PREPARE, limit=1, lease_s=30)


def test_release_counts_the_try_and_delays_the_next(jobs, add, clock):
    job = add()
    jobs.claim(JobStep.PREPARE, limit=1, lease_s=30)
    jobs.release(job.id, delay_s=10)
    assert jobs.get(job.id).step_tries == 1
    assert not jobs.claim(JobStep.PREPARE, limit=1, lease_s=30)
    clock.advance(10)
    [again] = jobs.claim(JobStep.PREPARE, limit=1, lease_s=30)
    assert again.step_tries == 1


def test_release_without_a_claim_changes_nothing(jobs, add):
    job = add()
    jobs.release(job.id, delay_s=1000)
    jobs.release("job_unknown", delay_s=1)
    assert jobs.get(job.id).step_tries == 0
    assert jobs.claim(JobStep.PREPARE, limit=1, lease_s=30)


def test_released_job_can_be_saved_with_its_count(jobs, add):
    job = add()
    jobs.claim(JobStep.PREPARE, limit=1, lease_s=30)
    jobs.release(job.id, delay_s=0)
    saved = jobs.save(replace(jobs.get(job.id), callback_id="x"))
    assert jobs.get(job.id).step_tries == saved.step_tries == 1


def test_step_is_not_served_before_its_time(jobs, add, clock):
    job = add(available_at=clock.now() + timedelta(seconds=5))
    assert not jobs.claim(JobStep.PREPARE, limit=1, lease_s=30)
    clock.advance(5)
    assert [one.id for one in jobs.claim(JobStep.PREPARE, limit=1, lease_s=30)] == [job.id]


def test_what_is_due_only_lately_is_left_to_others(jobs, add, clock):
    job = add()
    clock.advance(119)
    assert not jobs.claim(JobStep.PREPARE, limit=1, lease_s=30, due_for_s=120)
    clock.advance(1)
    assert [one.id for one in jobs.claim(JobStep.PREPARE, limit=1, lease_s=30, due_for_s=120)] == [job.id]
    clock.advance(149)
    assert not jobs.claim(JobStep.PREPARE, limit=1, lease_s=30, due_for_s=120)
    clock.advance(1)
    [again] = jobs.claim(JobStep.PREPARE, limit=1, lease_s=30, due_for_s=120)
    assert again.step_tries == 1


def test_other_steps_are_not_claimed(jobs, add):
    add(step=JobStep.DISPATCH)
    add(step=JobStep.NONE)
    assert not jobs.claim(JobStep.PREPARE, limit=5, lease_s=30)


def test_tenants_take_turns_within_a_claim(jobs, add):
    for _ in range(6):
        add("tenant_a")
    add("tenant_b")
    add("tenant_c")
    claimed = jobs.claim(JobStep.PREPARE, limit=4, lease_s=30)
    assert sorted(job.tenant_id for job in claimed) == ["tenant_a", "tenant_a", "tenant_b", "tenant_c"]


def test_tenants_take_turns_over_claims(jobs, add):
    for _ in range(6):
        add("tenant_a")
    for _ in range(2):
        add("tenant_b")
    order = [jobs.claim(JobStep.PREPARE, limit=1, lease_s=30)[0].tenant_id[-1] for _ in range(6)]
    assert "".join(order) in ("ababaa", "babaaa")


def test_jobs_of_one_tenant_are_served_in_order(jobs, add, clock):
    expected = []
    for _ in range(3):
        expected.append(add().id)
        clock.advance(1)
    assert [jobs.claim(JobStep.PREPARE, limit=1, lease_s=30)[0].id for _ in range(3)] == expected


def test_no_more_is_claimed_of_a_tenant_than_it_has_room_for(jobs, add):
    for tenant_id in ("tenant_a", "tenant_b", "tenant_c"):
        for _ in range(3):
            add(tenant_id)
    room = {"tenant_a": 0, "tenant_b": 2, "tenant_c": 9}
    claimed = jobs.claim(JobStep.PREPARE, limit=10, lease_s=30, room_of=room.__getitem__)
    assert Counter(job.tenant_id for job in claimed) == {"tenant_b": 2, "tenant_c": 3}


def test_listing_pages_through_all_newest_first(jobs, add):
    ids = sorted((add().id for _ in range(5)), reverse=True)
    add("tenant_b")
    seen, cursor = [], None
    while True:
        page = jobs.list("tenant_a", cursor=cursor, limit=2)
        assert len(page.items) <= 2
        seen += [job.id for job in page.items]
        cursor = page.cursor
        if cursor is None:
            break
    assert seen == ids


def test_listing_ends_without_an_empty_page(jobs, add):
    for _ in range(2):
        add()
    assert jobs.list("tenant_a", limit=2).cursor is None


def test_listing_filters_by_state_and_kind(jobs, add):
    canceled = add(state=JobState.CANCELED, step=JobStep.NONE)
    video = add(kind=EngineKind.VIDEO)
    assert [job.id for job in jobs.list("tenant_a", state=JobState.CANCELED).items] == [canceled.id]
    assert [job.id for job in jobs.list("tenant_a", kind=EngineKind.VIDEO).items] == [video.id]


@pytest.mark.parametrize("cursor", ["", "%%%", "é", "/w=="])
def test_foreign_cursor_is_refused(jobs, add, cursor):
    add()
    with pytest.raises(InvalidRequest) as raised:
        jobs.list("tenant_a", cursor=cursor)
    assert raised.value.code == "malformed_cursor"


def test_overdue_lists_running_attempts_past_their_deadline(jobs, add, clock):
    now = clock.now()
    running = {"state": JobState.PROCESSING, "step": JobStep.RUN}
    late = add(**running, deadline_at=now - timedelta(seconds=1))
    add(**running, deadline_at=now + timedelta(seconds=1))
    add(deadline_at=now - timedelta(seconds=1))
    assert [job.id for job in jobs.overdue(now, limit=5)] == [late.id]


def test_outstanding_counts_what_engines_hold(jobs, add):
    running = {"state": JobState.PROCESSING, "step": JobStep.RUN}
    for tenant_id in ("tenant_a", "tenant_a", "tenant_b"):
        add(tenant_id, **running)
    add("tenant_a")
    assert jobs.outstanding() == 3
    assert jobs.outstanding(tenant_id="tenant_a") == 2
    assert jobs.outstanding(tenant_id="tenant_c") == 0
    assert dict(jobs.outstanding_by_tenant()) == {"tenant_a": 2, "tenant_b": 1}


def test_each_lane_is_counted_by_itself_and_overdue_in_either(jobs, add, clock):
    now = clock.now()
    running = {"state": JobState.PROCESSING, "step": JobStep.RUN, "deadline_at": now - timedelta(seconds=1)}
    late = [add(kind=kind, **running) for kind in (EngineKind.VIDEO, EngineKind.WIG_PREVIEW, EngineKind.PRODUCT)]
    add("tenant_b", kind=EngineKind.IMAGE, **running | {"deadline_at": now + timedelta(seconds=9)})
    assert dict(jobs.outstanding_by_tenant(lane=Lane.LONG)) == {"tenant_a": 1}
    assert dict(jobs.outstanding_by_tenant(lane=Lane.INTERACTIVE)) == {"tenant_a": 2, "tenant_b": 1}
    assert jobs.outstanding(lane=Lane.INTERACTIVE) == 3
    assert jobs.outstanding(tenant_id="tenant_a") == 3
    assert {job.id for job in jobs.overdue(now, limit=5)} == {job.id for job in late}
    assert len(jobs.overdue(now, limit=2)) == 2


def test_waiting_jobs_are_counted_over_tenants_until_there_are_enough(jobs, add):
    for tenant_id in ("tenant_a", "tenant_a", "tenant_b"):
        add(tenant_id, step=JobStep.DISPATCH)
    add("tenant_c", step=JobStep.PREPARE)
    add("tenant_c", state=JobState.PROCESSING, step=JobStep.RUN)
    assert jobs.count_waiting(JobStep.DISPATCH, at_most=10) == 3
    assert 1 <= jobs.count_waiting(JobStep.DISPATCH, at_most=1) <= 2
    jobs.claim(JobStep.DISPATCH, limit=1, lease_s=30)
    assert jobs.count_waiting(JobStep.DISPATCH, at_most=10) == 3, "a claimed one waits, too"
    assert jobs.count_waiting(JobStep.NOTIFY, at_most=10) == 0


def test_open_jobs_are_counted_up_to_a_bound(jobs, add):
    for _ in range(2):
        add()
    add(state=JobState.PROCESSING, step=JobStep.RUN)
    for state in (JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELED):
        add(state=state, step=JobStep.NONE)
    add("tenant_b")
    assert jobs.count_open("tenant_a", at_most=10) == 3
    assert jobs.count_open("tenant_a", at_most=2) == 2
    assert jobs.count_open("tenant_c", at_most=10) == 0


def test_ended_jobs_are_named_oldest_first_or_left_to_the_store(jobs, add, clock):
    ended = [add(state=JobState.FAILED, step=JobStep.NONE, finished_at=clock.now() + timedelta(n)) for n in (2, 0, 1)]
    add()
    found = jobs.finished_before(clock.now() + timedelta(days=2), limit=10)
    expected = [] if isinstance(jobs, DynamoJobStore) else [ended[1].id, ended[2].id]
    assert [job.id for job in found] == expected
    assert len(jobs.finished_before(clock.now() + timedelta(days=9), limit=1)) == bool(expected)
