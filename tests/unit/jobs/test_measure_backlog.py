"""What scaling follows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from services.domain.engine import EngineKind
from services.domain.errors import Unavailable
from services.domain.ids import new_id
from services.domain.job import Job, JobState, JobStep
from services.usecases.measure_backlog import measure_backlog
from tests.fakes.clock import FakeClock
from tests.fakes.engine import FakeEngine
from tests.fakes.jobs import FakeJobStore


@pytest.fixture
def jobs() -> FakeJobStore:
    """Three jobs wait for the engine, one of another tenant; two run; one is not there yet, one is done."""
    clock = FakeClock()
    store = FakeJobStore(clock)
    now = clock.now()
    job = Job(
        id="",
        tenant_id="tenant_a",
        kind=EngineKind.NOOP,
        request={},
        created_at=now,
        updated_at=now,
        available_at=now,
    )
    steps = [JobStep.DISPATCH] * 3 + [JobStep.RUN] * 2 + [JobStep.PREPARE]
    for number, step in enumerate(steps):
        state = JobState.PROCESSING if step is JobStep.RUN else JobState.QUEUED
        store.add(replace(job, id=new_id("job"), step=step, state=state, tenant_id="tenant_b" if not number else "a"))
    store.add(replace(job, id=new_id("job"), step=JobStep.NOTIFY, state=JobState.SUCCEEDED))
    return store


@pytest.mark.parametrize(("num_instances", "per_instance"), [(0, 5.0), (1, 5.0), (2, 2.5), (10, 0.5)])
def test_backlog_is_what_waits_and_runs_per_instance(jobs, num_instances, per_instance):
    backlog = measure_backlog(jobs=jobs, engine=FakeEngine(num_instances=num_instances))
    assert (backlog.num_waiting, backlog.num_running, backlog.num_jobs) == (3, 2, 5)
    assert backlog.per_instance == per_instance


def test_no_measure_is_made_up_when_the_engine_does_not_say(jobs):
    class Silent(FakeEngine):
        def capacity(self, kind):
            raise Unavailable("The endpoint cannot be asked.", code="engine_unavailable")

    with pytest.raises(Unavailable):
        measure_backlog(jobs=jobs, engine=Silent())
