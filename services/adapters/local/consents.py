"""The consent register in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from services.adapters.cursors import last_id_of
from services.adapters.instants import from_micros, to_micros
from services.adapters.local.sqlite import Database
from services.domain.consent import Consent, Likeness
from services.domain.errors import NotFound
from services.ports.jobs import Page

_MIGRATIONS: Final = (
    """
    CREATE TABLE consents (
        id TEXT PRIMARY KEY,
        tenant_id TEXT NOT NULL,
        subject TEXT NOT NULL,
        likenesses TEXT NOT NULL,
        purpose TEXT NOT NULL,
        evidence_key TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        expires_at INTEGER,
        revoked_at INTEGER
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX consents_by_subject ON consents (tenant_id, subject, id);
    CREATE INDEX consents_by_tenant ON consents (tenant_id, id);
    CREATE TABLE uses (
        consent_id TEXT NOT NULL,
        used_by TEXT NOT NULL,
        PRIMARY KEY (consent_id, used_by)
    ) STRICT, WITHOUT ROWID;
    """,
    "CREATE INDEX uses_by_user ON uses (used_by, consent_id);",
)


class SqliteConsentStore:
    """``services.ports.consents.ConsentStore`` in a SQLite file of its own."""

    def __init__(self, path: Path) -> None:
        self._database = Database(path, _MIGRATIONS)

    def add(self, consent: Consent) -> None:
        self._database.execute(
            "INSERT INTO consents (id, tenant_id, subject, likenesses, purpose, evidence_key, created_at, expires_at,"
            " revoked_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
            (
                consent.id,
                consent.tenant_id,
                consent.subject,
                " ".join(sorted(consent.likenesses)),
                consent.purpose,
                consent.evidence_key,
                to_micros(consent.created_at),
                None if consent.expires_at is None else to_micros(consent.expires_at),
                None if consent.revoked_at is None else to_micros(consent.revoked_at),
            ),
        )

    def get(self, tenant_id: str, consent_id: str) -> Consent:
        row = self._database.one("SELECT * FROM consents WHERE id = ? AND tenant_id = ?", (consent_id, tenant_id))
        if row is None:
            raise NotFound(f"There is no consent {consent_id}.", code="consent_not_found")
        return _consent(row)

    def list(
        self, tenant_id: str, *, subject: str | None = None, cursor: str | None = None, limit: int = 50
    ) -> Page[Consent]:
        condition, parameters = ("", ()) if subject is None else (" AND subject = ?", (subject,))
        rows = self._database.all(
            f"SELECT * FROM consents WHERE tenant_id = ? AND id < ?{condition} ORDER BY id DESC LIMIT ?",
            (tenant_id, last_id_of(cursor, "consent"), *parameters, limit + 1),
        )
        more = str(rows[limit - 1]["id"]) if len(rows) > limit else None
        return Page(items=tuple(_consent(row) for row in rows[:limit]), cursor=more)

    def revoke(self, tenant_id: str, consent_id: str, now: datetime) -> Consent:
        self._database.execute(
            "UPDATE consents SET revoked_at = ? WHERE id = ? AND tenant_id = ? AND revoked_at IS NULL",
            (to_micros(now), consent_id, tenant_id),
        )
        return self.get(tenant_id, consent_id)

    def delete(self, tenant_id: str, consent_id: str) -> None:
        with self._database.write() as connection:
            num_deleted = connection.execute(
                "DELETE FROM consents WHERE id = ? AND tenant_id = ?", (consent_id, tenant_id)
            ).rowcount
            if num_deleted:
                connection.execute("DELETE FROM uses WHERE consent_id = ?", (consent_id,))

    def record_use(self, consent_id: str, used_by: str) -> None:
        self._database.execute(
            "INSERT INTO uses (consent_id, used_by) VALUES (?, ?) ON CONFLICT DO NOTHING", (consent_id, used_by)
        )

    def forget_use(self, consent_id: str, used_by: str) -> None:
        self._database.execute("DELETE FROM uses WHERE consent_id = ? AND used_by = ?", (consent_id, used_by))

    def consents_of(self, upload_id: str) -> Sequence[str]:
        rows = self._database.all("SELECT consent_id FROM uses WHERE used_by = ? ORDER BY consent_id", (upload_id,))
        return tuple(str(row["consent_id"]) for row in rows)

    def uses(self, consent_id: str) -> Sequence[str]:
        rows = self._database.all("SELECT used_by FROM uses WHERE consent_id = ? ORDER BY used_by", (consent_id,))
        return tuple(str(row["used_by"]) for row in rows)


def _consent(row: sqlite3.Row) -> Consent:
    return Consent(
        id=row["id"],
        tenant_id=row["tenant_id"],
        subject=row["subject"],
        likenesses=frozenset(Likeness(one) for one in row["likenesses"].split()),
        purpose=row["purpose"],
        evidence_key=row["evidence_key"],
        created_at=from_micros(row["created_at"]),
        expires_at=None if row["expires_at"] is None else from_micros(row["expires_at"]),
        revoked_at=None if row["revoked_at"] is None else from_micros(row["revoked_at"]),
    )
