"""Items of DynamoDB carry the number of their form: older forms are read, newer ones refused."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from services.adapters.aws.items import SCHEMA
from services.adapters.aws.table import Table
from services.adapters.aws.usage import DynamoUsageStore
from services.domain.errors import Unavailable


@pytest.fixture
def table(aws):
    prefix = aws.tables("usage")
    return Table(aws.clients, f"{prefix}usage"), DynamoUsageStore(aws.clients, table_prefix=prefix)


def raw(table: Table, item: dict) -> None:
    """Write past the adapter."""
    packed = {name: {"N": str(value)} if isinstance(value, int) else {"S": value} for name, value in item.items()}
    table._clients.get("dynamodb").put_item(TableName=table.name, Item=packed)


OLD = {
    "job_id": "job_old",
    "tenant_id": "tenant_a",
    "at_job": "01772366400000000#job_old",  # microseconds of 2026-03-01T12:00Z
    "body": '{"job_id":"job_old","tenant_id":"tenant_a","kind":"video","quantities":{"output_s":2.5},'
    '"at":"2026-03-01T12:00:00Z"}',
}


def test_written_items_carry_the_number(table):
    one, _ = table
    one.put({"job_id": "job_1", "tenant_id": "tenant_a"})
    one.put_all([{"job_id": "job_2", "tenant_id": "tenant_a"}])
    assert [one.get({"job_id": name})["schema"] for name in ("job_1", "job_2")] == [SCHEMA, SCHEMA]


def test_item_from_before_the_number_and_without_newer_fields_is_read(table):
    one, usage = table
    raw(one, OLD)
    [record] = usage.list("tenant_a", since=datetime(2026, 1, 1, tzinfo=UTC), until=datetime(2027, 1, 1, tzinfo=UTC))
    assert (record.job_id, record.quantities, record.cost) == ("job_old", {"output_s": 2.5}, None)


def test_item_of_a_newer_form_is_refused_by_name(table):
    one, _ = table
    raw(one, {**OLD, "schema": SCHEMA + 1})
    with pytest.raises(Unavailable) as refused:
        one.get({"job_id": "job_old"})
    assert (refused.value.code, refused.value.retryable) == ("store_too_new", False)
