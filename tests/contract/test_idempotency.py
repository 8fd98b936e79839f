"""What every store of first answers does."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from services.adapters.aws.clients import Clients
from services.adapters.aws.idempotency import DynamoIdempotencyStore
from services.adapters.local.idempotency import SqliteIdempotencyStore
from services.domain.errors import Conflict, ContentRejected
from services.ports.idempotency import Reservation, StoredAnswer
from tests.fakes.clock import FakeClock
from tests.fakes.idempotency import FakeIdempotencyStore

ANSWER = StoredAnswer(status=202, body='{"id":"job_1","text":"图"}', headers={"Location": "/v1/jobs/job_1"})


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture(params=["fake", "sqlite", "aws"])
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock):
    if request.param == "fake":
        return FakeIdempotencyStore(clock)
    if request.param == "aws":
        aws = request.getfixturevalue("aws")
        return DynamoIdempotencyStore(Clients(), table_prefix=aws.tables("idempotency"), clock=clock)
    return SqliteIdempotencyStore(tmp_path / "idempotency.sqlite", clock=clock)


def reserve(store, tenant="tenant_a", key="k", fingerprint="f", new="job_1"):
    return store.reserve(tenant, key, fingerprint=fingerprint, new_resource_id=new)


def test_first_comer_may_answer_and_the_repeat_gets_that_answer(store):
    reservation = reserve(store)
    assert reservation == Reservation(tenant_id="tenant_a", key="k", resource_id="job_1")
    store.finish(reservation, ANSWER)
    assert reserve(store, new="job_2") == ANSWER


def test_repeat_during_the_first_is_in_flight(store):
    reserve(store)
    with pytest.raises(Conflict) as caught:
        reserve(store)
    assert caught.value.code == "idempotency_key_in_flight"
    assert caught.value.retryable


@pytest.mark.parametrize("finished", [False, True])
def test_other_body_under_the_same_key_is_refused(store, finished):
    reservation = reserve(store)
    if finished:
        store.finish(reservation, ANSWER)
    with pytest.raises(ContentRejected) as caught:
        reserve(store, fingerprint="other")
    assert caught.value.code == "idempotency_key_reused"


def test_keys_of_tenants_are_apart(store):
    store.finish(reserve(store), ANSWER)
    assert isinstance(reserve(store, tenant="tenant_b"), Reservation)


def test_reservation_left_by_a_crash_is_taken_over_with_its_id(store, clock):
    reserve(store)
    clock.advance(31)
    assert reserve(store, new="job_2").resource_id == "job_1"
    with pytest.raises(Conflict):
        reserve(store)


def test_released_reservation_is_taken_over_at_once_with_its_id(store):
    store.release(reserve(store))
    assert reserve(store, new="job_2").resource_id == "job_1"


def test_abandoned_key_is_free_for_another_body(store):
    store.abandon(reserve(store))
    assert reserve(store, fingerprint="other", new="job_2").resource_id == "job_2"


def test_late_abandon_or_second_answer_does_not_undo_an_answer(store, clock):
    slow = reserve(store)
    clock.advance(31)
    store.finish(reserve(store), ANSWER)
    store.abandon(slow)
    store.finish(slow, StoredAnswer(status=500, body="", headers={}))
    assert reserve(store) == ANSWER


def test_key_is_forgotten_after_a_day(store, clock):
    store.finish(reserve(store), ANSWER)
    clock.advance(24 * 3600 + 1)
    assert reserve(store, fingerprint="other", new="job_2").resource_id == "job_2"


def test_one_of_many_at_once_may_answer(store):
    def attempt(number: int):
        try:
            return reserve(store, new=f"job_{number}")
        except Conflict:
            return None

    with ThreadPoolExecutor(8) as pool:
        won = [one for one in pool.map(attempt, range(32)) if one is not None]
    assert len(won) == 1


def test_deleted_tenant_leaves_no_answer(store):
    store.finish(reserve(store), ANSWER)
    store.finish(reserve(store, tenant="tenant_b"), ANSWER)
    store.forget("tenant_a")
    assert isinstance(reserve(store), Reservation)
    assert reserve(store, tenant="tenant_b") == ANSWER


def test_old_answers_leave_the_file_as_new_ones_come(tmp_path, clock):
    path = tmp_path / "idempotency.sqlite"
    store = SqliteIdempotencyStore(path, clock=clock)
    for number in range(100):
        reserve(store, key=f"old-{number}")
    clock.advance(24 * 3600 + 1)
    for number in range(20):
        reserve(store, key=f"new-{number}")
    with closing(sqlite3.connect(path)) as connection:
        [(num_rows,)] = connection.execute("SELECT count(*) FROM first_answers").fetchall()
    assert num_rows == 20
