"""What tenants' jobs hold of their month, in SQLite: changed in the transaction that changes the job's row."""

from __future__ import annotations

import sqlite3

from services.domain.allowance import Allowance, Holdings
from services.domain.job import Job


def hold(connection: sqlite3.Connection, before: Job | None, job: Job, allowance: Allowance | None = None) -> None:
    """Note what ``job`` holds now, in a transaction that has the write lock.

    Raises:
        QuotaExceeded, ContentRejected: It does not fit into ``allowance``; the transaction is to be undone.
    """
    if job.held_s is None:
        return
    present = holdings_of(connection, job.tenant_id)
    if allowance is not None:
        allowance.check(present, job.held_s)
    changed = present.after(before, job)
    if changed != present:
        connection.execute(
            "INSERT INTO holdings (tenant_id, month, made_ms, open_ms) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE"
            " SET month = excluded.month, made_ms = excluded.made_ms, open_ms = excluded.open_ms",
            (job.tenant_id, changed.month, changed.made_ms, changed.open_ms),
        )


def holdings_of(connection: sqlite3.Connection, tenant_id: str) -> Holdings:
    """The tenant's; all zero for one of whom nothing is noted."""
    row = connection.execute(
        "SELECT month, made_ms, open_ms FROM holdings WHERE tenant_id = ?", (tenant_id,)
    ).fetchone()
    return Holdings() if row is None else Holdings(month=row[0], made_ms=row[1], open_ms=row[2])
