"""What every batch store does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from services.adapters.aws.batches import DynamoBatchStore
from services.adapters.aws.clients import Clients
from services.adapters.local.batches import SqliteBatchStore
from services.domain.batch import (
    Batch,
    BatchEstimate,
    BatchKind,
    BatchRow,
    BatchState,
    BatchStep,
    OnInvalid,
    RowFault,
    RowState,
)
from services.domain.engine import Failure
from services.domain.errors import Conflict, InvalidRequest, NotFound
from services.domain.ids import new_id
from services.domain.pricing import Cost
from services.ports.batches import BatchStore
from tests.fakes.batches import FakeBatchStore
from tests.fakes.clock import FakeClock

MakeBatch = Callable[..., Batch]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["fake", "sqlite", "aws"])
def batches(request: pytest.FixtureRequest, clock: FakeClock, tmp_path: Path) -> BatchStore:
    if request.param == "fake":
        return FakeBatchStore(clock)
    if request.param == "aws":
        aws = request.getfixturevalue("aws")
        return DynamoBatchStore(
            Clients(), table_prefix=aws.tables("batches", "batch_rows"), clock=clock, kept=timedelta(days=90)
        )
    return SqliteBatchStore(tmp_path / "batches.sqlite", clock=clock)


@pytest.fixture
def add(batches: BatchStore, clock: FakeClock) -> MakeBatch:
    def add_batch(tenant_id: str = "tenant_a", **fields: object) -> Batch:
        now = clock.now()
        batch = Batch(
            id=new_id("batch"),
            tenant_id=tenant_id,
            kind=BatchKind.VIDEO,
            file_key="work/tenant_a/batch/0/file.csv",
            media_type="text/csv",
            created_at=now,
            updated_at=now,
            available_at=now,
        )
        batch = replace(batch, **fields)
        batches.add(batch)
        return batch

    return add_batch


def row(batch: Batch, number: int, state: RowState = RowState.PENDING, **fields: object) -> BatchRow:
    return replace(BatchRow(batch_id=batch.id, number=number, state=state), **fields)


def test_stored_batch_comes_back_equal(batches, add, clock):
    full = add(
        name="Frühling 图 'quoted'",
        on_invalid=OnInvalid.REJECT,
        dry_run=True,
        state=BatchState.SUCCEEDED,
        step=BatchStep.NOTIFY,
        counts={"succeeded": 3, "failed": 1},
        estimate=BatchEstimate(quantities={"output_s": 12.5}, cost=Cost(amount=0.25, currency="EUR")),
        has_report=True,
        num_checked=4,
        retry_asked=True,
        is_in_pass=True,
        finished_at=clock.now() + timedelta(microseconds=1),
        failure=Failure(code="c", detail="d", param="p"),
        held_by=Failure(code="h", detail="q", retryable=True),
        callback_url="https://client.example/",
        callback_id="x",
    )
    assert batches.get(full.id) == full


def test_same_id_is_not_added_twice(batches, add):
    batch = add()
    with pytest.raises(Conflict) as raised:
        batches.add(replace(batch, tenant_id="tenant_b"))
    assert raised.value.code == "batch_exists"
    assert batches.get(batch.id).tenant_id == "tenant_a"


def test_deleted_batch_is_gone_with_its_rows(batches, add):
    batch, other = add(), add()
    batches.put_rows([row(batch, 1), row(other, 1)])
    batches.put_rows([row(batch, number) for number in range(2, 60)])
    batches.delete(batch.id)
    batches.delete(batch.id)
    assert not batches.rows(batch.id)
    assert len(batches.rows(other.id)) == 1
    for call in (lambda: batches.get(batch.id), lambda: batches.save(batch)):
        with pytest.raises(NotFound) as raised:
            call()
        assert raised.value.code == "batch_not_found"


def test_rows_are_removed_some_at_a_time_until_none_is_left(batches, add):
    batch, other = add(), add()
    batches.put_rows([row(batch, number) for number in range(1, 41)])
    batches.put_rows([row(other, 1)])
    assert [batches.delete_rows(batch.id, limit=30) for _ in range(3)] == [30, 10, 0]
    assert (len(batches.rows(batch.id)), len(batches.rows(other.id))) == (0, 1)
    assert batches.get(batch.id) == batch


def test_second_writer_of_a_version_is_refused(batches, add):
    batch = add()
    saved = batches.save(replace(batch, name="first"))
    assert saved.version == batch.version + 1
    with pytest.raises(Conflict) as raised:
        batches.save(replace(batch, name="second"))
    assert raised.value.code == "stale_batch"
    assert batches.get(batch.id) == saved


def test_claim_is_exclusive_until_its_lease_ends(batches, add, clock):
    batch = add()
    assert [one.id for one in batches.claim(limit=5, lease_s=30)] == [batch.id]
    clock.advance(29)
    assert not batches.claim(limit=5, lease_s=30)
    clock.advance(2)
    [again] = batches.claim(limit=5, lease_s=30)
    assert (again.id, again.step_tries) == (batch.id, 1)


@pytest.mark.parametrize("step", [step for step in BatchStep if step is not BatchStep.NONE])
def test_every_step_is_claimed(batches, add, step):
    batch = add(step=step)
    assert [one.id for one in batches.claim(limit=5, lease_s=30)] == [batch.id]


def test_batch_with_nothing_to_do_is_not_claimed(batches, add):
    add(step=BatchStep.NONE)
    assert not batches.claim(limit=5, lease_s=30)


def test_claims_take_the_longest_due_first_and_no_more_than_asked(batches, add, clock):
    expected = []
    for _ in range(3):
        expected.append(add().id)
        clock.advance(1)
    assert [one.id for one in batches.claim(limit=2, lease_s=30)] == expected[:2]
    assert [one.id for one in batches.claim(limit=2, lease_s=30)] == expected[2:]


def test_tenants_take_turns_whoever_has_more(batches, add, clock):
    for _ in range(4):
        add()
    clock.advance(1)
    add("tenant_b")
    clock.advance(1)
    add("tenant_c")
    claimed = [batch.tenant_id[-1] for _ in range(2) for batch in batches.claim(limit=2, lease_s=30)]
    if isinstance(batches, DynamoBatchStore):
        assert claimed == ["a"] * 4  # there the queue takes turns; claims only find what was left lying
        return
    assert claimed == ["a", "b", "c", "a"]
    assert [batch.tenant_id[-1] for batch in batches.claim(limit=9, lease_s=30)] == ["a", "a"]
    add("tenant_b")
    clock.advance(31)
    assert [batch.tenant_id[-1] for batch in batches.claim(limit=2, lease_s=30)] == ["b", "c"]


def test_only_what_lay_long_enough_is_claimed(batches, add, clock):
    batch = add()
    clock.advance(119)
    assert not batches.claim(limit=5, lease_s=30, due_for_s=120)
    clock.advance(2)
    assert [one.id for one in batches.claim(limit=5, lease_s=30, due_for_s=120)] == [batch.id]


def test_save_ends_the_claim_and_sets_the_next_time(batches, add, clock):
    add()
    [claimed] = batches.claim(limit=1, lease_s=30)
    batches.save(replace(claimed, step=BatchStep.FAN_OUT, available_at=clock.now() + timedelta(seconds=5)))
    assert not batches.claim(limit=1, lease_s=30)
    clock.advance(5)
    [again] = batches.claim(limit=1, lease_s=30)
    assert (again.step, again.step_tries) == (BatchStep.FAN_OUT, 0)


def test_saved_batch_without_a_step_is_not_claimed_any_more(batches, add):
    add()
    [claimed] = batches.claim(limit=1, lease_s=30)
    batches.save(replace(claimed, step=BatchStep.NONE))
    assert not batches.claim(limit=1, lease_s=30)


def test_release_counts_the_try_and_delays_the_next(batches, add, clock):
    batch = add()
    batches.claim(limit=1, lease_s=30)
    batches.release(batch.id, delay_s=10)
    assert batches.get(batch.id).step_tries == 1
    assert not batches.claim(limit=1, lease_s=30)
    clock.advance(10)
    [again] = batches.claim(limit=1, lease_s=30)
    assert again.step_tries == 1
    assert batches.save(replace(again, name="x")).step_tries == 1


def test_release_without_a_claim_changes_nothing(batches, add):
    batch = add()
    batches.release(batch.id, delay_s=1000)
    batches.release("batch_unknown", delay_s=1)
    assert batches.get(batch.id).step_tries == 0
    assert batches.claim(limit=1, lease_s=30)


def test_listing_pages_through_all_newest_first(batches, add):
    ids = sorted((add().id for _ in range(5)), reverse=True)
    add("tenant_b")
    seen, cursor = [], None
    while True:
        page = batches.list("tenant_a", cursor=cursor, limit=2)
        assert len(page.items) <= 2
        seen += [batch.id for batch in page.items]
        cursor = page.cursor
        if cursor is None:
            break
    assert seen == ids


def test_listing_ends_without_an_empty_page(batches, add):
    for _ in range(2):
        add()
    assert batches.list("tenant_a", limit=2).cursor is None


@pytest.mark.parametrize("cursor", ["", "%%%", "é", "/w=="])
def test_foreign_cursor_is_refused(batches, add, cursor):
    add()
    with pytest.raises(InvalidRequest) as raised:
        batches.list("tenant_a", cursor=cursor)
    assert raised.value.code == "malformed_cursor"


def test_stored_row_comes_back_equal(batches, add):
    full = row(
        add(),
        50_000,
        RowState.FAILED,
        request={"speech": {"text": "Grüße 图 'quoted'\nsecond line", "voice": {"speed": 1.25}}, "list": [1, None]},
        external_id="SKU 1/ä",
        faults=(RowFault(column="speech.text", code="c", detail="d"), RowFault(column=None, code="c", detail="d")),
        job_id="job_1",
        tries=2,
        failure=Failure(code="c", detail="d", param="p", retryable=True),
    )
    batches.put_rows([full])
    assert list(batches.rows(full.batch_id)) == [full]


def test_row_takes_the_place_of_the_one_before(batches, add):
    batch = add()
    batches.put_rows([row(batch, 1), row(batch, 2)])
    batches.put_rows([row(batch, 1, RowState.SUBMITTED, job_id="job_1")])
    assert [(one.number, one.state) for one in batches.rows(batch.id)] == [(1, "submitted"), (2, "pending")]
    assert [one.number for one in batches.rows(batch.id, state=RowState.PENDING)] == [2]


def test_many_rows_are_written_at_once_and_read_in_order_of_number(batches, add):
    batch, other = add(), add()
    batches.put_rows([row(batch, number) for number in range(120, 0, -1)])
    batches.put_rows([row(other, 1)])
    batches.put_rows([])
    assert [one.number for one in batches.rows(batch.id, limit=1000)] == list(range(1, 121))
    assert [one.number for one in batches.rows(batch.id, after=9, limit=3)] == [10, 11, 12]
    assert not batches.rows(batch.id, after=120)


def test_rows_are_found_by_state_from_a_number_on(batches, add):
    batch = add()
    states = (RowState.FAILED, RowState.SUCCEEDED)
    batches.put_rows([row(batch, number, states[number % 2]) for number in range(1, 31)])
    found = batches.rows(batch.id, state=RowState.FAILED, after=4, limit=4)
    assert [one.number for one in found] == [6, 8, 10, 12]


def test_rows_are_counted_by_state(batches, add):
    batch, other = add(), add()
    batches.put_rows([row(other, 1)])
    assert dict(batches.count_rows(batch.id)) == {}
    batches.put_rows([row(batch, number) for number in range(1, 41)])
    batches.put_rows([row(batch, number, RowState.INVALID) for number in range(1, 8)])
    assert dict(batches.count_rows(batch.id)) == {RowState.INVALID: 7, RowState.PENDING: 33}


def test_batches_that_ended_are_found_by_when_unless_the_store_lets_go_by_itself(batches, add, clock):
    days = [timedelta(days=number) for number in (3, 1, 2)]
    ended = [add(state=BatchState.SUCCEEDED, step=BatchStep.NONE, finished_at=clock.now() + day) for day in days]
    add()
    later = batches.save(replace(add(), step=BatchStep.NONE, finished_at=clock.now()))
    found = batches.finished_before(clock.now() + timedelta(days=2), limit=10)
    expected = [] if isinstance(batches, DynamoBatchStore) else [later.id, ended[1].id]
    assert [batch.id for batch in found] == expected
    assert len(batches.finished_before(clock.now() + timedelta(days=9), limit=1)) == bool(expected)
