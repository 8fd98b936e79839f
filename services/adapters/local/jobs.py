"""Job rows in SQLite: the row is the outbox, a claim is a lease on it."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from services.adapters.cursors import last_id_of, page_of
from services.adapters.instants import to_micros
from services.adapters.local.holdings import hold, holdings_of
from services.adapters.local.job_tables import MIGRATIONS as _MIGRATIONS
from services.adapters.local.job_tables import TENANTS_IN_TURN
from services.adapters.local.sqlite import Database
from services.domain import wire
from services.domain.allowance import Allowance, Holdings
from services.domain.engine import EngineKind, Lane
from services.domain.errors import Conflict, NotFound
from services.domain.job import Job, JobState, JobStep
from services.ports.clock import Clock
from services.ports.jobs import Page

_MAX_PAGE: Final = 200


class SqliteJobStore:
    """``services.ports.jobs.JobStore`` for the threads and processes of one machine."""

    def __init__(self, path: Path, *, clock: Clock) -> None:
        self._database = Database(path, _MIGRATIONS)
        self._clock = clock

    def add(self, job: Job, *, allowance: Allowance | None = None) -> None:
        try:
            with self._database.write() as connection:
                connection.execute(
                    "INSERT INTO jobs (id, tenant_id, kind, state, step, due_at, step_tries, deadline_at, finished_at,"
                    " version, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        job.id,
                        job.tenant_id,
                        job.kind,
                        job.state,
                        job.step,
                        to_micros(job.available_at),
                        job.step_tries,
                        _micros_or_none(job.deadline_at),
                        _micros_or_none(job.finished_at),
                        job.version,
                        wire.encode(job).decode(),
                    ),
                )
                hold(connection, None, job, allowance)
        except sqlite3.IntegrityError as error:
            raise Conflict(f"There is a job {job.id} already.", code="job_exists") from error

    def holdings(self, tenant_id: str) -> Holdings:
        with self._database.read() as connection:
            return holdings_of(connection, tenant_id)

    def forget_holdings(self, tenant_id: str) -> None:
        self._database.execute("DELETE FROM holdings WHERE tenant_id = ?", (tenant_id,))

    def get(self, job_id: str) -> Job:
        row = self._database.one("SELECT * FROM jobs WHERE id = ?", (job_id,))
        if row is None:
            raise _not_found(job_id)
        return _job(row)

    def get_many(self, job_ids: Collection[str]) -> dict[str, Job]:
        rows = self._database.all(
            "SELECT * FROM jobs WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(list(job_ids)),)
        )
        return {row["id"]: _job(row) for row in rows}

    def save(self, job: Job) -> Job:
        saved = replace(job, version=job.version + 1)
        with self._database.write() as connection:
            if job.held_s is not None:
                row = connection.execute(
                    "SELECT * FROM jobs WHERE id = ? AND version = ?", (job.id, job.version)
                ).fetchone()
                if row is not None:
                    hold(connection, _job(row), saved)
            num_changed = connection.execute(
                "UPDATE jobs SET state = ?, step = ?, due_at = ?, claimed = 0, step_tries = ?, deadline_at = ?,"
                " finished_at = ?, version = ?, body = ? WHERE id = ? AND version = ?",
                (
                    saved.state,
                    saved.step,
                    to_micros(saved.available_at),
                    saved.step_tries,
                    _micros_or_none(saved.deadline_at),
                    _micros_or_none(saved.finished_at),
                    saved.version,
                    wire.encode(saved).decode(),
                    job.id,
                    job.version,
                ),
            ).rowcount
            if num_changed == 0:
                if connection.execute("SELECT 1 FROM jobs WHERE id = ?", (job.id,)).fetchone() is None:
                    raise _not_found(job.id)
                raise Conflict(f"Job {job.id} was changed by someone else.", code="stale_job", retryable=True)
        return saved

    def delete(self, job_id: str) -> None:
        self._database.execute("DELETE FROM jobs WHERE id = ?", (job_id,))

    def list(
        self,
        tenant_id: str,
        *,
        state: JobState | None = None,
        kind: EngineKind | None = None,
        cursor: str | None = None,
        limit: int = 50,
    ) -> Page[Job]:
        limit = max(1, min(limit, _MAX_PAGE))
        conditions, parameters = ["tenant_id = ?"], [tenant_id]
        for column, value in (("state", state), ("kind", kind)):
            if value is not None:
                conditions.append(f"{column} = ?")
                parameters.append(value)
        if cursor is not None:
            conditions.append("id < ?")
            parameters.append(last_id_of(cursor, "job"))
        rows = self._database.all(  # ids are ULIDs: their order is the order of time
            f"SELECT * FROM jobs WHERE {' AND '.join(conditions)} ORDER BY id DESC LIMIT ?",
            (*parameters, limit + 1),
        )
        return page_of([_job(row) for row in rows], limit)

    def claim(
        self,
        step: JobStep,
        *,
        limit: int,
        lease_s: float,
        room_of: Callable[[str], int] | None = None,
        due_for_s: float = 0.0,
    ) -> Sequence[Job]:
        now = self._clock.now()
        due_by = to_micros(now - timedelta(seconds=due_for_s))
        if limit < 1 or not self._has_due(step, due_by):
            return ()  # without the write lock, so that idle pollers disturb nobody
        until = to_micros(now + timedelta(seconds=lease_s))
        claimed: list[Job] = []
        with self._database.write() as connection:
            tenants = connection.execute(TENANTS_IN_TURN, {"step": step}).fetchall()
            turn = max((row["turn"] for row in tenants), default=0)
            waiting = [row["tenant_id"] for row in tenants]
            rooms: dict[str, int] = {}
            while waiting and len(claimed) < limit:
                for tenant_id in tuple(waiting):
                    if tenant_id not in rooms:
                        rooms[tenant_id] = limit if room_of is None else room_of(tenant_id)
                    if rooms[tenant_id] < 1:
                        waiting.remove(tenant_id)
                        continue
                    row = connection.execute(
                        # A claim that ran out is a failed try: its holder died or hangs.
                        "UPDATE jobs SET due_at = :until, step_tries = step_tries + claimed, claimed = 1 WHERE id = ("
                        " SELECT id FROM jobs WHERE step = :step AND tenant_id = :tenant AND due_at <= :due_by"
                        " ORDER BY due_at, id LIMIT 1) RETURNING *",
                        {"until": until, "step": step, "tenant": tenant_id, "due_by": due_by},
                    ).fetchone()
                    if row is None:
                        waiting.remove(tenant_id)
                        continue
                    claimed.append(_job(row))
                    rooms[tenant_id] -= 1
                    turn += 1
                    connection.execute(
                        "INSERT INTO turns (step, tenant_id, turn) VALUES (?, ?, ?)"
                        " ON CONFLICT DO UPDATE SET turn = excluded.turn",
                        (step, tenant_id, turn),
                    )
                    if len(claimed) == limit:
                        break
        return tuple(claimed)

    def release(self, job_id: str, *, delay_s: float) -> None:
        due_at = to_micros(self._clock.now() + timedelta(seconds=delay_s))
        self._database.execute(  # a claim that a save has ended meanwhile needs no release
            "UPDATE jobs SET due_at = ?, claimed = 0, step_tries = step_tries + 1 WHERE id = ? AND claimed = 1",
            (due_at, job_id),
        )

    def end_claims(self) -> None:
        """Make every claimed step due now, a try the poorer: for a runner that knows it is alone and just started."""
        now = to_micros(self._clock.now())
        self._database.execute("UPDATE jobs SET due_at = ? WHERE claimed = 1 AND due_at > ?", (now, now))

    def overdue(self, now: datetime, *, limit: int) -> Sequence[Job]:
        rows = self._database.all(
            "SELECT * FROM jobs WHERE step = 'run' AND deadline_at < ? ORDER BY deadline_at LIMIT ?",
            (to_micros(now), limit),
        )
        return tuple(_job(row) for row in rows)

    def finished_before(self, moment: datetime, *, limit: int) -> Sequence[Job]:
        rows = self._database.all(
            "SELECT * FROM jobs WHERE finished_at < ? ORDER BY finished_at LIMIT ?", (to_micros(moment), limit)
        )
        return tuple(_job(row) for row in rows)

    def count_open(self, tenant_id: str, *, at_most: int) -> int:
        row = self._database.one(
            "SELECT count(*) FROM (SELECT 1 FROM jobs WHERE tenant_id = ? AND state IN ('queued', 'processing')"
            " LIMIT ?)",
            (tenant_id, at_most),
        )
        return int(row[0]) if row is not None else 0

    def count_waiting(self, step: JobStep, *, at_most: int) -> int:
        row = self._database.one("SELECT count(*) FROM (SELECT 1 FROM jobs WHERE step = ? LIMIT ?)", (step, at_most))
        return int(row[0]) if row is not None else 0

    def outstanding(self, *, tenant_id: str | None = None, lane: Lane | None = None) -> int:
        counts = self.outstanding_by_tenant(lane=lane)
        return sum(counts.values()) if tenant_id is None else counts.get(tenant_id, 0)

    def outstanding_by_tenant(self, *, lane: Lane | None = None) -> dict[str, int]:
        rows = self._database.all(
            "SELECT tenant_id, kind, count(*) FROM jobs WHERE step = 'run' GROUP BY tenant_id, kind"
        )
        counts: Counter[str] = Counter()
        for row in rows:
            if lane in (None, EngineKind(row["kind"]).lane):
                counts[row["tenant_id"]] += row[2]
        return dict(counts)

    def _has_due(self, step: JobStep, due_by: int) -> bool:
        row = self._database.one("SELECT 1 FROM jobs WHERE step = ? AND due_at <= ? LIMIT 1", (step, due_by))
        return row is not None


def _job(row: sqlite3.Row) -> Job:
    """The stored job; what claims change lives in columns only, and wins."""
    return replace(wire.decode(Job, row["body"]), step_tries=row["step_tries"], version=row["version"])


def _micros_or_none(moment: datetime | None) -> int | None:
    return None if moment is None else to_micros(moment)


def _not_found(job_id: str) -> NotFound:
    return NotFound(f"There is no job {job_id}.", code="job_not_found")
