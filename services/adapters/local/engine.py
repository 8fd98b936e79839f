"""The engine's queue on one machine: attempts in a SQLite file of their own, claimed by workers with leases."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

from services.adapters.instants import to_micros
from services.adapters.local.sqlite import Database
from services.domain import wire
from services.domain.engine import AnswerState, EngineAnswer, EngineKind, EngineRequest, Failure, Lane
from services.ports.clock import Clock
from services.ports.engine import EngineCapacity

# `due_at`: queued, when it may be claimed; running or answered, when the claim on it ends.
_MIGRATIONS: Final = (
    """
    CREATE TABLE engine_attempts (
        job_id TEXT NOT NULL,
        attempt INTEGER NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'answered', 'heard')),
        due_at INTEGER NOT NULL,
        num_claims INTEGER NOT NULL DEFAULT 0,
        request TEXT NOT NULL,
        answer TEXT,
        PRIMARY KEY (job_id, attempt)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX engine_attempts_due ON engine_attempts (state, due_at);
    """,
    "ALTER TABLE engine_attempts ADD COLUMN lane TEXT NOT NULL DEFAULT 'long';",
)
_MAX_CLAIMS: Final = 3
_KEEP_HEARD: Final = timedelta(days=2)  # so that a repeated start of a finished attempt is still recognised


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedAttempt:
    """An attempt that a worker holds until its lease ends; ``num_claims`` tells this holder from earlier ones."""

    request: EngineRequest
    num_claims: int


class SqliteEngine:
    """``services.ports.engine.Engine``, and the worker's side of it.

    A worker calls ``claim``, then ``heartbeat`` while it runs, then ``answer``. An attempt whose lease ran out is
    claimed again under the same number; after the third time it is answered ``engine_lost``. Whoever feeds the
    completion handler calls ``claim_answers`` and, once an answer was taken in, ``heard``.

    Args:
        num_instances: Worker processes that serve this queue.
        num_interactive_instances: Those of them, besides, that serve interactive work only; None: the same serve both.
    """

    def __init__(
        self, path: Path, *, clock: Clock, num_instances: int, num_interactive_instances: int | None = None
    ) -> None:
        self._database = Database(path, _MIGRATIONS)
        self._clock = clock
        interactive = num_instances if num_interactive_instances is None else num_interactive_instances
        self._num_instances = {Lane.LONG: num_instances, Lane.INTERACTIVE: interactive}

    def start(self, request: EngineRequest) -> None:
        self._database.execute(
            "INSERT INTO engine_attempts (job_id, attempt, state, due_at, request, lane)"
            " VALUES (?, ?, 'queued', ?, ?, ?) ON CONFLICT DO NOTHING",
            (request.job_id, request.attempt, self._now(), wire.encode(request).decode(), request.kind.lane),
        )

    def capacity(self, kind: EngineKind) -> EngineCapacity:
        return EngineCapacity(num_instances=self._num_instances[kind.lane], concurrency_per_instance=1)

    def claim(self, *, lease_s: float, lane: Lane | None = None) -> ClaimedAttempt | None:
        """The attempt that waits longest, or one whose holder went silent; None when there is none in ``lane``."""
        if self._first_due(("queued", "running"), lane) is None:
            return None  # without the write lock, so that idle workers disturb nobody
        now = self._now()
        with self._database.write() as connection:
            self._answer_lost(connection, now)
            row = connection.execute(
                "UPDATE engine_attempts SET state = 'running', due_at = ?, num_claims = num_claims + 1"
                " WHERE (job_id, attempt) = (SELECT job_id, attempt FROM engine_attempts"
                "  WHERE state IN ('queued', 'running') AND due_at <= ? AND lane = coalesce(?, lane)"
                "  ORDER BY due_at, job_id LIMIT 1) RETURNING request, num_claims",
                (now + _micros(lease_s), now, lane),
            ).fetchone()
        if row is None:
            return None
        return ClaimedAttempt(request=wire.decode(EngineRequest, row["request"]), num_claims=row["num_claims"])

    def heartbeat(self, claimed: ClaimedAttempt, *, lease_s: float) -> bool:
        """Extend the lease; False when the attempt is no longer this holder's, who then stops."""
        request = claimed.request
        num_changed = self._database.execute(
            "UPDATE engine_attempts SET due_at = ?"
            " WHERE job_id = ? AND attempt = ? AND state = 'running' AND num_claims = ?",
            (self._now() + _micros(lease_s), request.job_id, request.attempt, claimed.num_claims),
        )
        return num_changed == 1

    def give_back(self, claimed: ClaimedAttempt, *, delay_s: float = 0.0) -> bool:
        """End the claim without an answer, as when the worker died; the attempt may be claimed again.

        The claim still counts towards the three, so that a file that kills workers does not do so for ever.
        """
        request = claimed.request
        num_changed = self._database.execute(
            "UPDATE engine_attempts SET due_at = ?"
            " WHERE job_id = ? AND attempt = ? AND state = 'running' AND num_claims = ?",
            (self._now() + _micros(delay_s), request.job_id, request.attempt, claimed.num_claims),
        )
        return num_changed == 1

    def end_claims(self) -> None:
        """Make every claimed attempt and answer due now: for a runner that knows it is alone and just started."""
        now = self._now()
        self._database.execute(
            "UPDATE engine_attempts SET due_at = ? WHERE state IN ('running', 'answered') AND due_at > ?", (now, now)
        )

    def answer(self, answer: EngineAnswer) -> bool:
        """Store how an attempt ended; False when it had an answer already, which stands."""
        num_changed = self._database.execute(
            "UPDATE engine_attempts SET state = 'answered', due_at = ?, answer = ?"
            " WHERE job_id = ? AND attempt = ? AND state IN ('queued', 'running')",
            (self._now(), wire.encode(answer).decode(), answer.job_id, answer.attempt),
        )
        return num_changed == 1

    def claim_answers(self, *, limit: int, lease_s: float) -> Sequence[EngineAnswer]:
        """Answers not yet taken in; those not marked ``heard`` within the lease come again."""
        if self._first_due(("answered", "running")) is None:
            return ()
        now = self._now()
        with self._database.write() as connection:
            self._answer_lost(connection, now)
            rows = connection.execute(
                "UPDATE engine_attempts SET due_at = ? WHERE (job_id, attempt) IN (SELECT job_id, attempt"
                " FROM engine_attempts WHERE state = 'answered' AND due_at <= ? ORDER BY due_at LIMIT ?)"
                " RETURNING answer",
                (now + _micros(lease_s), now, limit),
            ).fetchall()
        return tuple(wire.decode(EngineAnswer, row["answer"]) for row in rows)

    def not_heard(self, job_id: str, attempt: int, *, delay_s: float) -> None:
        """The answer could not be taken in; it comes again in ``delay_s``."""
        self._database.execute(
            "UPDATE engine_attempts SET due_at = ? WHERE job_id = ? AND attempt = ? AND state = 'answered'",
            (self._now() + _micros(delay_s), job_id, attempt),
        )

    def heard(self, job_id: str, attempt: int) -> None:
        """The answer was taken in; it does not come again."""
        now = self._now()
        with self._database.write() as connection:
            connection.execute(
                "UPDATE engine_attempts SET state = 'heard', due_at = ?, answer = NULL, request = ''"
                " WHERE job_id = ? AND attempt = ? AND state = 'answered'",
                (now, job_id, attempt),
            )
            connection.execute(
                "DELETE FROM engine_attempts WHERE state = 'heard' AND due_at < ?",
                (now - _micros(_KEEP_HEARD.total_seconds()),),
            )

    def _answer_lost(self, connection: sqlite3.Connection, now: int) -> None:
        """Answer in place of workers that went silent for the last time."""
        rows = connection.execute(
            "SELECT job_id, attempt, num_claims FROM engine_attempts"
            " WHERE state = 'running' AND due_at <= ? AND num_claims >= ?",
            (now, _MAX_CLAIMS),
        ).fetchall()
        for row in rows:
            failure = Failure(
                code="engine_lost",
                detail=f"The engine process ended {row['num_claims']} times without an answer.",
                retryable=True,
            )
            answer = EngineAnswer(
                job_id=row["job_id"], attempt=row["attempt"], state=AnswerState.FAILED, failure=failure
            )
            connection.execute(
                "UPDATE engine_attempts SET state = 'answered', due_at = ?, answer = ?"
                " WHERE job_id = ? AND attempt = ?",
                (now, wire.encode(answer).decode(), row["job_id"], row["attempt"]),
            )

    def _first_due(self, states: tuple[str, str], lane: Lane | None = None) -> sqlite3.Row | None:
        return self._database.one(
            "SELECT 1 FROM engine_attempts WHERE state IN (?, ?) AND due_at <= ? AND lane = coalesce(?, lane) LIMIT 1",
            (*states, self._now(), lane),
        )

    def _now(self) -> int:
        return to_micros(self._clock.now())


def _micros(seconds: float) -> int:
    return round(seconds * 1e6)
