"""Tenants and keys in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from services.adapters.cursors import last_id_of
from services.adapters.instants import from_micros, to_micros
from services.adapters.local.sqlite import Database
from services.domain.errors import Conflict, NotFound
from services.domain.scope import Scope
from services.ports.jobs import Page
from services.ports.tenants import ApiKey, Tenant

_MIGRATIONS: Final = (
    """
    CREATE TABLE tenants (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        webhook_secret TEXT NOT NULL,
        max_outstanding INTEGER NOT NULL,
        created_at INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE api_keys (
        sha256 TEXT PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        tenant_id TEXT NOT NULL REFERENCES tenants (id),
        created_at INTEGER NOT NULL,
        revoked_at INTEGER
    ) WITHOUT ROWID;
    """,
    """
    ALTER TABLE tenants ADD COLUMN requests_per_s REAL;
    ALTER TABLE tenants ADD COLUMN request_burst INTEGER;
    ALTER TABLE tenants ADD COLUMN max_queued_jobs INTEGER;
    ALTER TABLE tenants ADD COLUMN monthly_output_s REAL;
    ALTER TABLE tenants ADD COLUMN deleting_since INTEGER;
    ALTER TABLE api_keys ADD COLUMN name TEXT NOT NULL DEFAULT '';
    ALTER TABLE api_keys ADD COLUMN scopes TEXT NOT NULL DEFAULT 'create manage read';
    ALTER TABLE api_keys ADD COLUMN expires_at INTEGER;
    ALTER TABLE api_keys ADD COLUMN last_used_at INTEGER;
    CREATE INDEX api_keys_by_tenant ON api_keys (tenant_id, id);
    """,
)


class SqliteTenantStore:
    """``TenantStore`` in a SQLite file of its own."""

    def __init__(self, path: Path) -> None:
        self._database = Database(path, _MIGRATIONS)

    def add(self, tenant: Tenant) -> None:
        columns = _columns_of(tenant)
        try:
            self._database.execute(
                f"INSERT INTO tenants ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})",
                tuple(columns.values()),
            )
        except sqlite3.IntegrityError as error:
            raise Conflict(f"There is a tenant {tenant.id} already.", code="tenant_exists") from error

    def get(self, tenant_id: str) -> Tenant:
        row = self._database.one("SELECT * FROM tenants WHERE id = ?", (tenant_id,))
        if row is None:
            raise _no_tenant(tenant_id)
        return _tenant(row)

    def update(self, tenant: Tenant) -> None:
        columns = _columns_of(tenant)
        assignments = ", ".join(f"{name} = ?" for name in columns)
        if not self._database.execute(f"UPDATE tenants SET {assignments} WHERE id = ?", (*columns.values(), tenant.id)):
            raise _no_tenant(tenant.id)

    def list(self, *, cursor: str | None = None, limit: int = 50) -> Page[Tenant]:
        rows = self._database.all(
            "SELECT * FROM tenants WHERE id < ? ORDER BY id DESC LIMIT ?", (last_id_of(cursor, "tenant"), limit + 1)
        )
        more = str(rows[limit - 1]["id"]) if len(rows) > limit else None
        return Page(items=tuple(_tenant(row) for row in rows[:limit]), cursor=more)

    def delete(self, tenant_id: str) -> None:
        with self._database.write() as connection:
            connection.execute("DELETE FROM api_keys WHERE tenant_id = ?", (tenant_id,))
            connection.execute("DELETE FROM tenants WHERE id = ?", (tenant_id,))

    def add_key(self, key: ApiKey) -> None:
        try:
            self._database.execute(
                "INSERT INTO api_keys (sha256, id, tenant_id, created_at, name, scopes, expires_at, revoked_at,"
                " last_used_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    key.sha256,
                    key.id,
                    key.tenant_id,
                    to_micros(key.created_at),
                    key.name,
                    " ".join(sorted(key.scopes)),
                    _micros(key.expires_at),
                    _micros(key.revoked_at),
                    _micros(key.last_used_at),
                ),
            )
        except sqlite3.IntegrityError as error:
            raise Conflict(f"API key {key.id} is there already, or its tenant is not.", code="key_exists") from error

    def find_key(self, sha256: str) -> ApiKey | None:
        row = self._database.one("SELECT * FROM api_keys WHERE sha256 = ?", (sha256,))
        return None if row is None else _key(row)

    def get_key(self, tenant_id: str, key_id: str) -> ApiKey:
        row = self._database.one("SELECT * FROM api_keys WHERE tenant_id = ? AND id = ?", (tenant_id, key_id))
        if row is None:
            raise NotFound(f"There is no API key {key_id}.", code="key_not_found")
        return _key(row)

    def list_keys(self, tenant_id: str) -> Sequence[ApiKey]:
        rows = self._database.all("SELECT * FROM api_keys WHERE tenant_id = ? ORDER BY id DESC", (tenant_id,))
        return tuple(_key(row) for row in rows)

    def revoke_key(self, tenant_id: str, key_id: str, now: datetime) -> None:
        self._set(tenant_id, key_id, "revoked_at = coalesce(revoked_at, ?)", to_micros(now))

    def expire_key(self, key: ApiKey, at: datetime) -> None:
        changed = self._database.execute(
            "UPDATE api_keys SET expires_at = ? WHERE tenant_id = ? AND id = ? AND expires_at IS ? AND revoked_at IS ?",
            (
                to_micros(min(at, key.expires_at or at)),
                key.tenant_id,
                key.id,
                _micros(key.expires_at),
                _micros(key.revoked_at),
            ),
        )
        if not changed:
            self.get_key(key.tenant_id, key.id)
            raise Conflict(f"API key {key.id} was changed by someone else.", code="key_changed")

    def note_use(self, key: ApiKey, now: datetime) -> None:
        self._database.execute(
            "UPDATE api_keys SET last_used_at = ? WHERE sha256 = ?", (to_micros(now), key.sha256), durable=False
        )

    def _set(self, tenant_id: str, key_id: str, assignment: str, value: int) -> None:
        sql = f"UPDATE api_keys SET {assignment} WHERE tenant_id = ? AND id = ?"
        if not self._database.execute(sql, (value, tenant_id, key_id)):
            raise NotFound(f"There is no API key {key_id}.", code="key_not_found")


def _columns_of(tenant: Tenant) -> dict[str, Any]:
    return {
        "id": tenant.id,
        "name": tenant.name,
        "webhook_secret": tenant.webhook_secret,
        "max_outstanding": tenant.max_outstanding,
        "created_at": to_micros(tenant.created_at),
        "requests_per_s": tenant.requests_per_s,
        "request_burst": tenant.request_burst,
        "max_queued_jobs": tenant.max_queued_jobs,
        "monthly_output_s": tenant.monthly_output_s,
        "deleting_since": _micros(tenant.deleting_since),
    }


def _tenant(row: sqlite3.Row) -> Tenant:
    return Tenant(
        id=row["id"],
        name=row["name"],
        webhook_secret=row["webhook_secret"],
        max_outstanding=row["max_outstanding"],
        created_at=from_micros(row["created_at"]),
        requests_per_s=row["requests_per_s"],
        request_burst=row["request_burst"],
        max_queued_jobs=row["max_queued_jobs"],
        monthly_output_s=row["monthly_output_s"],
        deleting_since=_moment(row["deleting_since"]),
    )


def _key(row: sqlite3.Row) -> ApiKey:
    return ApiKey(
        id=row["id"],
        tenant_id=row["tenant_id"],
        sha256=row["sha256"],
        created_at=from_micros(row["created_at"]),
        name=row["name"],
        scopes=frozenset(Scope(scope) for scope in row["scopes"].split()),
        expires_at=_moment(row["expires_at"]),
        revoked_at=_moment(row["revoked_at"]),
        last_used_at=_moment(row["last_used_at"]),
    )


def _micros(moment: datetime | None) -> int | None:
    return None if moment is None else to_micros(moment)


def _moment(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)


def _no_tenant(tenant_id: str) -> NotFound:
    return NotFound(f"There is no tenant {tenant_id}.", code="tenant_not_found")
