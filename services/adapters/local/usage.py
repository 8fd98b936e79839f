"""Usage records in SQLite."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from services.adapters.local.sqlite import Database, from_micros, to_micros
from services.ports.usage import UsageRecord

_MIGRATIONS: Final = (
    """
    CREATE TABLE usage (
        job_id TEXT PRIMARY KEY,
        tenant_id TEXT NOT NULL,
        kind TEXT NOT NULL,
        quantities TEXT NOT NULL,
        at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX usage_by_tenant ON usage (tenant_id, at);
    """,
)


class SqliteUsageStore:
    """``services.ports.usage.UsageStore``: the job id is the primary key, so nothing is counted twice."""

    def __init__(self, path: Path) -> None:
        self._database = Database(path, _MIGRATIONS)

    def record(self, record: UsageRecord) -> bool:
        num_added = self._database.execute(
            "INSERT INTO usage (job_id, tenant_id, kind, quantities, at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (record.job_id, record.tenant_id, record.kind, json.dumps(dict(record.quantities)), to_micros(record.at)),
        )
        return num_added == 1

    def list(self, tenant_id: str, *, since: datetime, until: datetime) -> Sequence[UsageRecord]:
        rows = self._database.all(
            "SELECT * FROM usage WHERE tenant_id = ? AND at >= ? AND at < ? ORDER BY at, job_id",
            (tenant_id, to_micros(since), to_micros(until)),
        )
        return tuple(
            UsageRecord(
                job_id=row["job_id"],
                tenant_id=row["tenant_id"],
                kind=row["kind"],
                quantities=json.loads(row["quantities"]),
                at=from_micros(row["at"]),
            )
            for row in rows
        )
