"""Tenants and keys in SQLite."""

from __future__ import annotations

import sqlite3
from datetime import datetime
from pathlib import Path
from typing import Final

from services.adapters.local.sqlite import Database, from_micros, to_micros
from services.domain.errors import Conflict, NotFound
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
)


class SqliteTenantStore:
    """``TenantStore`` in a SQLite file of its own."""

    def __init__(self, path: Path) -> None:
        self._database = Database(path, _MIGRATIONS)

    def add(self, tenant: Tenant) -> None:
        try:
            self._database.execute(
                "INSERT INTO tenants (id, name, webhook_secret, max_outstanding, created_at) VALUES (?, ?, ?, ?, ?)",
                (
                    tenant.id,
                    tenant.name,
                    tenant.webhook_secret,
                    tenant.max_outstanding,
                    to_micros(tenant.created_at),
                ),
            )
        except sqlite3.IntegrityError as error:
            raise Conflict(f"There is a tenant {tenant.id} already.", code="tenant_exists") from error

    def get(self, tenant_id: str) -> Tenant:
        row = self._database.one("SELECT * FROM tenants WHERE id = ?", (tenant_id,))
        if row is None:
            raise NotFound(f"There is no tenant {tenant_id}.", code="tenant_not_found")
        return Tenant(
            id=row["id"],
            name=row["name"],
            webhook_secret=row["webhook_secret"],
            max_outstanding=row["max_outstanding"],
            created_at=from_micros(row["created_at"]),
        )

    def add_key(self, key: ApiKey) -> None:
        try:
            self._database.execute(
                "INSERT INTO api_keys (sha256, id, tenant_id, created_at, revoked_at) VALUES (?, ?, ?, ?, ?)",
                (
                    key.sha256,
                    key.id,
                    key.tenant_id,
                    to_micros(key.created_at),
                    None if key.revoked_at is None else to_micros(key.revoked_at),
                ),
            )
        except sqlite3.IntegrityError as error:
            raise Conflict(f"API key {key.id} is there already, or its tenant is not.", code="key_exists") from error

    def find_key(self, sha256: str) -> ApiKey | None:
        row = self._database.one("SELECT * FROM api_keys WHERE sha256 = ?", (sha256,))
        if row is None:
            return None
        return ApiKey(
            id=row["id"],
            tenant_id=row["tenant_id"],
            sha256=row["sha256"],
            created_at=from_micros(row["created_at"]),
            revoked_at=None if row["revoked_at"] is None else from_micros(row["revoked_at"]),
        )

    def revoke_key(self, key_id: str, now: datetime) -> None:
        self._database.execute(
            "UPDATE api_keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", (to_micros(now), key_id)
        )
