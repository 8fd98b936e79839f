"""Batches and their rows in SQLite; leases as the jobs have them."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from services.adapters.cursors import last_id_of, page_of
from services.adapters.instants import to_micros
from services.adapters.local.sqlite import Database
from services.domain import wire
from services.domain.batch import Batch, BatchRow, BatchStep, RowState
from services.domain.errors import Conflict, NotFound
from services.ports.clock import Clock
from services.ports.jobs import Page

# `due_at` is when the step may next be claimed, as in the jobs table. Rows have no ULIDs: their number is their order.
_MIGRATIONS: Final = (
    """
    CREATE TABLE batches (
        id TEXT PRIMARY KEY,
        tenant_id TEXT NOT NULL,
        step TEXT NOT NULL,
        due_at INTEGER NOT NULL,
        claimed INTEGER NOT NULL DEFAULT 0,
        step_tries INTEGER NOT NULL,
        finished_at INTEGER,
        version INTEGER NOT NULL,
        body TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX batches_by_due ON batches (due_at) WHERE step != 'none';
    CREATE INDEX batches_by_end ON batches (finished_at) WHERE finished_at IS NOT NULL;
    CREATE INDEX batches_by_tenant ON batches (tenant_id, id);
    CREATE TABLE batch_rows (
        batch_id TEXT NOT NULL,
        number INTEGER NOT NULL,
        state TEXT NOT NULL,
        body TEXT NOT NULL,
        PRIMARY KEY (batch_id, number)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX batch_rows_by_state ON batch_rows (batch_id, state, number);
    """,
    """
    CREATE TABLE batch_turns (tenant_id TEXT PRIMARY KEY, turn INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    """,
)
_MAX_PAGE: Final = 200


class SqliteBatchStore:
    """``services.ports.batches.BatchStore`` for the threads and processes of one machine."""

    def __init__(self, path: Path, *, clock: Clock) -> None:
        self._database = Database(path, _MIGRATIONS)
        self._clock = clock

    def add(self, batch: Batch) -> None:
        try:
            self._database.execute(
                "INSERT INTO batches (id, tenant_id, step, due_at, step_tries, finished_at, version, body)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    batch.id,
                    batch.tenant_id,
                    batch.step,
                    to_micros(batch.available_at),
                    batch.step_tries,
                    _micros_or_none(batch.finished_at),
                    batch.version,
                    wire.encode(batch).decode(),
                ),
            )
        except sqlite3.IntegrityError as error:
            raise Conflict(f"There is a batch {batch.id} already.", code="batch_exists") from error

    def get(self, batch_id: str) -> Batch:
        row = self._database.one("SELECT * FROM batches WHERE id = ?", (batch_id,))
        if row is None:
            raise _not_found(batch_id)
        return _batch(row)

    def save(self, batch: Batch) -> Batch:
        saved = replace(batch, version=batch.version + 1)
        with self._database.write() as connection:
            num_changed = connection.execute(
                "UPDATE batches SET step = ?, due_at = ?, claimed = 0, step_tries = ?, finished_at = ?, version = ?,"
                " body = ?"
                " WHERE id = ? AND version = ?",
                (
                    saved.step,
                    to_micros(saved.available_at),
                    saved.step_tries,
                    _micros_or_none(saved.finished_at),
                    saved.version,
                    wire.encode(saved).decode(),
                    batch.id,
                    batch.version,
                ),
            ).rowcount
            if num_changed == 0:
                if connection.execute("SELECT 1 FROM batches WHERE id = ?", (batch.id,)).fetchone() is None:
                    raise _not_found(batch.id)
                raise Conflict(f"Batch {batch.id} was changed by someone else.", code="stale_batch", retryable=True)
        return saved

    def delete(self, batch_id: str) -> None:
        with self._database.write() as connection:
            connection.execute("DELETE FROM batch_rows WHERE batch_id = ?", (batch_id,))
            connection.execute("DELETE FROM batches WHERE id = ?", (batch_id,))

    def delete_rows(self, batch_id: str, *, limit: int) -> int:
        with self._database.write() as connection:
            return connection.execute(
                "DELETE FROM batch_rows WHERE batch_id = :batch AND number IN"
                " (SELECT number FROM batch_rows WHERE batch_id = :batch LIMIT :limit)",
                {"batch": batch_id, "limit": limit},
            ).rowcount

    def list(self, tenant_id: str, *, cursor: str | None = None, limit: int = 50) -> Page[Batch]:
        limit = max(1, min(limit, _MAX_PAGE))
        rows = self._database.all(
            "SELECT * FROM batches WHERE tenant_id = ? AND id < ? ORDER BY id DESC LIMIT ?",
            (tenant_id, last_id_of(cursor, "batch"), limit + 1),
        )
        return page_of([_batch(row) for row in rows], limit)

    def claim(self, *, limit: int, lease_s: float, due_for_s: float = 0.0) -> Sequence[Batch]:
        now = self._clock.now()
        due_by = to_micros(now - timedelta(seconds=due_for_s))
        if limit < 1 or not self._has_due(due_by):
            return ()  # without the write lock, so that idle pollers disturb nobody
        until = to_micros(now + timedelta(seconds=lease_s))
        claimed = []
        with self._database.write() as connection:
            for _ in range(limit):
                row = connection.execute(
                    # A claim that ran out is a failed try: its holder died or hangs.
                    "UPDATE batches SET due_at = :until, step_tries = step_tries + claimed, claimed = 1 WHERE id = ("
                    " SELECT id FROM batches LEFT JOIN batch_turns USING (tenant_id)"
                    " WHERE step != 'none' AND due_at <= :due_by ORDER BY coalesce(turn, 0), due_at, id LIMIT 1"
                    ") RETURNING *",
                    {"until": until, "due_by": due_by},
                ).fetchone()
                if row is None:
                    break
                connection.execute(
                    "INSERT INTO batch_turns SELECT ?, 1 + coalesce(max(turn), 0) FROM batch_turns WHERE true"
                    " ON CONFLICT DO UPDATE SET turn = excluded.turn",
                    (row["tenant_id"],),
                )
                claimed.append(_batch(row))
        return tuple(claimed)

    def release(self, batch_id: str, *, delay_s: float) -> None:
        due_at = to_micros(self._clock.now() + timedelta(seconds=delay_s))
        self._database.execute(
            "UPDATE batches SET due_at = ?, claimed = 0, step_tries = step_tries + 1 WHERE id = ? AND claimed = 1",
            (due_at, batch_id),
        )

    def end_claims(self) -> None:
        """Make every step that is not done due now: for a runner that knows it is alone and just started.

        A pass that a dead runner had begun counts as ended, too (``Batch.is_in_pass`` stays, for the next to see).
        """
        now = self._clock.now()
        for row in self._database.all("SELECT * FROM batches WHERE step IN (?, ?)", _WORKING):
            self.save(replace(_batch(row), available_at=now))

    def finished_before(self, moment: datetime, *, limit: int) -> Sequence[Batch]:
        rows = self._database.all(
            "SELECT * FROM batches WHERE finished_at < ? ORDER BY finished_at LIMIT ?", (to_micros(moment), limit)
        )
        return tuple(_batch(row) for row in rows)

    def put_rows(self, rows: Sequence[BatchRow]) -> None:
        if not rows:
            return
        with self._database.write() as connection:
            connection.executemany(
                "INSERT INTO batch_rows (batch_id, number, state, body) VALUES (?, ?, ?, ?)"
                " ON CONFLICT DO UPDATE SET state = excluded.state, body = excluded.body",
                [(row.batch_id, row.number, row.state, wire.encode(row).decode()) for row in rows],
            )

    def rows(
        self, batch_id: str, *, state: RowState | None = None, after: int = 0, limit: int = 100
    ) -> Sequence[BatchRow]:
        condition, parameters = ("", ()) if state is None else (" AND state = ?", (state,))
        found = self._database.all(
            f"SELECT body FROM batch_rows WHERE batch_id = ?{condition} AND number > ? ORDER BY number LIMIT ?",
            (batch_id, *parameters, after, limit),
        )
        return tuple(wire.decode(BatchRow, row["body"]) for row in found)

    def count_rows(self, batch_id: str) -> Mapping[RowState, int]:
        rows = self._database.all(
            "SELECT state, count(*) FROM batch_rows WHERE batch_id = ? GROUP BY state", (batch_id,)
        )
        return {RowState(row[0]): row[1] for row in rows}

    def _has_due(self, due_by: int) -> bool:
        row = self._database.one("SELECT 1 FROM batches WHERE step != 'none' AND due_at <= ? LIMIT 1", (due_by,))
        return row is not None


_WORKING: Final = (BatchStep.VALIDATE, BatchStep.FAN_OUT)


def _batch(row: sqlite3.Row) -> Batch:
    """The stored batch; what claims change lives in columns only, and wins."""
    return replace(wire.decode(Batch, row["body"]), step_tries=row["step_tries"], version=row["version"])


def _micros_or_none(moment: datetime | None) -> int | None:
    return None if moment is None else to_micros(moment)


def _not_found(batch_id: str) -> NotFound:
    return NotFound(f"There is no batch {batch_id}.", code="batch_not_found")
