"""Jobs through the functions as AWS would call them, on an endpoint that runs the real engine's no-op task."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lambdas import runtime
from models.serving.engine import InferenceEngine
from models.serving.events import NoEvents
from models.serving.tasks.noop import NoopTask
from services.adapters.aws.engine_sagemaker import SageMakerEngine
from services.adapters.aws.notices import SageMakerNotices
from services.domain import wire
from services.domain.engine import EngineKind, EngineRequest
from services.domain.errors import Unavailable
from services.domain.job import Job, JobState, JobStep
from tests.fakes.cloud import FakeCloud, Mishaps, StreamingJobStore
from tests.fakes.sagemaker import BUCKET, FakeSageMaker, Faults
from tests.fakes.world import CALLBACK_URL, OTHER_TENANT, TENANT, World

Build = Callable[..., tuple[World, FakeSageMaker, FakeCloud]]
_NONE = Faults()
_NO_MISHAPS = Mishaps()


@pytest.fixture
def build(tmp_path: Path) -> Iterator[Build]:
    """A world on the fake SageMaker, and the messages between its functions."""

    def made(
        seed: int = 1, *, faults: Faults = _NONE, mishaps: Mishaps = _NO_MISHAPS, num_instances: int = 2
    ) -> tuple[World, FakeSageMaker, FakeCloud]:
        world = World()
        container = InferenceEngine(
            store_for=lambda request: world.objects,
            events=NoEvents(),
            tasks={EngineKind.NOOP: NoopTask()},
            clock=world.clock,
            scratch_dir=tmp_path,
        )
        container.load()

        def invoke(body: bytes) -> bytes:
            container.admit()
            return wire.encode(container.run(wire.decode(EngineRequest, body)))

        chance = random.Random(seed)
        sagemaker = FakeSageMaker(
            world.objects, world.clock, invoke, chance, faults=faults, num_instances=num_instances
        )
        engine = SageMakerEngine(
            sagemaker,
            endpoint_name="stack-video",
            bucket=BUCKET,
            objects=world.objects,
            clock=world.clock,
            concurrency=1,
        )
        world.fit(
            jobs=StreamingJobStore(world.clock), engine=engine, notices=SageMakerNotices(sagemaker, bucket=BUCKET)
        )
        world.step_queue.is_used = True
        runtime.use_services(world.services)
        return world, sagemaker, FakeCloud(world, sagemaker, chance=chance, mishaps=mishaps)

    yield made
    runtime.use_services(None)


def run_to_the_end(world: World, cloud: FakeCloud, jobs: list[Job], *, step_s: float = 5.0, most: int = 40_000) -> None:
    for _ in range(most):
        cloud.step(step_s)
        if all(world.jobs.get(job.id).step is JobStep.NONE for job in jobs):
            return
    raise AssertionError("some jobs do not end")


def webhooks_of(world: World) -> dict[str, set[str]]:
    """Ids of the events that were posted, by job."""
    found: dict[str, set[str]] = {}
    for posted in world.sender.posted:
        found.setdefault(json.loads(posted.body)["data"]["id"], set()).add(posted.headers["webhook-id"])
    return found


def test_job_goes_from_request_to_webhook(build):
    world, sagemaker, cloud = build()
    job = world.submit(callback_url=CALLBACK_URL)
    run_to_the_end(world, cloud, [job], step_s=1.0, most=5)
    done = world.jobs.get(job.id)
    assert (done.state, done.attempt) == (JobState.SUCCEEDED, 1)
    [output] = done.result.outputs
    assert output.key == f"result/{TENANT}/{job.id}/1/result.json"
    assert world.bill() == [job.id]
    assert len(world.sender.posted) == 1
    assert list(sagemaker.outputs) == ["async/output-1.out"]


@pytest.mark.parametrize("fault", ["duplicated", "late"])
def test_duplicate_or_late_notice_is_one_result_one_webhook_and_one_charge(build, fault):
    world, _, cloud = build(faults=Faults(**{fault: 1.0}, longest_delay_s=3000.0))
    jobs = [world.submit(callback_url=CALLBACK_URL) for _ in range(5)]
    run_to_the_end(world, cloud, jobs)
    for _ in range(100):
        cloud.step(60.0)
    assert sorted(world.bill()) == sorted(job.id for job in jobs)
    assert [world.jobs.get(job.id).attempt for job in jobs] == [1] * 5
    assert len(world.sender.posted) == 5
    assert cloud.dead_letters.messages == []


def test_answer_that_could_not_be_stored_for_hours_is_replayed_and_charged_once(build, monkeypatch):
    world, _, cloud = build()
    world.settings = replace(world.settings, attempt_timeout_s=90_000.0)
    world.fit(settings=world.settings)
    runtime.use_services(world.services)
    job = world.submit(callback_url=CALLBACK_URL)
    record = world.usage.record

    def fail(*_: Any) -> None:
        raise Unavailable("No room.", code="store_unavailable")

    monkeypatch.setattr(world.usage, "record", fail)
    for _ in range(200):
        cloud.step(60.0)
    [letter] = cloud.dead_letters.list()
    assert (letter.queue, letter.item_id, letter.num_tries) == ("engine", job.id, 20)
    monkeypatch.setattr(world.usage, "record", record)
    assert cloud.dead_letters.replay() == 1
    run_to_the_end(world, cloud, [job], step_s=1.0, most=5)
    assert world.jobs.get(job.id).state is JobState.SUCCEEDED
    assert world.bill() == [job.id]


def test_notice_that_comes_after_the_deadline_changes_nothing(build):
    world, sagemaker, cloud = build(faults=Faults(late=1.0))
    sagemaker.random.uniform = lambda low, high: 5000.0  # over the attempt's hour
    job = world.submit(callback_url=CALLBACK_URL)
    run_to_the_end(world, cloud, [job], step_s=30.0)
    failed = world.jobs.get(job.id)
    assert (failed.state, failed.attempt, failed.failure.code) == (JobState.FAILED, 3, "attempt_timed_out")
    for _ in range(200):
        cloud.step(60.0)
    assert world.jobs.get(job.id) == failed
    assert world.bill() == []
    assert len(world.sender.posted) == 1


def test_lost_notice_is_made_good_by_another_attempt(build):
    world, sagemaker, cloud = build(faults=Faults(lost=1.0))
    job = world.submit()
    while world.jobs.get(job.id).attempt < 2:
        cloud.step(30.0)
        sagemaker.faults = replace(sagemaker.faults, lost=float(world.jobs.get(job.id).attempt < 2))
    run_to_the_end(world, cloud, [job])
    assert (world.jobs.get(job.id).state, world.jobs.get(job.id).attempt) == (JobState.SUCCEEDED, 2)
    assert world.bill() == [job.id]


def test_invocation_that_times_out_is_tried_again_and_then_fails_by_name(build):
    world, _, cloud = build(faults=Faults(timed_out=1.0))
    job = world.submit()
    run_to_the_end(world, cloud, [job])
    failed = world.jobs.get(job.id)
    assert (failed.state, failed.attempt, failed.failure.code) == (JobState.FAILED, 3, "engine_failed")


def test_attempt_may_run_for_as_long_as_its_deadline_allows(build):
    """The service's own default would end it after 15 minutes."""
    world, sagemaker, cloud = build()
    parameters: list[dict[str, Any]] = []
    take = sagemaker.invoke_endpoint_async
    sagemaker.invoke_endpoint_async = lambda **given: parameters.append(given) or take(**given)
    job = world.submit()
    cloud.step(1.0)
    [given] = parameters
    assert given["InvocationTimeoutSeconds"] == given["RequestTTLSeconds"] == 3600
    assert (world.jobs.get(job.id).deadline_at - world.clock.now()).total_seconds() == 3600


