"""Job rows in DynamoDB: the item is the outbox, a claim is a lease on it, a conditional write decides every race.

Indexes are narrow and a moment behind; they say where to look, and the item, read or written by its id, decides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Final

from services.adapters.aws.clients import Clients
from services.adapters.aws.holdings import HeldJobs
from services.adapters.aws.items import Item
from services.adapters.aws.job_items import RUNNING, SERVED, due_id, item_of, job_of, partition, tenant_state
from services.adapters.aws.table import ConditionFailed, Table
from services.adapters.aws.turns import Turn, Turns
from services.adapters.cursors import last_id_of
from services.adapters.instants import to_micros
from services.domain.allowance import Allowance, Holdings
from services.domain.engine import EngineKind, Lane
from services.domain.errors import Conflict, NotFound, Unavailable
from services.domain.job import Job, JobState, JobStep
from services.ports.clock import Clock
from services.ports.jobs import Page

_MAX_PAGE: Final = 200
_LOOK: Final = 25  # candidates read at a time: other claimers may be quicker with some
_LAG: Final = timedelta(seconds=5)  # what an index is behind at most, on any ordinary day
_LAST: Final = "~"  # sorts after every id


class DynamoJobStore:
    """``services.ports.jobs.JobStore`` for any number of functions.

    Args:
        retention_days: A final job is deleted so long after its end.
    """

    def __init__(self, clients: Clients, *, table_prefix: str, clock: Clock, retention_days: int) -> None:
        self._table = Table(clients, f"{table_prefix}jobs")
        self._turns = Turns(clients, name=f"{table_prefix}turns", clock=clock)
        self._clock = clock
        self._retention = timedelta(days=retention_days)
        self._started: dict[str, datetime] = {}
        self._held = HeldJobs(clients, name=f"{table_prefix}jobs", item_of=self._item_of)

    def add(self, job: Job, *, allowance: Allowance | None = None) -> None:
        self._note_turn(job)
        try:
            if job.held_s is None:
                self._table.put(self._item_of(job), condition="attribute_not_exists(#id)")
            else:
                self._held.add(job, allowance)
        except ConditionFailed as failure:
            raise Conflict(f"There is a job {job.id} already.", code="job_exists") from failure

    def holdings(self, tenant_id: str) -> Holdings:
        return self._held.of(tenant_id)

    def forget_holdings(self, tenant_id: str) -> None:
        self._held.forget(tenant_id)

    def get(self, job_id: str) -> Job:
        item = self._table.get({"id": job_id})
        if item is None:
            raise _not_found(job_id)
        return job_of(item)

    def get_many(self, job_ids: Collection[str]) -> dict[str, Job]:
        items = self._table.get_all([{"id": job_id} for job_id in dict.fromkeys(job_ids)])
        return {item["id"]: job_of(item) for item in items}

    def save(self, job: Job) -> Job:
        saved = replace(job, version=job.version + 1)
        self._note_turn(saved)
        try:
            if saved.held_s is None:
                condition, values = "#version = :version", {"version": job.version}
                self._table.put(self._item_of(saved), condition=condition, values=values)
            else:
                self._held.save(saved)
        except ConditionFailed as failure:
            if failure.item is None:
                raise _not_found(job.id) from failure
            raise Conflict(f"Job {job.id} was changed by someone else.", code="stale_job", retryable=True) from failure
        if saved.step is JobStep.RUN:
            self._note_start(saved.id)
        return saved

    def delete(self, job_id: str) -> None:
        self._table.delete({"id": job_id})

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
        index, name, value = "by_tenant", "tenant_id", tenant_id
        if state is not None:
            index, name, value = "by_state", "tenant_state", tenant_state(tenant_id, state)
        ids: list[str] = []
        before = last_id_of(cursor, "job")
        while len(ids) <= limit:
            rows = self._table.query(
                f"#{name} = :value AND #id < :before",
                {"value": value, "before": before},
                index=index,
                limit=limit + 1,
                descending=True,
            )
            ids += [row["id"] for row in rows if kind is None or row["kind"] == kind]
            if len(rows) <= limit:
                break
            before = rows[-1]["id"]
        jobs = self.get_many(ids[:limit])
        items = [jobs[job_id] for job_id in ids[:limit] if job_id in jobs]
        return Page(
            items=tuple(job for job in items if state is None or job.state is state),
            cursor=ids[limit - 1] if len(ids) > limit else None,
        )

    def claim(
        self,
        step: JobStep,
        *,
        limit: int,
        lease_s: float,
        room_of: Callable[[str], int] | None = None,
        due_for_s: float = 0.0,
    ) -> Sequence[Job]:
        if limit < 1:
            return ()
        now = self._clock.now()
        due_by, until = now - timedelta(seconds=due_for_s), now + timedelta(seconds=lease_s)
        waiting = self._turns.waiting(step)
        number = max((turn.number for turn in waiting), default=0)
        queues: dict[str, Iterator[Job]] = {}
        claimed: list[Job] = []
        served: dict[str, int] = {}
        while waiting and len(claimed) < limit:
            still_waiting: list[Turn] = []
            for turn in waiting:
                if len(claimed) == limit:
                    break
                tenant_id = turn.tenant_id
                if tenant_id not in queues:
                    room = limit if room_of is None else max(0, room_of(tenant_id))
                    queues[tenant_id] = islice(self._claims(step, turn, due_by, until), room)
                try:
                    job = next(queues[tenant_id], None)
                except Unavailable:
                    if not claimed:
                        raise
                    return tuple(claimed)  # each is a lease by now; the rest is for the next claim
                if job is None:
                    continue
                number += 1
                claimed.append(job)
                served[tenant_id] = number
                still_waiting.append(turn)
            waiting = still_waiting
        with suppress(Unavailable):  # who is next is no reason to lose what was claimed
            for tenant_id, last in served.items():
                self._turns.serve(step, tenant_id, last)
        return tuple(claimed)

    def release(self, job_id: str, *, delay_s: float) -> None:
        due_at = self._clock.now() + timedelta(seconds=delay_s)
        self._update(
            job_id,
            "#due_id = :due_id, #step_tries = #step_tries + :one REMOVE #claimed",
            condition="#claimed = :one",  # a claim that a save has ended meanwhile needs no release
            due_id=due_id(due_at, job_id),
            one=1,
        )

    def overdue(self, now: datetime, *, limit: int) -> Sequence[Job]:
        condition = "#running = :running AND #deadline_at < :now"
        rows: list[dict[str, Any]] = []
        for running in RUNNING.values():
            values: Item = {"running": running, "now": to_micros(now)}
            if len(rows) < limit:
                rows += self._table.query(condition, values, index="by_run", limit=limit - len(rows))
        jobs = self.get_many([row["id"] for row in rows])
        found = (jobs[row["id"]] for row in rows if row["id"] in jobs)
        return tuple(job for job in found if job.step is JobStep.RUN and job.deadline_at and job.deadline_at < now)

    def finished_before(self, moment: datetime, *, limit: int) -> Sequence[Job]:
        return ()  # the table's TTL removes the rows, the bucket's lifecycle the objects

    def count_open(self, tenant_id: str, *, at_most: int) -> int:
        num_open = 0
        for state in JobState:
            if not state.is_final:
                value = {"value": tenant_state(tenant_id, state)}
                limit = at_most - num_open
                num_open += len(self._table.query("#tenant_state = :value", value, index="by_state", limit=limit))
        return num_open

    def count_waiting(self, step: JobStep, *, at_most: int) -> int:
        num_waiting = 0
        for turn in self._turns.waiting(step):
            if num_waiting >= at_most:
                break
            at = {"at": partition(step, turn.tenant_id)}
            num_waiting += self._table.count("#step_tenant = :at", at, index="by_step")
        return num_waiting

    def outstanding(self, *, tenant_id: str | None = None, lane: Lane | None = None) -> int:
        counts = self.outstanding_by_tenant(lane=lane)
        return sum(counts.values()) if tenant_id is None else counts.get(tenant_id, 0)

    def outstanding_by_tenant(self, *, lane: Lane | None = None) -> Mapping[str, int]:
        lanes = [name for one, name in RUNNING.items() if lane in (None, one)]
        rows = [row for name in lanes for row in self._table.query("#running = :lane", {"lane": name}, index="by_run")]
        since = self._clock.now() - _LAG
        recent = [job_id for job_id, at in tuple(self._started.items()) if at >= since]
        # The index may still show a job that just ended, whose bell is then rung for nothing, and not yet show what
        # this process just started.
        keys = [{"id": job_id} for job_id in dict.fromkeys([*(row["id"] for row in rows), *recent])]
        items = self._table.get_all(keys, attributes=("tenant_id", "running"))
        return Counter(item["tenant_id"] for item in items if item.get("running") in lanes)

    def _claims(self, step: JobStep, turn: Turn, due_by: datetime, until: datetime) -> Iterator[Job]:
        """The tenant's due jobs, each claimed as it is asked for."""
        at, due = partition(step, turn.tenant_id), due_id(due_by, _LAST)
        seen = ""
        while True:
            rows = self._table.query(
                "#step_tenant = :at AND #due_id > :seen", {"at": at, "seen": seen or " "}, index="by_step", limit=_LOOK
            )
            if not rows and not seen:
                self._turns.rest(step, turn)
            for row in rows:
                seen = row["due_id"]
                if seen > due:
                    return
                item = self._update(
                    row["id"],
                    # A claim that ran out is a failed try: its holder died or hangs.
                    "#due_id = :until, #step_tries = #step_tries + if_not_exists(#claimed, :zero), #claimed = :one",
                    condition="#due_id = :seen AND #step_tenant = :at",
                    at=at,
                    seen=seen,
                    until=due_id(until, row["id"]),
                    zero=0,
                    one=1,
                )
                if item is not None:
                    yield job_of(item)
            if len(rows) < _LOOK:
                return

    def _note_start(self, job_id: str) -> None:
        now = self._clock.now()
        self._started = {one: at for one, at in tuple(self._started.items()) if at >= now - _LAG} | {job_id: now}

    def _note_turn(self, job: Job) -> None:
        if job.step in SERVED:
            self._turns.note(job.step, job.tenant_id)

    def _item_of(self, job: Job) -> Item:
        return item_of(job, retention=self._retention)

    def _update(self, job_id: str, assignments: str, *, condition: str, **values: str | int) -> dict[str, Any] | None:
        """The item afterwards; None when the condition does not hold."""
        try:
            return self._table.update({"id": job_id}, assignments, condition=condition, values=values)
        except ConditionFailed:
            return None


def _not_found(job_id: str) -> NotFound:
    return NotFound(f"There is no job {job_id}.", code="job_not_found")
