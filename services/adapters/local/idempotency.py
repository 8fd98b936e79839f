"""First answers by ``Idempotency-Key`` in SQLite."""

from __future__ import annotations

import json
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Final

from services.adapters.instants import to_micros
from services.adapters.local.sqlite import Database
from services.domain.errors import Conflict, ContentRejected
from services.ports.clock import Clock
from services.ports.idempotency import Reservation, StoredAnswer

_MIGRATIONS: Final = (
    """
    CREATE TABLE first_answers (
        tenant_id TEXT NOT NULL,
        key TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        resource_id TEXT NOT NULL,
        reserved_until INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        status INTEGER,
        headers TEXT,
        body TEXT,
        PRIMARY KEY (tenant_id, key)
    ) WITHOUT ROWID;
    CREATE INDEX first_answers_by_age ON first_answers (created_at);
    """,
)
_KEPT: Final = timedelta(hours=24)
_ANSWERED_WITHIN: Final = timedelta(seconds=30)  # no gateway waits longer for an answer
_PURGED_EVERY: Final = 16  # reservations
_PURGED_AT_ONCE: Final = 10 * _PURGED_EVERY


class SqliteIdempotencyStore:
    """``IdempotencyStore`` in a SQLite file of its own; old keys go as new ones come."""

    def __init__(self, path: Path, *, clock: Clock) -> None:
        self._database = Database(path, _MIGRATIONS)
        self._clock = clock
        self._num_reserved = count()

    def reserve(
        self, tenant_id: str, key: str, *, fingerprint: str, new_resource_id: str
    ) -> Reservation | StoredAnswer:
        now = self._clock.now()
        self._purge(to_micros(now - _KEPT))
        reserved_until = to_micros(now + _ANSWERED_WITHIN)
        is_first = self._database.execute(
            "INSERT INTO first_answers (tenant_id, key, fingerprint, resource_id, reserved_until, created_at)"
            " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET fingerprint = excluded.fingerprint,"
            " resource_id = excluded.resource_id, reserved_until = excluded.reserved_until,"
            " created_at = excluded.created_at, status = NULL, headers = NULL, body = NULL WHERE created_at < ?",
            (tenant_id, key, fingerprint, new_resource_id, reserved_until, to_micros(now), to_micros(now - _KEPT)),
        )
        if is_first:
            return Reservation(tenant_id=tenant_id, key=key, resource_id=new_resource_id)
        with self._database.write() as connection:
            row = connection.execute(
                "SELECT * FROM first_answers WHERE tenant_id = ? AND key = ?", (tenant_id, key)
            ).fetchone()
            if row is not None and row["fingerprint"] != fingerprint:
                raise ContentRejected(
                    "This Idempotency-Key came with another request before; use a new one.",
                    code="idempotency_key_reused",
                    param="Idempotency-Key",
                )
            if row is not None and row["status"] is not None:
                return StoredAnswer(status=row["status"], body=row["body"], headers=json.loads(row["headers"]))
            if row is None or row["reserved_until"] > to_micros(now):  # abandoned a moment ago, or still reserved
                raise Conflict(
                    "A request with this Idempotency-Key is being answered; try again in a moment.",
                    code="idempotency_key_in_flight",
                    param="Idempotency-Key",
                    retryable=True,
                )
            connection.execute(
                "UPDATE first_answers SET reserved_until = ? WHERE tenant_id = ? AND key = ?",
                (reserved_until, tenant_id, key),
            )
        return Reservation(tenant_id=tenant_id, key=key, resource_id=str(row["resource_id"]))

    def _purge(self, before: int) -> None:
        """With every few reservations, remove more old keys than have come since."""
        if next(self._num_reserved) % _PURGED_EVERY == 0:
            self._database.execute(
                "DELETE FROM first_answers WHERE (tenant_id, key) IN"
                " (SELECT tenant_id, key FROM first_answers WHERE created_at < ? ORDER BY created_at LIMIT ?)",
                (before, _PURGED_AT_ONCE),
                durable=False,
            )

    def finish(self, reservation: Reservation, answer: StoredAnswer) -> None:
        self._database.execute(
            "UPDATE first_answers SET status = ?, headers = ?, body = ?"
            " WHERE tenant_id = ? AND key = ? AND resource_id = ? AND status IS NULL",
            (answer.status, json.dumps(dict(answer.headers)), answer.body, *_row_of(reservation)),
            durable=False,  # lost in a power cut, the repeat takes over with the same id and finds what was made
        )

    def abandon(self, reservation: Reservation) -> None:
        self._database.execute(
            "DELETE FROM first_answers WHERE tenant_id = ? AND key = ? AND resource_id = ? AND status IS NULL",
            _row_of(reservation),
        )

    def forget(self, tenant_id: str) -> None:
        self._database.execute("DELETE FROM first_answers WHERE tenant_id = ?", (tenant_id,))

    def release(self, reservation: Reservation) -> None:
        self._database.execute(
            "UPDATE first_answers SET reserved_until = 0"
            " WHERE tenant_id = ? AND key = ? AND resource_id = ? AND status IS NULL",
            _row_of(reservation),
        )


def _row_of(reservation: Reservation) -> tuple[str, str, str]:
    return reservation.tenant_id, reservation.key, reservation.resource_id
