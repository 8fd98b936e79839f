"""Usage records in a dict."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from services.ports.usage import UsageRecord


class FakeUsageStore:
    def __init__(self) -> None:
        self._records: dict[str, UsageRecord] = {}

    def record(self, record: UsageRecord) -> bool:
        return self._records.setdefault(record.job_id, record) is record

    def list(self, tenant_id: str, *, since: datetime, until: datetime) -> Sequence[UsageRecord]:
        mine = (record for record in self._records.values() if record.tenant_id == tenant_id)
        return sorted((record for record in mine if since <= record.at < until), key=lambda record: record.at)

    def forget(self, tenant_id: str) -> None:
        self._records = {id_: one for id_, one in self._records.items() if one.tenant_id != tenant_id}
