"""Job rows in a dict."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from services.adapters.cursors import last_id_of, page_of
from services.domain.allowance import Allowance, Holdings
from services.domain.engine import EngineKind, Lane
from services.domain.errors import Conflict, NotFound
from services.domain.job import Job, JobState, JobStep
from services.ports.clock import Clock
from services.ports.jobs import Page


@dataclass
class _Row:
    job: Job
    due_at: datetime
    claimed: bool = False


class FakeJobStore:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._rows: dict[str, _Row] = {}
        self._turns: dict[tuple[JobStep, str], int] = {}
        self._holdings: dict[str, Holdings] = {}
        self._lock = threading.Lock()

    def add(self, job: Job, *, allowance: Allowance | None = None) -> None:
        with self._lock:
            if job.id in self._rows:
                raise Conflict(f"There is a job {job.id} already.", code="job_exists")
            if allowance is not None and job.held_s is not None:
                allowance.check(self.holdings(job.tenant_id), job.held_s)
            self._hold(None, job)
            self._rows[job.id] = _Row(job, job.available_at)

    def holdings(self, tenant_id: str) -> Holdings:
        return self._holdings.get(tenant_id, Holdings())

    def forget_holdings(self, tenant_id: str) -> None:
        self._holdings.pop(tenant_id, None)

    def _hold(self, before: Job | None, job: Job) -> None:
        if job.held_s is not None:
            self._holdings[job.tenant_id] = self.holdings(job.tenant_id).after(before, job)

    def get(self, job_id: str) -> Job:
        try:
            return self._rows[job_id].job
        except KeyError as error:
            raise NotFound(f"There is no job {job_id}.", code="job_not_found") from error

    def get_many(self, job_ids: Collection[str]) -> dict[str, Job]:
        return {job_id: self._rows[job_id].job for job_id in job_ids if job_id in self._rows}

    def save(self, job: Job) -> Job:
        with self._lock:
            before = self.get(job.id)
            if before.version != job.version:
                raise Conflict(f"Job {job.id} was changed by someone else.", code="stale_job", retryable=True)
            saved = replace(job, version=job.version + 1)
            self._hold(before, saved)
            self._rows[job.id] = _Row(saved, saved.available_at)
            return saved

    def delete(self, job_id: str) -> None:
        self._rows.pop(job_id, None)

    def list(
        self,
        tenant_id: str,
        *,
        state: JobState | None = None,
        kind: EngineKind | None = None,
        cursor: str | None = None,
        limit: int = 50,
    ) -> Page[Job]:
        jobs = sorted((row.job for row in self._rows.values()), key=lambda job: job.id, reverse=True)
        before = last_id_of(cursor, "job")
        found = [
            job
            for job in jobs
            if job.tenant_id == tenant_id
            and (state is None or job.state == state)
            and (kind is None or job.kind == kind)
            and job.id < before
        ]
        return page_of(found, limit)

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
        due_by = now - timedelta(seconds=due_for_s)
        claimed: list[Job] = []
        rooms: dict[str, int] = {}

        def has_room(tenant_id: str) -> bool:
            if tenant_id not in rooms:
                rooms[tenant_id] = limit if room_of is None else room_of(tenant_id)
            return rooms[tenant_id] > 0

        while len(claimed) < limit:
            due = [
                row
                for row in self._rows.values()
                if row.job.step == step and row.due_at <= due_by and has_room(row.job.tenant_id)
            ]
            if not due:
                break
            row = min(due, key=lambda row: (self._turns.get((step, row.job.tenant_id), 0), row.due_at, row.job.id))
            self._turns[step, row.job.tenant_id] = max(self._turns.values(), default=0) + 1
            if row.claimed:
                row.job = replace(row.job, step_tries=row.job.step_tries + 1)
            row.claimed, row.due_at = True, now + timedelta(seconds=lease_s)
            rooms[row.job.tenant_id] -= 1
            claimed.append(row.job)
        return claimed

    def release(self, job_id: str, *, delay_s: float) -> None:
        row = self._rows.get(job_id)
        if row is not None and row.claimed:
            row.job = replace(row.job, step_tries=row.job.step_tries + 1)
            row.claimed, row.due_at = False, self._clock.now() + timedelta(seconds=delay_s)

    def overdue(self, now: datetime, *, limit: int) -> Sequence[Job]:
        running = [row.job for row in self._rows.values() if row.job.step is JobStep.RUN]
        return [job for job in running if job.deadline_at is not None and job.deadline_at < now][:limit]

    def finished_before(self, moment: datetime, *, limit: int) -> Sequence[Job]:
        ended = [row.job for row in self._rows.values() if row.job.finished_at and row.job.finished_at < moment]
        return sorted(ended, key=lambda job: job.finished_at or moment)[:limit]

    def count_open(self, tenant_id: str, *, at_most: int) -> int:
        jobs = (row.job for row in self._rows.values())
        return min(at_most, sum(job.tenant_id == tenant_id and not job.state.is_final for job in jobs))

    def count_waiting(self, step: JobStep, *, at_most: int) -> int:
        return min(at_most, sum(row.job.step is step for row in self._rows.values()))

    def outstanding(self, *, tenant_id: str | None = None, lane: Lane | None = None) -> int:
        counts = self.outstanding_by_tenant(lane=lane)
        return sum(counts.values()) if tenant_id is None else counts.get(tenant_id, 0)

    def outstanding_by_tenant(self, *, lane: Lane | None = None) -> Mapping[str, int]:
        running = [row.job for row in self._rows.values() if row.job.step is JobStep.RUN]
        return Counter(job.tenant_id for job in running if lane in (None, job.kind.lane))
