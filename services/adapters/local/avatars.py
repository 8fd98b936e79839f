"""The avatar catalogue in SQLite."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final

from services.adapters.cursors import last_id_of
from services.adapters.instants import from_micros, to_micros
from services.adapters.local.sqlite import Database
from services.domain.errors import NotFound
from services.ports.catalogue import Avatar
from services.ports.jobs import Page

_MIGRATIONS: Final = (
    """
    CREATE TABLE avatars (
        id TEXT PRIMARY KEY,
        tenant_id TEXT,
        name TEXT NOT NULL,
        kind TEXT NOT NULL,
        object_key TEXT NOT NULL,
        media_type TEXT NOT NULL,
        licence TEXT,
        created_at INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX avatars_by_tenant ON avatars (tenant_id, id);
    """,
    """
    ALTER TABLE avatars ADD COLUMN consent_id TEXT;
    ALTER TABLE avatars ADD COLUMN synthetic INTEGER NOT NULL DEFAULT 0;
    """,
)
_VISIBLE: Final = "(tenant_id = ? OR tenant_id IS NULL)"


class SqliteAvatarCatalogue:
    """``AvatarCatalogue`` in a SQLite file of its own; a cursor is the last id of the page before."""

    def __init__(self, path: Path) -> None:
        self._database = Database(path, _MIGRATIONS)

    def add(self, avatar: Avatar) -> None:
        self._database.execute(
            "INSERT INTO avatars (id, tenant_id, name, kind, object_key, media_type, licence, created_at, consent_id,"
            " synthetic) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
            (
                avatar.id,
                avatar.tenant_id,
                avatar.name,
                avatar.kind,
                avatar.object_key,
                avatar.media_type,
                avatar.licence,
                to_micros(avatar.created_at),
                avatar.consent_id,
                avatar.synthetic,
            ),
        )

    def get(self, tenant_id: str, avatar_id: str) -> Avatar:
        row = self._database.one(f"SELECT * FROM avatars WHERE id = ? AND {_VISIBLE}", (avatar_id, tenant_id))
        if row is None:
            raise NotFound(f"There is no avatar {avatar_id}.", code="avatar_not_found")
        return _avatar(row)

    def list(self, tenant_id: str, *, cursor: str | None = None, limit: int = 50) -> Page[Avatar]:
        rows = self._database.all(
            f"SELECT * FROM avatars WHERE id < ? AND {_VISIBLE} ORDER BY id DESC LIMIT ?",
            (last_id_of(cursor, "avatar"), tenant_id, limit + 1),
        )
        items = tuple(_avatar(row) for row in rows[:limit])
        return Page(items=items, cursor=items[-1].id if len(rows) > limit else None)

    def delete(self, tenant_id: str, avatar_id: str) -> None:
        self._database.execute("DELETE FROM avatars WHERE id = ? AND tenant_id = ?", (avatar_id, tenant_id))


def _avatar(row: sqlite3.Row) -> Avatar:
    return Avatar(
        id=row["id"],
        tenant_id=row["tenant_id"],
        name=row["name"],
        kind=row["kind"],
        object_key=row["object_key"],
        media_type=row["media_type"],
        licence=row["licence"],
        created_at=from_micros(row["created_at"]),
        consent_id=row["consent_id"],
        synthetic=bool(row["synthetic"]),
    )
