"""Usage records in DynamoDB."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from services.adapters.aws.clients import Clients
from services.adapters.aws.table import ConditionFailed, Table
from services.adapters.instants import sortable
from services.domain import wire
from services.ports.usage import UsageRecord


class DynamoUsageStore:
    """``services.ports.usage.UsageStore``: the job id is the key, so nothing is counted twice."""

    def __init__(self, clients: Clients, *, table_prefix: str) -> None:
        self._table = Table(clients, f"{table_prefix}usage")

    def record(self, record: UsageRecord) -> bool:
        item = {
            "job_id": record.job_id,
            "tenant_id": record.tenant_id,
            "at_job": f"{sortable(record.at)}#{record.job_id}",
            "body": wire.encode(record).decode(),
        }
        try:
            self._table.put(item, condition="attribute_not_exists(#job_id)")
        except ConditionFailed:
            return False
        return True

    def list(self, tenant_id: str, *, since: datetime, until: datetime) -> Sequence[UsageRecord]:
        items = self._table.query(  # a time alone sorts before the same time with a job behind it
            "#tenant_id = :tenant AND #at_job BETWEEN :since AND :until",
            {"tenant": tenant_id, "since": sortable(since), "until": sortable(until)},
            index="by_time",
        )
        return tuple(wire.decode(UsageRecord, item["body"]) for item in items)

    def forget(self, tenant_id: str) -> None:
        keys = self._table.query("#tenant_id = :tenant", {"tenant": tenant_id}, index="by_time", attributes=("job_id",))
        self._table.delete_all(keys)
