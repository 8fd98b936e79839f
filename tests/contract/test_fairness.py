"""Ten thousand waiting jobs of one tenant delay another's single job by a few jobs at most, on every job store."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from lambdas import dispatch, runtime
from services.adapters.aws.jobs import DynamoJobStore
from services.adapters.local.jobs import SqliteJobStore
from services.domain.engine import EngineKind
from services.domain.ids import new_id
from services.domain.job import Job, JobStep
from tests.fakes.world import OTHER_TENANT, TENANT, World

NUM_WAITING = {"fake": 10_000, "sqlite": 10_000, "dynamodb": 1_000}
RING = {"messageId": "m", "receiptHandle": "r", "body": json.dumps({"ring": "dispatch"}), "eventSource": "aws:sqs"}
RING |= {"attributes": {"ApproximateReceiveCount": "1"}, "eventSourceARN": "arn:aws:sqs:us-east-1:0:dispatch"}


@pytest.fixture(params=NUM_WAITING)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    made = World()
    match request.param:
        case "sqlite":
            made.fit(jobs=SqliteJobStore(tmp_path / "jobs.sqlite", clock=made.clock))
        case "dynamodb":
            aws = request.getfixturevalue("aws")
            prefix = aws.tables("jobs", "turns")
            made.fit(jobs=DynamoJobStore(aws.clients, table_prefix=prefix, clock=made.clock, retention_days=90))
    made.step_queue.is_used = True
    made.engine.num_instances = 2
    runtime.use_services(made.services)
    yield made
    runtime.use_services(None)


def add_prepared(world: World, tenant_id: str) -> Job:
    now = world.clock.now()
    job = Job(
        id=new_id("job"),
        tenant_id=tenant_id,
        kind=EngineKind.NOOP,
        request={},
        created_at=now,
        updated_at=now,
        available_at=now,
        step=JobStep.DISPATCH,
        storyboard_key=f"work/{tenant_id}/job/0/storyboard.json",
    )
    world.jobs.add(job)
    return job


def ring(world: World) -> None:
    assert dispatch.lambda_handler({"Records": [RING]}, None) == {"batchItemFailures": []}


def end_oldest(world: World, running: list[str]) -> None:
    job = world.jobs.get(running.pop(0))
    assert world.complete(world.answer(job)).state.is_final


def test_single_job_waits_for_a_few_of_the_other_tenants_ten_thousand(world, request):
    for _ in range(NUM_WAITING[request.node.callspec.params["world"]]):
        add_prepared(world, TENANT)
    ring(world)
    num_started = len(world.engine.started)
    assert num_started == 4, "the engine is full"
    running = [request.job_id for request in world.engine.started]
    for _ in range(5):
        end_oldest(world, running)
        ring(world)
        running += [request.job_id for request in world.engine.started[num_started:]]
        num_started = len(world.engine.started)
    single = add_prepared(world, OTHER_TENANT)
    ring(world)  # its own bell finds no room
    assert len(world.engine.started) == num_started
    num_before = 0
    while world.jobs.get(single.id).step is JobStep.DISPATCH:
        end_oldest(world, running)
        ring(world)
        started = world.engine.started[num_started:]
        num_started = len(world.engine.started)
        running += [request.job_id for request in started]
        num_before += sum(request.tenant_id == TENANT for request in started)
        assert num_before < 10
    assert num_before <= 1