@pytest.mark.parametrize("seed", range(3))
def test_whatever_goes_wrong_each_job_ends_once_with_one_charge(build, seed):
    faults = Faults(refused=0.05, unheard=0.03, timed_out=0.04, vanished=0.03, lost=0.05, duplicated=0.1, late=0.1)
    world, sagemaker, cloud = build(
        seed, faults=faults, mishaps=Mishaps(lost=0.05, duplicated=0.1, killed=0.02), num_instances=4
    )
    world.sender.answers = [500, 200, 503, 200, 200] * 30
    tenants = [TENANT, TENANT, OTHER_TENANT]
    jobs = []
    for number in range(150):
        fault = {"fault": "raise", "faulty_attempts": number % 4} if number % 10 == 0 else {}
        jobs.append(world.submit(tenant_id=tenants[number % 3], callback_url=CALLBACK_URL, **fault))
        if number % 10 == 0:
            cloud.step(1.0)
    run_to_the_end(world, cloud, jobs, step_s=5.0)
    for _ in range(200):  # what is late comes now
        cloud.step(60.0)

    final = [world.jobs.get(job.id) for job in jobs]
    succeeded = [job.id for job in final if job.state is JobState.SUCCEEDED]
    assert {job.state for job in final} <= {JobState.SUCCEEDED, JobState.FAILED}
    assert all(world.jobs.ends[job.id] == 1 for job in jobs), "each ended once"
    assert sorted(world.bill(TENANT) + world.bill(OTHER_TENANT)) == sorted(succeeded), "one charge each"
    assert all(job.failure is not None and job.result is None for job in final if job.id not in succeeded)
    assert all(1 <= job.attempt <= world.settings.max_attempts for job in final)
    events = webhooks_of(world)
    assert set(events) == {job.id for job in jobs}, "each client was called"
    assert all(len(ids) == 1 for ids in events.values()), "one event a job, however often it is told"
    assert len(succeeded) > 100
    assert sagemaker.num_invocations > len(jobs), "something did go wrong"
