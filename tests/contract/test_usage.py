"""What every usage store does."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from services.adapters.aws.clients import Clients
from services.adapters.aws.usage import DynamoUsageStore
from services.adapters.local.usage import SqliteUsageStore
from services.domain.pricing import Cost
from services.ports.usage import UsageRecord, UsageStore
from tests.fakes.usage import FakeUsageStore

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.fixture(params=["fake", "sqlite", "aws"])
def usage(request: pytest.FixtureRequest, tmp_path: Path) -> UsageStore:
    if request.param == "aws":
        aws = request.getfixturevalue("aws")
        return DynamoUsageStore(Clients(), table_prefix=aws.tables("usage"))
    return FakeUsageStore() if request.param == "fake" else SqliteUsageStore(tmp_path / "usage.sqlite")


def record(job_id: str = "job_1", tenant_id: str = "tenant_a", at: datetime = NOON, output_s: float = 2.5):
    quantities = {"output_s": output_s, "characters": 120.0}
    return UsageRecord(job_id=job_id, tenant_id=tenant_id, kind="video", quantities=quantities, at=at)


def test_job_is_recorded_once(usage):
    assert usage.record(record())
    assert not usage.record(record(output_s=99))
    [stored] = usage.list("tenant_a", since=NOON, until=NOON + timedelta(days=1))
    assert stored == record()


def test_period_includes_its_start_and_not_its_end(usage):
    for number in range(3):
        usage.record(record(f"job_{number}", at=NOON + timedelta(hours=number)))
    found = usage.list("tenant_a", since=NOON, until=NOON + timedelta(hours=2))
    assert [one.job_id for one in found] == ["job_0", "job_1"]


def test_other_tenants_are_not_listed(usage):
    usage.record(record(tenant_id="tenant_b"))
    assert not usage.list("tenant_a", since=NOON, until=NOON + timedelta(days=1))


def test_cost_is_kept_and_may_be_absent(usage):
    priced = replace(record(), cost=Cost(amount=0.0125, currency="EUR"))
    usage.record(priced)
    usage.record(record("job_2"))
    found = usage.list("tenant_a", since=NOON, until=NOON + timedelta(hours=1))
    assert {one.job_id: one.cost for one in found} == {"job_1": priced.cost, "job_2": None}


def test_deleted_tenant_leaves_no_record(usage):
    usage.record(record())
    usage.record(record("job_2", tenant_id="tenant_b"))
    usage.forget("tenant_a")
    usage.forget("tenant_a")
    assert not usage.list("tenant_a", since=NOON, until=NOON + timedelta(days=1))
    assert len(usage.list("tenant_b", since=NOON, until=NOON + timedelta(days=1))) == 1
