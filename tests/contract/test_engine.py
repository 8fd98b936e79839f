"""What every engine port does towards services; then the worker's side of the local queue."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from services.adapters.aws.engine_lanes import LaneEngines
from services.adapters.aws.engine_queue import QueueEngine
from services.adapters.aws.engine_sagemaker import SageMakerEngine
from services.adapters.local.engine import SqliteEngine
from services.domain.engine import AnswerState, EngineAnswer, EngineKind, EngineRequest, Lane
from services.domain.errors import Unavailable
from services.ports.engine import Engine
from tests.fakes.clock import FakeClock
from tests.fakes.engine import FakeEngine
from tests.fakes.objects import FakeObjectStore
from tests.fakes.sagemaker import BUCKET, FakeSageMaker, Faults


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def queue(clock: FakeClock, tmp_path: Path) -> SqliteEngine:
    return SqliteEngine(tmp_path / "engine.sqlite", clock=clock, num_instances=3)


@pytest.fixture
def request_1(clock: FakeClock) -> EngineRequest:
    return EngineRequest(
        kind=EngineKind.NOOP,
        tenant_id="tenant_a",
        job_id="job_1",
        attempt=1,
        storyboard_key="work/tenant_a/job_1/0/storyboard.json",
        deadline_at=clock.now() + timedelta(hours=1),
    )


def answer_to(request: EngineRequest, state: AnswerState = AnswerState.SUCCEEDED) -> EngineAnswer:
    return EngineAnswer(job_id=request.job_id, attempt=request.attempt, state=state, facts={"n": 1})


@pytest.fixture(params=["fake", "sqlite", "work queue", "sagemaker", "lanes"])
def engine(request: pytest.FixtureRequest, clock: FakeClock) -> Engine:
    """One that runs three attempts at once."""
    match request.param:
        case "fake":
            return FakeEngine(num_instances=3)
        case "sqlite":
            return request.getfixturevalue("queue")
        case "work queue":
            aws = request.getfixturevalue("aws")
            return QueueEngine(aws.clients, queue_url=aws.queue("work"), num_instances=3, concurrency=1)
        case "lanes":
            return LaneEngines({lane: FakeEngine(num_instances=3) for lane in Lane})
        case _:
            objects = FakeObjectStore()
            sagemaker = FakeSageMaker(objects, clock, bytes, random.Random(1), num_instances=3)
            return SageMakerEngine(
                sagemaker, endpoint_name="video", bucket=BUCKET, objects=objects, clock=clock, concurrency=1
            )


@pytest.mark.parametrize("kind", EngineKind)
def test_admission_is_twice_what_runs_at_once(engine, kind):
    assert engine.capacity(kind).max_outstanding == 6


def test_attempt_may_be_started_twice(engine, request_1):
    engine.start(request_1)
    engine.start(request_1)


@pytest.mark.parametrize("make", ["fake", "work queue", "sagemaker"])
def test_engine_that_is_not_reached_says_so_by_the_same_name(make, clock, request_1, request):
    match make:
        case "fake":
            engine = FakeEngine()
            engine.is_reachable = False
        case "work queue":
            aws = request.getfixturevalue("aws")
            url = f"{aws.endpoint_url}/000000000000/none"
            engine = QueueEngine(aws.clients, queue_url=url, num_instances=1, concurrency=1)
        case _:
            objects = FakeObjectStore()
            sagemaker = FakeSageMaker(objects, clock, bytes, random.Random(1), faults=Faults(refused=1.0))
            engine = SageMakerEngine(
                sagemaker, endpoint_name="video", bucket=BUCKET, objects=objects, clock=clock, concurrency=1
            )
    with pytest.raises(Unavailable) as raised:
        engine.start(request_1)
    assert raised.value.code == "engine_unavailable"


def test_admission_wakes_an_engine_that_is_scaled_to_zero():
    assert FakeEngine(num_instances=0).capacity(EngineKind.VIDEO).max_outstanding == 1


def test_started_attempt_is_claimed_once(queue, request_1):
    queue.start(request_1)
    claimed = queue.claim(lease_s=30)
    assert claimed.request == request_1
    assert queue.claim(lease_s=30) is None


def test_attempt_started_twice_runs_once(queue, request_1):
    queue.start(request_1)
    queue.start(request_1)
    queue.claim(lease_s=30)
    assert queue.claim(lease_s=30) is None


def test_attempt_started_again_after_its_answer_stays_answered(queue, request_1):
    queue.start(request_1)
    queue.claim(lease_s=30)
    queue.answer(answer_to(request_1))
    queue.claim_answers(limit=1, lease_s=30)
    queue.heard("job_1", 1)
    queue.start(request_1)
    assert queue.claim(lease_s=30) is None
    assert not queue.claim_answers(limit=1, lease_s=30)


def test_attempts_are_claimed_first_come_first_served(queue, request_1, clock):
    for job_id in ("job_9", "job_1", "job_5"):
        queue.start(replace(request_1, job_id=job_id))
        clock.advance(1)
    assert [queue.claim(lease_s=30).request.job_id for _ in range(3)] == ["job_9", "job_1", "job_5"]


def test_worker_of_a_lane_takes_nothing_of_the_other(queue, request_1):
    video, wig = (
        replace(request_1, kind=EngineKind.VIDEO),
        replace(request_1, job_id="job_2", kind=EngineKind.WIG_PREVIEW),
    )
    for request in (video, wig):
        queue.start(request)
    assert queue.claim(lease_s=30, lane=Lane.INTERACTIVE).request == wig
    assert queue.claim(lease_s=30, lane=Lane.INTERACTIVE) is None
    assert queue.claim(lease_s=30, lane=Lane.LONG).request == video


def test_work_goes_to_its_lanes_engine(request_1):
    engines = {Lane.LONG: FakeEngine(num_instances=3), Lane.INTERACTIVE: FakeEngine(num_instances=1)}
    both = LaneEngines(engines)
    wig = replace(request_1, kind=EngineKind.WIG_PREVIEW)
    both.start(request_1)
    both.start(wig)
    assert [engine.started for engine in engines.values()] == [[request_1], [wig]]
    assert (both.capacity(EngineKind.VIDEO).max_outstanding, both.capacity(EngineKind.IMAGE).max_outstanding) == (6, 2)


def test_lanes_have_workers_of_their_own(clock, tmp_path):
    queue = SqliteEngine(tmp_path / "e.sqlite", clock=clock, num_instances=3, num_interactive_instances=2)
    assert queue.capacity(EngineKind.VIDEO).num_instances == 3
    assert queue.capacity(EngineKind.PRODUCT).num_instances == 2


def test_heartbeat_keeps_an_attempt(queue, request_1, clock):
    queue.start(request_1)
    claimed = queue.claim(lease_s=30)
    clock.advance(20)
    assert queue.heartbeat(claimed, lease_s=30)
    clock.advance(20)
    assert queue.claim(lease_s=30) is None


def test_silent_worker_loses_its_attempt_to_the_next(queue, request_1, clock):
    queue.start(request_1)
    silent = queue.claim(lease_s=30)
    clock.advance(31)
    assert queue.claim(lease_s=30).request == request_1
    assert not queue.heartbeat(silent, lease_s=30)
    assert not queue.give_back(silent)


def test_given_back_attempt_is_claimed_again(queue, request_1):
    queue.start(request_1)
    assert queue.give_back(queue.claim(lease_s=30))
    assert queue.claim(lease_s=30).num_claims == 2


def test_attempt_that_kills_three_workers_is_answered_engine_lost(queue, request_1, clock):
    queue.start(request_1)
    for _ in range(3):
        assert queue.claim(lease_s=30) is not None
        clock.advance(31)
    assert queue.claim(lease_s=30) is None
    [answer] = queue.claim_answers(limit=5, lease_s=30)
    assert answer.state is AnswerState.FAILED
    assert (answer.failure.code, answer.failure.retryable) == ("engine_lost", True)


def test_lost_attempt_is_answered_when_no_worker_claims_any_more(queue, request_1, clock):
    queue.start(request_1)
    for _ in range(3):
        queue.claim(lease_s=30)
        clock.advance(31)
    [answer] = queue.claim_answers(limit=5, lease_s=30)
    assert answer.failure.code == "engine_lost"


def test_first_answer_stands(queue, request_1):
    queue.start(request_1)
    queue.claim(lease_s=30)
    assert queue.answer(answer_to(request_1))
    assert not queue.answer(answer_to(request_1, AnswerState.FAILED))
    assert list(queue.claim_answers(limit=5, lease_s=30)) == [answer_to(request_1)]


def test_answer_comes_again_until_it_is_heard(queue, request_1, clock):
    queue.start(request_1)
    queue.claim(lease_s=30)
    queue.answer(answer_to(request_1))
    assert queue.claim_answers(limit=5, lease_s=30)
    assert not queue.claim_answers(limit=5, lease_s=30)
    queue.not_heard("job_1", 1, delay_s=2)
    clock.advance(2)
    assert queue.claim_answers(limit=5, lease_s=30)
    clock.advance(31)
    assert queue.claim_answers(limit=5, lease_s=30)
    queue.heard("job_1", 1)
    clock.advance(3600)
    assert not queue.claim_answers(limit=5, lease_s=30)


def test_attempts_survive_a_new_process(queue, request_1, clock, tmp_path):
    queue.start(request_1)
    again = SqliteEngine(tmp_path / "engine.sqlite", clock=clock, num_instances=1)
    assert again.claim(lease_s=30).request == request_1
