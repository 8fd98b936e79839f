"""What only a store on the far side of a network can suffer: lost answers, lagging indexes, bounds, other clocks."""

from __future__ import annotations

import ast
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import botocore.endpoint
import httpx
import pytest
from botocore.awsrequest import AWSResponse

from services.adapters.aws.avatars import DynamoAvatarCatalogue
from services.adapters.aws.batches import DynamoBatchStore
from services.adapters.aws.clients import Clients
from services.adapters.aws.consents import DynamoConsentStore
from services.adapters.aws.idempotency import DynamoIdempotencyStore
from services.adapters.aws.jobs import DynamoJobStore
from services.adapters.aws.rates import DynamoRateLimiter
from services.adapters.aws.table import ConditionFailed, Table
from services.adapters.aws.tenants import DynamoTenantStore
from services.adapters.aws.usage import DynamoUsageStore
from services.domain.allowance import Allowance
from services.domain.batch import Batch, BatchRow, RowState
from services.domain.consent import Consent, Likeness
from services.domain.engine import EngineKind
from services.domain.errors import Conflict, ContentRejected, Unavailable
from services.domain.ids import new_id
from services.domain.job import Job, JobState
from services.domain.outcome import finish
from services.ports.catalogue import Avatar
from services.ports.idempotency import Reservation, StoredAnswer
from services.ports.tenants import ApiKey, Tenant
from services.ports.usage import UsageRecord
from tests.emulator import Aws
from tests.fakes.clock import FakeClock

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
ADAPTERS = Path(__file__).resolve().parents[2] / "services" / "adapters" / "aws"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


class _Empty:
    def stream(self, **_: object):
        yield b""


