"""The audit log in SQLite."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from services.adapters.cursors import last_id_of
from services.adapters.instants import from_micros, to_micros
from services.adapters.local.sqlite import Database
from services.ports.audit import AuditEntry
from services.ports.jobs import Page

_MIGRATIONS: Final = (
    """
    CREATE TABLE entries (
        id TEXT PRIMARY KEY,
        tenant_id TEXT NOT NULL,
        at INTEGER NOT NULL,
        actor TEXT NOT NULL,
        action TEXT NOT NULL,
        target TEXT NOT NULL,
        details TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX entries_by_tenant ON entries (tenant_id, id);
    CREATE TRIGGER entries_stay BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'append only'); END;
    """,
)


class SqliteAuditLog:
    """``services.ports.audit.AuditLog`` in a SQLite file of its own; no entry can be changed."""

    def __init__(self, path: Path) -> None:
        self._database = Database(path, _MIGRATIONS)

    def add(self, entry: AuditEntry) -> None:
        self._database.execute(
            "INSERT INTO entries (id, tenant_id, at, actor, action, target, details) VALUES (?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (id) DO NOTHING",
            (
                entry.id,
                entry.tenant_id,
                to_micros(entry.at),
                entry.actor,
                entry.action,
                entry.target,
                json.dumps(dict(entry.details)),
            ),
        )

    def list(self, tenant_id: str, *, cursor: str | None = None, limit: int = 50) -> Page[AuditEntry]:
        rows = self._database.all(
            "SELECT * FROM entries WHERE tenant_id = ? AND id < ? ORDER BY id DESC LIMIT ?",
            (tenant_id, last_id_of(cursor, "audit"), limit + 1),
        )
        items = tuple(
            AuditEntry(
                id=row["id"],
                tenant_id=row["tenant_id"],
                at=from_micros(row["at"]),
                actor=row["actor"],
                action=row["action"],
                target=row["target"],
                details=json.loads(row["details"]),
            )
            for row in rows[:limit]
        )
        return Page(items=items, cursor=items[-1].id if len(rows) > limit else None)

    def forget(self, tenant_id: str) -> None:
        self._database.execute("DELETE FROM entries WHERE tenant_id = ?", (tenant_id,))
