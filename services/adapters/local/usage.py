"""Usage records in SQLite."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from services.adapters.instants import from_micros, to_micros
from services.adapters.local.sqlite import Database
from services.domain.pricing import Cost
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
    """
    ALTER TABLE usage ADD COLUMN cost_amount REAL;
    ALTER TABLE usage ADD COLUMN cost_currency TEXT;
    """,
)


class SqliteUsageStore:
    """``services.ports.usage.UsageStore``: the job id is the primary key, so nothing is counted twice."""

    def __init__(self, path: Path) -> None:
        self._database = Database(path, _MIGRATIONS)

    def record(self, record: UsageRecord) -> bool:
        num_added = self._database.execute(
            "INSERT INTO usage (job_id, tenant_id, kind, quantities, at, cost_amount, cost_currency)"
            " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (
                record.job_id,
                record.tenant_id,
                record.kind,
                json.dumps(dict(record.quantities)),
                to_micros(record.at),
                None if record.cost is None else record.cost.amount,
                None if record.cost is None else record.cost.currency,
            ),
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
                cost=_cost(row),
            )
            for row in rows
        )

    def forget(self, tenant_id: str) -> None:
        self._database.execute("DELETE FROM usage WHERE tenant_id = ?", (tenant_id,))


def _cost(row: sqlite3.Row) -> Cost | None:
    return None if row["cost_currency"] is None else Cost(amount=row["cost_amount"], currency=row["cost_currency"])
