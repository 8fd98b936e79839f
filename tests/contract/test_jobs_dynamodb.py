"""What DynamoDB adds to a job store: many functions at once, indexes that lag, rows that expire, a busy service."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from services.adapters.aws.jobs import DynamoJobStore
from services.domain.engine import EngineKind
from services.domain.errors import Conflict, Unavailable
from services.domain.ids import new_id
from services.domain.job import Job, JobState, JobStep
from tests.emulator import Aws
from tests.fakes.clock import FakeClock

NUM_THREADS = 8


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store(aws: Aws, clock: FakeClock) -> Callable[[], DynamoJobStore]:
    """Stores on one table, as the processes of several functions have them."""
    prefix = aws.tables("jobs", "turns")
    return lambda: DynamoJobStore(aws.clients, table_prefix=prefix, clock=clock, retention_days=90)


@pytest.fixture
def jobs(store: Callable[[], DynamoJobStore]) -> DynamoJobStore:
    return store()


def make(clock: FakeClock, tenant_id: str = "tenant_a", **fields: Any) -> Job:
    now = clock.now()
    job = Job(
        id=new_id("job"),
        tenant_id=tenant_id,
        kind=EngineKind.NOOP,
        request={},
        created_at=now,
        updated_at=now,
        available_at=now,
    )
    return replace(job, **fields)


def together(work: Callable[[int], None]) -> None:
    """Run ``work`` in several threads that begin at the same moment."""
    barrier = threading.Barrier(NUM_THREADS)
    errors: list[BaseException] = []

    def run(number: int) -> None:
        barrier.wait()
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(NUM_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def item(aws: Aws, job: Job) -> dict[str, Any]:
    table = f"{aws.table_prefix}jobs"
    return aws.client("dynamodb").get_item(TableName=table, Key={"id": {"S": job.id}})["Item"]


def turns(aws: Aws) -> list[dict[str, Any]]:
    return aws.client("dynamodb").scan(TableName=f"{aws.table_prefix}turns")["Items"]


def test_no_two_claimers_get_the_same_job(store, clock):
    expected = set()
    for number in range(60):
        job = make(clock, f"tenant_{number % 3}")
        store().add(job)
        expected.add(job.id)
    claimed: Counter[str] = Counter()

    def work(_: int) -> None:
        mine = store()
        while found := mine.claim(JobStep.PREPARE, limit=3, lease_s=60):
            claimed.update(job.id for job in found)

    together(work)
    assert claimed == Counter(dict.fromkeys(expected, 1))


def test_one_of_several_writers_of_a_version_wins(store, clock):
    job = make(clock)
    store().add(job)
    winners = []

    def work(number: int) -> None:
        with suppress(Conflict):
            winners.append(store().save(replace(job, callback_id=str(number))))

    together(work)
    assert len(winners) == 1
    assert store().get(job.id) == winners[0]


def test_one_of_several_adds_of_an_id_wins(store, clock):
    job = make(clock)
    outcomes: Counter[str] = Counter()

    def work(number: int) -> None:
        try:
            store().add(replace(job, callback_id=str(number)))
            outcomes["added"] += 1
        except Conflict as conflict:
            outcomes[conflict.code] += 1

    together(work)
    assert outcomes == {"added": 1, "job_exists": NUM_THREADS - 1}


def test_claims_and_saves_at_once_lose_no_job(store, clock):
    for number in range(40):
        store().add(make(clock, f"tenant_{number % 4}"))
    done: Counter[str] = Counter()

    def work(_: int) -> None:
        mine = store()
        while found := mine.claim(JobStep.PREPARE, limit=2, lease_s=60):
            for job in found:
                mine.save(replace(job, step=JobStep.RUN))
                done[job.id] += 1

    together(work)
    assert len(done) == 40
    assert set(done.values()) == {1}
    assert store().outstanding() == 40


def test_final_job_expires_after_its_time(jobs, aws, clock):
    open_job, final = make(clock), make(clock, state=JobState.FAILED, step=JobStep.NONE, finished_at=clock.now())
    jobs.add(open_job)
    jobs.add(final)
    assert "expires_at" not in item(aws, open_job)
    assert int(item(aws, final)["expires_at"]["N"]) == int((clock.now() + timedelta(days=90)).timestamp())


def test_row_is_in_the_sparse_indexes_only_while_it_applies(jobs, aws, clock):
    job = make(clock)
    jobs.add(job)
    assert "step_tenant" in item(aws, job)
    assert "running" not in item(aws, job)
    job = jobs.save(replace(job, step=JobStep.RUN, state=JobState.PROCESSING, deadline_at=clock.now()))
    assert "step_tenant" not in item(aws, job)
    assert "running" in item(aws, job)
    jobs.save(replace(job, step=JobStep.NONE, state=JobState.SUCCEEDED))
    assert not {"step_tenant", "due_id", "running", "deadline_at"} & set(item(aws, job))


def test_claims_read_as_far_as_they_must_behind_jobs_that_others_hold(store, clock):
    """More than a page of candidates may be claimed already by the time they are tried."""
    first = [make(clock) for _ in range(30)]
    for job in first:
        store().add(job)
    held = store().claim(JobStep.PREPARE, limit=30, lease_s=60)
    assert len(held) == 30
    last = make(clock)
    store().add(last)
    assert [job.id for job in store().claim(JobStep.PREPARE, limit=5, lease_s=60)] == [last.id]


def test_listing_by_kind_reads_on_until_the_page_is_full(jobs, clock):
    videos = []
    for number in range(30):
        kind = EngineKind.VIDEO if number % 10 == 0 else EngineKind.NOOP
        job = make(clock, kind=kind)
        jobs.add(job)
        videos += [job.id] * (kind is EngineKind.VIDEO)
    page = jobs.list("tenant_a", kind=EngineKind.VIDEO, limit=2)
    assert len(page.items) == 2
    rest = jobs.list("tenant_a", kind=EngineKind.VIDEO, limit=2, cursor=page.cursor)
    assert sorted(job.id for job in (*page.items, *rest.items)) == sorted(videos)
    assert rest.cursor is None


def test_many_jobs_are_fetched_in_several_requests(jobs, clock):
    added = [make(clock) for _ in range(130)]
    for job in added:
        jobs.add(job)
    assert jobs.get_many([job.id for job in added]) == {job.id: job for job in added}


def test_tenant_without_jobs_is_looked_at_ever_so_often_and_then_forgotten(jobs, aws, clock):
    jobs.add(make(clock))
    [claimed] = jobs.claim(JobStep.PREPARE, limit=1, lease_s=60)
    jobs.save(replace(claimed, step=JobStep.RUN))
    assert not jobs.claim(JobStep.PREPARE, limit=1, lease_s=60)
    assert "expires_at" not in turns(aws)[0], "an index may still be behind"
    clock.advance(61)
    assert not jobs.claim(JobStep.PREPARE, limit=1, lease_s=60)
    [turn] = turns(aws)
    assert int(turn["expires_at"]["N"]) == int(clock.now().timestamp()) + 3600


def test_tenant_that_gets_a_job_again_is_served_at_once(store, clock):
    store().add(make(clock))
    [claimed] = store().claim(JobStep.PREPARE, limit=1, lease_s=60)
    store().save(replace(claimed, step=JobStep.RUN))
    clock.advance(61)
    assert not store().claim(JobStep.PREPARE, limit=1, lease_s=60)  # found without jobs
    again = make(clock)
    store().add(again)
    assert [job.id for job in store().claim(JobStep.PREPARE, limit=1, lease_s=60)] == [again.id]


def test_job_whose_index_entry_came_late_is_found_nevertheless(jobs, aws, clock):
    """The tenant was noted, found without jobs, and put to rest; then the index caught up."""
    late = make(clock)
    jobs.add(late)
    [claimed] = jobs.claim(JobStep.PREPARE, limit=1, lease_s=60)
    jobs.save(replace(claimed, step=JobStep.RUN))
    clock.advance(61)
    jobs.claim(JobStep.PREPARE, limit=1, lease_s=60)
    entry = {":at": {"S": "prepare#tenant_a"}, ":due": {"S": f"{0:017d}#{late.id}"}}
    aws.client("dynamodb").update_item(
        TableName=f"{aws.table_prefix}jobs",
        Key={"id": {"S": late.id}},
        UpdateExpression="SET step_tenant = :at, due_id = :due",
        ExpressionAttributeValues=entry,
    )
    assert not jobs.claim(JobStep.PREPARE, limit=1, lease_s=60)
    clock.advance(120)
    assert [job.id for job in jobs.claim(JobStep.PREPARE, limit=1, lease_s=60)] == [late.id]


def test_tenant_whose_jobs_wait_for_their_time_is_not_put_to_rest(jobs, aws, clock):
    jobs.add(make(clock, available_at=clock.now() + timedelta(hours=5)))
    clock.advance(3600)
    assert not jobs.claim(JobStep.PREPARE, limit=1, lease_s=60)
    assert "expires_at" not in turns(aws)[0]
    clock.advance(4 * 3600)
    assert jobs.claim(JobStep.PREPARE, limit=1, lease_s=60)


class LaggingIndexes:
    """Clients whose indexes show ``items`` once that is set, whatever was written since."""

    def __init__(self, aws: Aws) -> None:
        self._client = aws.client("dynamodb")
        self.items: list[dict[str, Any]] | None = None

    def get(self, service: str) -> LaggingIndexes:
        return self

    def query(self, **request: Any) -> Any:
        if self.items is None or "IndexName" not in request:
            return self._client.query(**request)
        return {"Items": self.items}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)


@pytest.fixture
def lagging(aws: Aws, clock: FakeClock) -> tuple[LaggingIndexes, DynamoJobStore]:
    prefix = aws.tables("jobs", "turns")
    clients = LaggingIndexes(aws)
    return clients, DynamoJobStore(clients, table_prefix=prefix, clock=clock, retention_days=90)


def test_job_that_this_process_just_started_counts_before_the_index_shows_it(lagging, clock):
    clients, jobs = lagging
    job = make(clock)
    jobs.add(job)
    clients.items = []
    jobs.save(replace(job, step=JobStep.RUN, state=JobState.PROCESSING, deadline_at=clock.now()))
    assert dict(jobs.outstanding_by_tenant()) == {"tenant_a": 1}


def test_job_that_ended_does_not_count_while_the_index_still_shows_it(lagging, clock):
    """Its bell is rung once: were there no room found for it, nobody would use the slot for a minute."""
    clients, jobs = lagging
    job = make(clock, step=JobStep.RUN, state=JobState.PROCESSING, deadline_at=clock.now())
    jobs.add(job)
    clients.items = [{"id": {"S": job.id}, "tenant_id": {"S": job.tenant_id}}]
    assert jobs.outstanding() == 1
    jobs.save(replace(job, step=JobStep.NONE, state=JobState.SUCCEEDED))
    assert jobs.outstanding() == 0


class Throttling:
    """Clients that let so many updates through and refuse the others."""

    def __init__(self, aws: Aws, num_updates: int) -> None:
        self._client = aws.client("dynamodb")
        self.num_updates = num_updates

    def get(self, service: str) -> Throttling:
        return self

    def __getattr__(self, name: str) -> Any:
        if name == "update_item":
            self.num_updates -= 1
            if self.num_updates < 0:
                raise ClientError({"Error": {"Code": "ThrottlingException"}}, "UpdateItem")
        return getattr(self._client, name)


def test_claim_that_is_throttled_half_way_brings_what_it_has(jobs, aws, clock):
    for _ in range(5):
        jobs.add(make(clock))
    busy = DynamoJobStore(Throttling(aws, 2), table_prefix=aws.table_prefix, clock=clock, retention_days=1)
    assert len(busy.claim(JobStep.PREPARE, limit=5, lease_s=60)) == 2
    with pytest.raises(Unavailable):
        busy.claim(JobStep.PREPARE, limit=5, lease_s=60)
    assert len(jobs.claim(JobStep.PREPARE, limit=5, lease_s=60)) == 3


class OneStub:
    """Clients whose every call fails in the same way."""

    def __init__(self, code: str, status: int) -> None:
        self.client = boto3.client(
            "dynamodb", region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test"
        )
        stub = Stubber(self.client)
        for operation in ("get_item", "update_item", "put_item", "query", "batch_get_item", "delete_item"):
            stub.add_client_error(operation, code, http_status_code=status)
        self.stub = stub

    def get(self, service: str) -> Any:
        self.stub.activate()
        return self.client


@pytest.mark.parametrize(
    ("code", "status", "expected", "retryable"),
    [
        ("ProvisionedThroughputExceededException", 400, "aws_throttled", True),
        ("ThrottlingException", 400, "aws_throttled", True),
        ("InternalServerError", 500, "store_unavailable", True),
        ("ResourceNotFoundException", 400, "store_unavailable", False),
        ("AccessDeniedException", 400, "aws_denied", False),
    ],
)
def test_vendor_errors_have_names_of_ours(clock, code, status, expected, retryable):
    jobs = DynamoJobStore(OneStub(code, status), table_prefix="t-", clock=clock, retention_days=1)
    with pytest.raises(Unavailable) as raised:
        jobs.get("job_1")
    assert (raised.value.code, raised.value.retryable) == (expected, retryable)


def test_table_that_does_not_answer_is_unavailable(clock, aws):
    client = boto3.client("dynamodb", endpoint_url="http://127.0.0.1:9", region_name="us-east-1")

    class Nowhere:
        def get(self, service: str) -> Any:
            return client

    jobs = DynamoJobStore(Nowhere(), table_prefix="t-", clock=clock, retention_days=1)
    client.meta.config.retries = {"max_attempts": 0}
    with pytest.raises(Unavailable) as raised:
        jobs.get("job_1")
    assert (raised.value.code, raised.value.retryable) == ("store_unavailable", True)