@pytest.fixture
def lossy(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> Clients:
    """Every first try of a write arrives, and its answer does not; boto3 then sends it again."""
    clients = Clients()

    def lose_first_answer(request: Any, **_: object) -> AWSResponse | None:
        if b"attempt=1" not in request.headers["amz-sdk-request"]:
            return None
        httpx.request(request.method, request.url, content=request.body, headers=dict(request.headers.items()))
        return AWSResponse(request.url, 500, {}, _Empty())

    for operation in ("PutItem", "UpdateItem", "TransactWriteItems"):
        clients.get("dynamodb").meta.events.register(f"before-send.dynamodb.{operation}", lose_first_answer)
    monkeypatch.setattr(botocore.endpoint.time, "sleep", lambda _: None)
    return clients


def make_batch(clock: FakeClock, **fields: Any) -> Batch:
    batch = Batch(
        id=new_id("batch"),
        tenant_id="tenant_a",
        kind=EngineKind.VIDEO,
        file_key="work/tenant_a/batch/0/file.csv",
        media_type="text/csv",
        created_at=clock.now(),
        updated_at=clock.now(),
        available_at=clock.now(),
    )
    return replace(batch, **fields)


def make_avatar(tenant_id: str | None, **fields: Any) -> Avatar:
    avatar_id = new_id("avatar")
    avatar = Avatar(
        id=avatar_id,
        tenant_id=tenant_id,
        name="Vera",
        kind="picture",
        object_key=f"catalogue/{tenant_id}/{avatar_id}/0/picture.jpg",
        media_type="image/jpeg",
        created_at=NOON,
    )
    return replace(avatar, **fields)


# ---- Lost answers


def test_batch_whose_first_answer_was_lost_is_added_saved_and_claimed(aws, lossy, clock):
    batches = DynamoBatchStore(
        lossy, table_prefix=aws.tables("batches", "batch_rows"), clock=clock, kept=timedelta(days=90)
    )
    batch = make_batch(clock)
    batches.add(batch)
    with pytest.raises(Conflict):
        batches.add(batch)
    saved = batches.save(replace(batch, name="new"))
    assert batches.get(batch.id) == saved
    with pytest.raises(Conflict):
        batches.save(replace(batch, name="stale"))
    [claimed] = batches.claim(limit=1, lease_s=30)
    assert (claimed.id, claimed.step_tries) == (batch.id, 0)
    batches.release(batch.id, delay_s=0)
    assert batches.get(batch.id).step_tries == 1


def test_held_job_whose_first_answer_was_lost_holds_once_and_lets_go_once(aws, lossy, clock):
    jobs = DynamoJobStore(lossy, table_prefix=aws.tables("jobs", "turns"), clock=clock, retention_days=90)
    job = Job(
        id=new_id("job"),
        tenant_id="tenant_a",
        kind=EngineKind.NOOP,
        request={},
        created_at=NOON,
        updated_at=NOON,
        available_at=NOON,
        held_s=4.0,
    )
    jobs.add(job, allowance=Allowance(output_s=4.0, used_s=0.0, at=NOON))
    assert jobs.holdings("tenant_a").open_ms == 4_000
    saved = jobs.save(finish(job, JobState.CANCELED, now=NOON))
    assert jobs.get(job.id) == saved
    assert jobs.holdings("tenant_a").open_ms == 0


def test_usage_whose_first_answer_was_lost_is_charged_once_and_said_to_be(aws, lossy):
    usage = DynamoUsageStore(lossy, table_prefix=aws.tables("usage"))
    record = UsageRecord(job_id="job_1", tenant_id="tenant_a", kind="video", quantities={"output_s": 1.0}, at=NOON)
    assert usage.record(record)
    assert not usage.record(record)
    assert len(usage.list("tenant_a", since=NOON, until=NOON + timedelta(days=1))) == 1


def test_reservation_whose_first_answer_was_lost_is_still_ours(aws, lossy, clock):
    answers = DynamoIdempotencyStore(lossy, table_prefix=aws.tables("idempotency"), clock=clock)
    reserve = lambda: answers.reserve("tenant_a", "k", fingerprint="f", new_resource_id="job_1")  # noqa: E731
    first = reserve()
    assert isinstance(first, Reservation)
    with pytest.raises(Conflict):
        reserve()
    clock.advance(31)
    assert isinstance(reserve(), Reservation)


def test_token_whose_first_answer_was_lost_is_taken_once(aws, lossy, clock):
    limiter = DynamoRateLimiter(lossy, table_prefix=aws.tables("rates"), clock=clock)
    waits = [limiter.take("tenant_a", rate_per_s=1, burst=5) for _ in range(6)]
    assert waits == [0, 0, 0, 0, 0, 1]


def test_sum_whose_first_answer_was_lost_is_added_once(aws, lossy):
    table = Table(lossy, aws.tables("uploads") + "uploads")
    table.put({"id": "1", "num": 1})
    assert table.update({"id": "1"}, "#num = #num + :one", values={"one": 1})["num"] == 2
    assert (
        table.update({"id": "1"}, "#num = #num + :one", condition="#num > :zero", values={"one": 1, "zero": 0})["num"]
        == 3
    )
    assert table.get({"id": "1"})["num"] == 3


# ---- Indexes lag behind their tables


def test_batch_that_the_index_still_shows_is_not_claimed_twice(aws, clock, monkeypatch):
    batches = DynamoBatchStore(
        Clients(), table_prefix=aws.tables("batches", "batch_rows"), clock=clock, kept=timedelta(days=90)
    )
    batches.add(make_batch(clock))
    seen = Table(Clients(), f"{aws.table_prefix}batches").query("#due_step = :due", {"due": "due"}, index="by_due")
    monkeypatch.setattr(Table, "query", lambda *_, **__: seen)
    assert len(batches.claim(limit=5, lease_s=30)) == 1
    assert not batches.claim(limit=5, lease_s=30)


def test_batch_deleted_behind_the_index_does_not_come_back(aws, clock, monkeypatch):
    batches = DynamoBatchStore(
        Clients(), table_prefix=aws.tables("batches", "batch_rows"), clock=clock, kept=timedelta(days=90)
    )
    batch = make_batch(clock)
    batches.add(batch)
    seen = Table(Clients(), f"{aws.table_prefix}batches").query("#due_step = :due", {"due": "due"}, index="by_due")
    batches.delete(batch.id)
    monkeypatch.setattr(Table, "query", lambda *_, **__: seen)
    assert not batches.claim(limit=5, lease_s=30)


def test_each_batch_is_claimed_by_one_of_many(aws, clock):
    batches = DynamoBatchStore(
        Clients(), table_prefix=aws.tables("batches", "batch_rows"), clock=clock, kept=timedelta(days=90)
    )
    ids = []
    for _ in range(12):
        ids.append(make_batch(clock).id)
        batches.add(make_batch(clock, id=ids[-1]))
    with ThreadPoolExecutor(6) as pool:
        claimed = [
            one.id for found in pool.map(lambda _: batches.claim(limit=3, lease_s=30), range(8)) for one in found
        ]
    assert len(claimed) == len(set(claimed))
    rest = [one.id for one in batches.claim(limit=12, lease_s=30)]
    assert sorted(claimed + rest) == sorted(ids)


def asked(clients: Clients) -> list[dict[str, Any]]:
    """Parameters of every read from now on."""
    seen: list[dict[str, Any]] = []
    for operation in ("GetItem", "Query"):
        clients.get("dynamodb").meta.events.register(
            f"provide-client-params.dynamodb.{operation}", lambda params, **_: seen.append(params)
        )
    return seen


def test_what_lets_somebody_in_is_read_as_it_is_now(aws):
    clients = Clients()
    tenants = DynamoTenantStore(clients, table_prefix=aws.tables("tenants"))
    tenants.add(Tenant(id="tenant_a", name="A", webhook_secret="whsec_x", created_at=NOON))
    tenants.add_key(ApiKey(id="key_1", tenant_id="tenant_a", sha256="ab" * 32, created_at=NOON))
    reads = asked(clients)
    tenants.find_key("ab" * 32)
    tenants.get("tenant_a")
    tenants.get_key("tenant_a", "key_1")
    assert len(reads) == 4
    assert all(read["ConsistentRead"] for read in reads)


def test_consents_are_read_as_they_are_now(aws):
    clients = Clients()
    consents = DynamoConsentStore(clients, table_prefix=aws.tables("consents", "consent_uses"))
    consent = Consent(
        id=new_id("consent"),
        tenant_id="tenant_a",
        subject="Ann",
        likenesses=frozenset({Likeness.FACE}),
        purpose="p",
        evidence_key="k",
        created_at=NOON,
    )
    consents.add(consent)
    reads = asked(clients)
    consents.get("tenant_a", consent.id)
    consents.list("tenant_a")
    consents.list("tenant_a", subject="Ann")
    consents.uses(consent.id)
    assert len(reads) == 4
    assert all(read["ConsistentRead"] for read in reads)


# ---- Retention: DynamoDB removes an item some time after its `expires_at`


def test_batch_expires_after_its_end_and_its_rows_after_it(aws, clock):
    prefix = aws.tables("batches", "batch_rows")
    batches = DynamoBatchStore(Clients(), table_prefix=prefix, clock=clock, kept=timedelta(days=90))
    batch = make_batch(clock)
    batches.add(batch)
    batches.put_rows([BatchRow(batch_id=batch.id, number=1, state=RowState.PENDING)])
    table = Table(Clients(), f"{prefix}batches")
    assert "expires_at" not in table.get({"id": batch.id})
    ended = batches.save(replace(batch, finished_at=clock.now()))
    expires_at = table.get({"id": batch.id})["expires_at"]
    assert expires_at == int((clock.now() + timedelta(days=90)).timestamp())
    [row] = Table(Clients(), f"{prefix}batch_rows").query("#batch_id = :batch", {"batch": batch.id})
    assert row["expires_at"] > expires_at
    batches.save(replace(ended, finished_at=None))
    assert "expires_at" not in table.get({"id": batch.id})


# ---- Bounds


def test_rows_beyond_one_answer_of_the_table_all_come_back(aws, clock):
    batches = DynamoBatchStore(
        Clients(), table_prefix=aws.tables("batches", "batch_rows"), clock=clock, kept=timedelta(days=90)
    )
    long = "x" * 150_000
    rows = [
        BatchRow(batch_id="batch_1", number=number, state=RowState.PENDING, request={"text": long})
        for number in range(1, 21)
    ]
    batches.put_rows(rows)
    assert [row.number for row in batches.rows("batch_1")] == list(range(1, 21))
    assert [row.number for row in batches.rows("batch_1", state=RowState.PENDING, limit=15)] == list(range(1, 16))
    assert batches.count_rows("batch_1") == {RowState.PENDING: 20}
    batches.delete("batch_1")
    assert not batches.rows("batch_1")


def test_row_over_the_tables_bound_is_refused_by_name(aws, clock):
    batches = DynamoBatchStore(
        Clients(), table_prefix=aws.tables("batches", "batch_rows"), clock=clock, kept=timedelta(days=90)
    )
    with pytest.raises(ContentRejected) as caught:
        batches.put_rows([BatchRow(batch_id="b", number=1, state=RowState.PENDING, request={"text": "x" * 410_000})])
    assert caught.value.code == "record_too_large"


def test_answer_too_long_to_keep_leaves_the_key_to_a_repeat_with_the_same_id(aws, clock):
    answers = DynamoIdempotencyStore(Clients(), table_prefix=aws.tables("idempotency"), clock=clock)
    reserve = lambda new: answers.reserve("tenant_a", "k", fingerprint="f", new_resource_id=new)  # noqa: E731
    answers.finish(reserve("job_1"), StoredAnswer(status=202, body="x" * 410_000, headers={}))
    assert reserve("job_2").resource_id == "job_1"


def test_same_row_twice_in_one_call_is_written_as_it_was_last(aws, clock):
    batches = DynamoBatchStore(
        Clients(), table_prefix=aws.tables("batches", "batch_rows"), clock=clock, kept=timedelta(days=90)
    )
    row = BatchRow(batch_id="batch_1", number=1, state=RowState.PENDING)
    batches.put_rows([row, replace(row, state=RowState.FAILED)])
    assert [one.state for one in batches.rows("batch_1")] == [RowState.FAILED]


class Throttled:
    """A client of a table that takes one item of each batch, or none."""

    def __init__(self, num_taken: int) -> None:
        self.num_taken, self.taken = num_taken, []

    def get(self, service: str) -> Throttled:
        return self

    def batch_write_item(self, *, RequestItems: dict[str, list[Any]]) -> dict[str, Any]:  # noqa: N803
        [(name, requests)] = RequestItems.items()
        self.taken += requests[: self.num_taken]
        left = requests[self.num_taken :]
        return {"UnprocessedItems": {name: left} if left else {}}


def test_what_a_throttled_table_left_over_is_sent_again(monkeypatch):
    client = Throttled(1)
    Table(client, "t").put_all([{"id": str(number)} for number in range(30)])  # type: ignore[arg-type]
    assert sorted(int(one["PutRequest"]["Item"]["id"]["S"]) for one in client.taken) == list(range(30))


def test_table_that_takes_nothing_is_given_up(monkeypatch):
    pauses: list[float] = []
    monkeypatch.setattr("services.adapters.aws.table.time.sleep", pauses.append)
    with pytest.raises(Unavailable) as caught:
        Table(Throttled(0), "t").put_all([{"id": "1"}])  # type: ignore[arg-type]
    assert caught.value.code == "aws_throttled"
    assert pauses == sorted(pauses)
    assert sum(pauses) < 10


# ---- What others send


@pytest.mark.parametrize(
    "name", ["", "\0", "\u202etxt.exe", "👩🏽‍🚀" * 50, "e\u0301\u00e9", "'; DROP TABLE avatars; --", "#name :value"]
)
def test_any_text_comes_back_as_it_was(aws, name):
    avatars = DynamoAvatarCatalogue(Clients(), table_prefix=aws.tables("avatars"))
    avatar = make_avatar("tenant_a", name=name)
    avatars.add(avatar)
    assert avatars.get("tenant_a", avatar.id) == avatar


def test_cursor_of_another_tenant_shows_nothing_of_theirs(aws):
    avatars = DynamoAvatarCatalogue(Clients(), table_prefix=aws.tables("avatars"))
    mine, theirs = [make_avatar("tenant_a") for _ in range(3)], [make_avatar("tenant_b") for _ in range(3)]
    for avatar in (*mine, *theirs):
        avatars.add(avatar)
    cursor = avatars.list("tenant_b", limit=1).cursor
    shown = avatars.list("tenant_a", cursor=cursor).items
    assert {avatar.tenant_id for avatar in shown} <= {"tenant_a"}


def test_subject_of_any_length_is_found(aws):
    consents = DynamoConsentStore(Clients(), table_prefix=aws.tables("consents", "consent_uses"))
    subjects = ["", "a", "a#", "图" * 2000, "Ann\0"]
    for subject in subjects:
        consents.add(
            Consent(
                id=new_id("consent"),
                tenant_id="tenant_a",
                subject=subject,
                likenesses=frozenset(),
                purpose="",
                evidence_key="k",
                created_at=NOON,
            )
        )
    for subject in subjects:
        assert [one.subject for one in consents.list("tenant_a", subject=subject).items] == [subject]


def test_deleted_tenants_keys_open_nothing(aws):
    tenants = DynamoTenantStore(Clients(), table_prefix=aws.tables("tenants"))
    tenants.add(Tenant(id="tenant_a", name="A", webhook_secret="whsec_x", created_at=NOON))
    for number in range(3):
        tenants.add_key(ApiKey(id=f"key_{number}", tenant_id="tenant_a", sha256=f"{number:064x}", created_at=NOON))
    tenants.delete("tenant_a")
    assert all(tenants.find_key(f"{number:064x}") is None for number in range(3))


def test_noted_use_does_not_undo_a_revocation(aws):
    """A request reads its key, the key is revoked, then the request notes its use."""
    tenants = DynamoTenantStore(Clients(), table_prefix=aws.tables("tenants"))
    tenants.add(Tenant(id="tenant_a", name="A", webhook_secret="whsec_x", created_at=NOON))
    tenants.add_key(ApiKey(id="key_1", tenant_id="tenant_a", sha256="ab" * 32, created_at=NOON))
    read_before = tenants.find_key("ab" * 32)
    tenants.revoke_key("tenant_a", "key_1", NOON)
    tenants.note_use(read_before, NOON + timedelta(hours=1))
    assert tenants.find_key("ab" * 32).revoked_at == NOON


# ---- Other clocks


def test_functions_with_different_clocks_grant_no_more_than_the_burst(aws, clock):
    aws.tables("rates")
    ahead, behind = FakeClock(), FakeClock()
    ahead.advance(0.5)
    limiters = [DynamoRateLimiter(Clients(), table_prefix=aws.table_prefix, clock=one) for one in (ahead, behind)]
    waits = [limiters[number % 2].take("tenant_a", rate_per_s=1, burst=5) for number in range(10)]
    assert waits.count(0) == 5
    assert all(0 < wait <= 1.5 for wait in waits if wait)


def test_bucket_fills_again_at_its_rate_and_no_further(aws, clock):
    limiter = DynamoRateLimiter(Clients(), table_prefix=aws.tables("rates"), clock=clock)
    take = lambda: limiter.take("tenant_a", rate_per_s=0.5, burst=2)  # noqa: E731
    assert [take(), take(), take()] == [0, 0, 2]
    clock.advance(1)
    assert take() == 1
    clock.advance(1)
    assert [take(), take()] == [0, 2]
    clock.advance(1000)
    assert [take(), take(), take()] == [0, 0, 2]


def test_lowered_limit_holds_at_once(aws, clock):
    limiter = DynamoRateLimiter(Clients(), table_prefix=aws.tables("rates"), clock=clock)
    assert [limiter.take("tenant_a", rate_per_s=10, burst=100) for _ in range(10)] == [0] * 10
    assert limiter.take("tenant_a", rate_per_s=10, burst=5) == pytest.approx(0.6)


# ---- The table itself


def test_failed_condition_shows_what_is_stored(aws):
    table = Table(Clients(), aws.tables("uploads") + "uploads")
    table.put({"id": "1", "tenant_id": "tenant_a", "body": "first"})
    with pytest.raises(ConditionFailed) as caught:
        table.put({"id": "1", "tenant_id": "tenant_a"}, condition="attribute_not_exists(#id)")
    assert caught.value.item["body"] == "first"
    with pytest.raises(ConditionFailed) as caught:
        table.update({"id": "2"}, "#body = :body", condition="attribute_exists(#id)", values={"body": "x"})
    assert caught.value.item is None


def test_values_keep_their_kinds(aws):
    table = Table(Clients(), aws.tables("uploads") + "uploads")
    item = {"id": "1", "tenant_id": "t", "count": 2**60, "negative": -1, "yes": True, "no": False, "empty": ""}
    table.put({**item, "nothing": None})
    stored = table.get({"id": "1"})
    del stored["written_by"], stored["schema"]
    assert stored == item
    assert {type(stored[name]) for name in ("yes", "no")} == {bool}


def test_no_adapter_reads_a_whole_table():
    """A scan costs what the table holds, whoever's it is."""
    words = {
        (path.name, node.value if isinstance(node, ast.Constant) else node.attr)
        for path in ADAPTERS.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
    }
    assert ("table.py", "query") in words
    assert {name for name, word in words if word.lower() in ("scan", "parallel_scan")} == set()
