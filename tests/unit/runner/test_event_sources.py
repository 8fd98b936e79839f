"""Functions are called as in the cloud, and what they report is honoured."""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response

from services.adapters.local.clock import SystemClock
from services.domain.engine import AnswerState, EngineAnswer, EngineEvent, EngineKind, EngineRequest
from services.domain.errors import Unavailable
from services.domain.ids import new_id
from services.domain.job import JobStep
from spokesmodel.bell import Bell, Bells, RingingEngine
from spokesmodel.event_sources import (
    EngineFeed,
    FunctionContext,
    Schedule,
    Share,
    Source,
    StepSource,
    invoke_with_records,
)
from tests.fakes.world import OTHER_TENANT, World
from tests.waiting import until


def context() -> FunctionContext:
    return FunctionContext(function_name="F", aws_request_id="r", timeout_s=30, started_at=time.monotonic())


def test_function_gets_an_sqs_event_that_powertools_reads() -> None:
    bodies: list[str] = []

    def function(event: Mapping[str, Any], _: Any) -> Any:
        def serve(record: Any) -> None:
            bodies.append(record.body)

        processor = BatchProcessor(event_type=EventType.SQS)
        return process_partial_response(dict(event), serve, processor)

    failed = invoke_with_records(function, context(), {"a": '{"job_id": "1"}', "b": '{"job_id": "2"}'})
    assert failed == frozenset()
    assert sorted(bodies) == ['{"job_id": "1"}', '{"job_id": "2"}']


def test_only_the_records_that_the_function_names_failed() -> None:
    answer = {"batchItemFailures": [{"itemIdentifier": "b"}]}
    assert invoke_with_records(lambda *_: answer, context(), {"a": "", "b": ""}) == {"b"}


@pytest.mark.parametrize("error", [RuntimeError("x"), Unavailable("x")])
def test_exception_fails_every_record(error: Exception) -> None:
    def function(*_: Any) -> None:
        raise error

    assert invoke_with_records(function, context(), {"a": "", "b": ""}) == {"a", "b"}


def test_function_without_an_answer_finished_everything() -> None:
    assert invoke_with_records(lambda *_: None, context(), {"a": ""}) == frozenset()


def test_context_counts_down() -> None:
    late = FunctionContext(function_name="F", aws_request_id="r", timeout_s=5, started_at=time.monotonic() - 60)
    assert late.get_remaining_time_in_millis() == 0
    assert 0 < context().get_remaining_time_in_millis() <= 30_000
    assert context().invoked_function_arn.endswith(":function:F")


def test_ring_between_look_and_wait_is_not_missed() -> None:
    bell = Bell()
    seen = bell.rings
    bell.ring()
    started = time.monotonic()
    bell.wait(seen, 30)
    assert time.monotonic() - started < 10


class Counting(Source):
    def __init__(self, bell: Bell, *, fail_first: bool = False) -> None:
        super().__init__("counting", bell, poll_s=60)
        self.num_looks = 0
        self._fail_first = fail_first

    def serve(self) -> bool:
        self.num_looks += 1
        if self._fail_first and self.num_looks == 1:
            raise RuntimeError("a store hiccup")
        return False


def test_bell_wakes_a_source_that_sleeps() -> None:
    bell = Bell()
    source = Counting(bell)
    source.start()
    until(lambda: source.num_looks == 1)
    bell.ring()
    until(lambda: source.num_looks == 2)
    source.tell_to_stop()
    bell.ring()
    source.join(5)


def test_source_survives_what_its_work_raises() -> None:
    bell = Bell()
    source = Counting(bell, fail_first=True)
    source.start()
    until(lambda: source.num_looks >= 2)
    source.tell_to_stop()
    bell.ring()
    source.join(5)


def test_schedule_calls_at_once_and_stops_at_once() -> None:
    called = threading.Event()
    schedule = Schedule("s", lambda *_: called.set(), context=context, every_s=3600)
    schedule.start()
    assert called.wait(5)
    schedule.tell_to_stop()
    schedule.join(5)
    assert not schedule.is_running


