"""Uploads in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from services.adapters.cursors import last_id_of
from services.adapters.instants import from_micros, to_micros
from services.adapters.local.sqlite import Database
from services.domain.errors import NotFound
from services.ports.jobs import Page
from services.ports.uploads import Upload

_MIGRATIONS: Final = (
    """
    CREATE TABLE uploads (
        id TEXT PRIMARY KEY,
        tenant_id TEXT NOT NULL,
        object_key TEXT NOT NULL,
        media_type TEXT NOT NULL,
        size_bytes INTEGER NOT NULL,
        file_name TEXT NOT NULL,
        created_at INTEGER NOT NULL
    ) WITHOUT ROWID;
    """,
    "CREATE INDEX uploads_by_tenant ON uploads (tenant_id, id);",
    "CREATE INDEX uploads_by_age ON uploads (created_at);",
)


class SqliteUploadStore:
    """``UploadStore`` in a SQLite file of its own."""

    def __init__(self, path: Path) -> None:
        self._database = Database(path, _MIGRATIONS)

    def add(self, upload: Upload) -> None:
        self._database.execute(
            "INSERT INTO uploads (id, tenant_id, object_key, media_type, size_bytes, file_name, created_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
            (
                upload.id,
                upload.tenant_id,
                upload.object_key,
                upload.media_type,
                upload.size_bytes,
                upload.file_name,
                to_micros(upload.created_at),
            ),
        )

    def get(self, tenant_id: str, upload_id: str) -> Upload:
        row = self._database.one("SELECT * FROM uploads WHERE id = ? AND tenant_id = ?", (upload_id, tenant_id))
        if row is None:
            raise NotFound(f"There is no upload {upload_id}.", code="upload_not_found")
        return _upload(row)

    def list(self, tenant_id: str, *, cursor: str | None = None, limit: int = 50) -> Page[Upload]:
        rows = self._database.all(
            "SELECT * FROM uploads WHERE tenant_id = ? AND id < ? ORDER BY id DESC LIMIT ?",
            (tenant_id, last_id_of(cursor, "upload"), limit + 1),
        )
        more = str(rows[limit - 1]["id"]) if len(rows) > limit else None
        return Page(items=tuple(_upload(row) for row in rows[:limit]), cursor=more)

    def created_before(self, moment: datetime, *, limit: int) -> Sequence[Upload]:
        rows = self._database.all(
            "SELECT * FROM uploads WHERE created_at < ? ORDER BY created_at LIMIT ?", (to_micros(moment), limit)
        )
        return tuple(_upload(row) for row in rows)

    def delete(self, tenant_id: str, upload_id: str) -> None:
        self._database.execute("DELETE FROM uploads WHERE id = ? AND tenant_id = ?", (upload_id, tenant_id))


def _upload(row: sqlite3.Row) -> Upload:
    return Upload(
        id=row["id"],
        tenant_id=row["tenant_id"],
        object_key=row["object_key"],
        media_type=row["media_type"],
        size_bytes=row["size_bytes"],
        file_name=row["file_name"],
        created_at=from_micros(row["created_at"]),
    )
