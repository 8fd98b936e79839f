"""Random histories of a job store: nothing is claimed that may not be, nothing is left that must be claimed."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from services.adapters.aws.jobs import DynamoJobStore
from services.adapters.local.jobs import SqliteJobStore
from services.domain.engine import EngineKind
from services.domain.errors import Conflict, NotFound
from services.domain.ids import new_id
from services.domain.job import Job, JobState, JobStep
from services.ports.jobs import JobStore
from tests.fakes.clock import FakeClock
from tests.fakes.jobs import FakeJobStore

TENANTS = ("tenant_a", "tenant_b", "tenant_c")
STEPS = (JobStep.PREPARE, JobStep.DISPATCH, JobStep.NOTIFY)
LEASE_S = 30.0


@dataclass
class Row:
    job: Job
    due_at: datetime
    claimed: bool = False


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["fake", "sqlite", "dynamodb"])
def jobs(request: pytest.FixtureRequest, clock: FakeClock, tmp_path: Path) -> JobStore:
    match request.param:
        case "fake":
            return FakeJobStore(clock)
        case "sqlite":
            return SqliteJobStore(tmp_path / "jobs.sqlite", clock=clock)
        case _:
            aws = request.getfixturevalue("aws")
            prefix = aws.tables("jobs", "turns")
            return DynamoJobStore(aws.clients, table_prefix=prefix, clock=clock, retention_days=90)


class History:
    """Does something at random to the store, and to rows of its own, and compares."""

    def __init__(self, jobs: JobStore, clock: FakeClock, seed: int) -> None:
        self._jobs = jobs
        self._clock = clock
        self._random = random.Random(seed)
        self.rows: dict[str, Row] = {}
        self.num_claimed = 0

    def act(self) -> None:
        acts = [self.add, self.claim, self.claim, self.claim, self.save, self.save_stale, self.release, self.delete]
        self._random.choice(acts)()
        self._clock.advance(self._random.choice([0.0, 0.0, 0.5, 7.0, 31.0, 200.0]))

    def add(self) -> None:
        now = self._clock.now()
        job = Job(
            id=new_id("job"),
            tenant_id=self._random.choices(TENANTS, (6, 2, 1))[0],
            kind=EngineKind.NOOP,
            request={},
            created_at=now,
            updated_at=now,
            available_at=now + timedelta(seconds=self._random.choice([0, 0, 5])),
            step=self._random.choice(STEPS),
        )
        self._jobs.add(job)
        self.rows[job.id] = Row(job, job.available_at)

    def claim(self) -> None:
        step, limit = self._random.choice(STEPS), self._random.randint(1, 6)
        due_for_s = self._random.choice([0.0, 0.0, 100.0])
        rooms = {tenant_id: self._random.choice([0, 1, 9]) for tenant_id in TENANTS}
        room_of = self._random.choice([None, rooms.__getitem__])
        due: dict[str, list[Row]] = {tenant_id: [] for tenant_id in TENANTS}
        for row in sorted(self.rows.values(), key=lambda row: (row.due_at, row.job.id)):
            if row.job.step is step and row.due_at <= self._clock.now() - timedelta(seconds=due_for_s):
                due[row.job.tenant_id].append(row)
        claimed = self._jobs.claim(step, limit=limit, lease_s=LEASE_S, room_of=room_of, due_for_s=due_for_s)
        most = {name: min(len(rows), rooms[name] if room_of else limit) for name, rows in due.items()}
        counts = Counter(job.tenant_id for job in claimed)
        assert len(claimed) == min(limit, sum(most.values()))
        for tenant_id in TENANTS:
            assert counts[tenant_id] <= most[tenant_id]
            if counts[tenant_id] < most[tenant_id]:  # turn about: nobody else got two more
                assert max(counts.values(), default=0) <= counts[tenant_id] + 1
            expected = [row.job.id for row in due[tenant_id][: counts[tenant_id]]]
            assert [job.id for job in claimed if job.tenant_id == tenant_id] == expected
        for job in claimed:
            row = self.rows[job.id]
            row.job = replace(row.job, step_tries=row.job.step_tries + row.claimed)
            row.claimed, row.due_at = True, self._clock.now() + timedelta(seconds=LEASE_S)
            assert job == row.job
        self.num_claimed += len(claimed)

    def save(self) -> None:
        if not self.rows:
            return
        row = self._random.choice(list(self.rows.values()))
        step, state = self._random.choice(
            [(one, JobState.QUEUED) for one in STEPS]
            + [(JobStep.RUN, JobState.PROCESSING), (JobStep.NONE, JobState.SUCCEEDED)]
        )
        deadline_at = self._clock.now() + timedelta(seconds=100) if step is JobStep.RUN else None
        available_at = self._clock.now() + timedelta(seconds=self._random.choice([0, 3]))
        changed = replace(row.job, step=step, state=state, deadline_at=deadline_at, available_at=available_at)
        saved = self._jobs.save(changed)
        assert saved == replace(changed, version=row.job.version + 1)
        self.rows[saved.id] = Row(saved, saved.available_at)

    def save_stale(self) -> None:
        row = self._random.choice([None, *self.rows.values()])
        if row is not None and row.job.version > 0:
            with pytest.raises(Conflict):
                self._jobs.save(replace(row.job, version=row.job.version - 1))

    def release(self) -> None:
        row = self._random.choice([None, *self.rows.values()])
        if row is None:
            return
        self._jobs.release(row.job.id, delay_s=4.0)
        if row.claimed:
            row.job = replace(row.job, step_tries=row.job.step_tries + 1)
            row.claimed, row.due_at = False, self._clock.now() + timedelta(seconds=4.0)

    def delete(self) -> None:
        if len(self.rows) > 5:
            job_id = self._random.choice(list(self.rows))
            del self.rows[job_id]
            self._jobs.delete(job_id)
            with pytest.raises(NotFound):
                self._jobs.get(job_id)

    def compare(self) -> None:
        now = self._clock.now()
        expected = {job_id: row.job for job_id, row in self.rows.items()}
        assert self._jobs.get_many(list(self.rows)) == expected
        running = [job for job in expected.values() if job.step is JobStep.RUN]
        assert self._jobs.outstanding() == len(running)
        assert self._jobs.outstanding_by_tenant() == Counter(job.tenant_id for job in running)
        overdue = {job.id for job in running if job.deadline_at < now}
        assert {job.id for job in self._jobs.overdue(now, limit=1000)} == overdue
        for tenant_id in TENANTS:
            mine = sorted((job for job in expected.values() if job.tenant_id == tenant_id), key=lambda job: job.id)
            assert list(self._jobs.list(tenant_id, limit=200).items) == mine[::-1]
            num_open = sum(not job.state.is_final for job in mine)
            assert self._jobs.count_open(tenant_id, at_most=1000) == num_open


@pytest.mark.parametrize("seed", range(2))
def test_store_does_what_its_port_says(jobs, clock, seed):
    history = History(jobs, clock, seed)
    for _ in range(8):
        for _ in range(20):
            history.act()
        history.compare()
    assert history.num_claimed > 10