class Heard:
    """The function that hears the engine; ``refuse`` says how often it asks each record to come again."""

    def __init__(self, refuse: int = 0) -> None:
        self.notices: list[dict[str, Any]] = []
        self.num_refused = 0
        self._refuse = refuse

    def __call__(self, event: Mapping[str, Any], _: Any) -> Any:
        failed = []
        for record in event["Records"]:
            if self.num_refused < self._refuse:
                self.num_refused += 1
                failed.append({"itemIdentifier": record["messageId"]})
            else:
                self.notices.append(json.loads(record["body"]))
        return {"batchItemFailures": failed}


@pytest.fixture
def engine(tmp_path: Path) -> RingingEngine:
    return RingingEngine(tmp_path / "engine.sqlite", clock=SystemClock(), num_instances=1, bells=Bells())


def answered(engine: RingingEngine) -> EngineAnswer:
    request = EngineRequest(
        kind=EngineKind.NOOP,
        tenant_id=new_id("tenant"),
        job_id=new_id("job"),
        attempt=1,
        storyboard_key="work/x",
        deadline_at=SystemClock().now(),
    )
    engine.start(request)
    assert engine.claim(lease_s=30) is not None
    answer = EngineAnswer(job_id=request.job_id, attempt=1, state=AnswerState.SUCCEEDED)
    engine.answer(answer)
    return answer


def feed_of(engine: RingingEngine, function: Heard, *, lease_s: float = 30) -> EngineFeed:
    return EngineFeed(function, context=context, engine=engine, batch_size=10, lease_s=lease_s, bell=Bell())


def test_answers_and_events_reach_the_function_once(engine: RingingEngine) -> None:
    answer, function = answered(engine), Heard()
    feed = feed_of(engine, function)
    feed.hear(EngineEvent(job_id=answer.job_id, attempt=1, sequence=0, stage="render", fraction=0.5))
    assert feed.serve()
    assert [notice["type"] for notice in function.notices] == ["answer", "event"]
    assert function.notices[0]["answer"]["job_id"] == answer.job_id
    assert function.notices[1]["event"]["fraction"] == 0.5
    assert not feed.serve()


def test_answer_that_came_too_early_is_brought_again_soon(engine: RingingEngine) -> None:
    answered(engine)
    function = Heard(refuse=2)
    assert feed_of(engine, function).serve()
    assert len(function.notices) == 1
    assert engine.claim_answers(limit=1, lease_s=0) == ()


def test_answer_that_nobody_takes_stays(engine: RingingEngine) -> None:
    answer, function = answered(engine), Heard(refuse=10_000)
    feed_of(engine, function, lease_s=0).serve()
    assert engine.claim_answers(limit=1, lease_s=0) == (answer,)


def test_flood_of_events_is_cut(engine: RingingEngine) -> None:
    function = Heard()
    feed = feed_of(engine, function)
    for sequence in range(5000):
        feed.hear(EngineEvent(job_id="job_1", attempt=1, sequence=sequence, stage="render", fraction=0.5))
    while feed.serve():
        pass
    assert len(function.notices) == 1000


def test_hosts_of_one_tenant_that_keep_waiting_leave_a_thread_to_the_others() -> None:
    world = World()
    slow = [world.submit().id for _ in range(6)]
    served: queue.Queue[str] = queue.Queue()
    let_go = threading.Event()

    def function(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        for record in event["Records"]:
            job_id = json.loads(record["body"])["job_id"]
            served.put(job_id)
            if job_id in slow:
                let_go.wait(30)  # as a host does that accepts and says nothing
            world.jobs.save(replace(world.jobs.get(job_id), step=JobStep.NONE))
        return {"batchItemFailures": []}

    share = Share(3)
    sources = [
        StepSource(
            JobStep.PREPARE,
            function,
            context=context,
            services=world.services,
            batch_size=1,
            lease_s=60,
            bell=Bell(),
            share=share,
        )
        for _ in range(3)
    ]
    for source in sources:
        source.start()
    try:
        assert {served.get(timeout=20), served.get(timeout=20)} < set(slow)
        quick = world.submit(tenant_id=OTHER_TENANT).id  # comes when every thread had the time to take a slow one
        assert served.get(timeout=20) == quick
    finally:
        let_go.set()
        for source in sources:
            source.tell_to_stop()
        for source in sources:
            source.join(20)
