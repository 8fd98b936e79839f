"""The container as a queue's worker: what becomes of a message."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import pytest

from models.serving.engine import EngineState
from models.serving.pool import WorkerPool
from models.serving.queue_worker import QueueWorker
from services.adapters.aws.work_queue import WorkMessage
from services.domain.engine import AnswerState, EngineAnswer, EngineRequest, Failure
from services.domain.errors import EngineFailed, Unavailable
from services.domain.wire import encode
from tests.models.serving.conftest import SystemClock
from tests.models.serving.test_pool import ScriptedWorker, a_request, answer_of
from tests.waiting import until


class MemoryQueue:
    """A queue's worker's view of SQS, and what it did there."""

    def __init__(self, *bodies: str, visibility_s: float = 60) -> None:
        self.visibility_s = visibility_s
        self.done: list[tuple[str, Any]] = []
        self._waiting = list(bodies)
        self._lock = threading.Lock()

    def receive(self, *, wait_s: int) -> WorkMessage | None:
        with self._lock:
            if self._waiting:
                return WorkMessage(id="m", body=self._waiting.pop(0), receipt=f"r{len(self._waiting)}")
        threading.Event().wait(min(wait_s, 0.02))
        return None

    def keep(self, message: WorkMessage) -> None:
        self.done.append(("keep", message.receipt))

    def give_back(self, message: WorkMessage, *, delay_s: int = 0) -> None:
        self.done.append(("give_back", delay_s))

    def finish(self, message: WorkMessage) -> None:
        self.done.append(("finish", message.receipt))


class Notices:
    def __init__(self, queue: MemoryQueue, *, num_failures: int = 0) -> None:
        self.answers: list[EngineAnswer] = []
        self.finished_before: list[bool] = []
        self._queue = queue
        self._num_failures = num_failures

    def answer(self, answer: EngineAnswer) -> None:
        if self._num_failures:
            self._num_failures -= 1
            raise Unavailable("down", code="queue_unavailable")
        self.finished_before.append(any(what == "finish" for what, _ in self._queue.done))
        self.answers.append(answer)


@pytest.fixture
def serve() -> Iterator[Callable[..., tuple[QueueWorker, WorkerPool]]]:
    running: list[tuple[QueueWorker, WorkerPool]] = []

    def start(queue: MemoryQueue, notices: Notices, worker: ScriptedWorker) -> tuple[QueueWorker, WorkerPool]:
        pool = WorkerPool([worker], scope=lambda *_: nullcontext(), clock=SystemClock())
        pool.load()
        until(lambda: pool.state is EngineState.READY)
        feeder = QueueWorker(queue, notices, pool, wait_s=1)
        running.append((feeder, pool))
        feeder.start()
        return feeder, pool

    yield start
    for feeder, pool in running:
        feeder.stop()
        pool.close()
        feeder.join(5)


def test_message_is_deleted_after_its_answer_was_sent(serve) -> None:
    request = a_request()
    queue = MemoryQueue(encode(request).decode())
    notices = Notices(queue)
    serve(queue, notices, ScriptedWorker())
    until(lambda: ("finish", "r0") in queue.done)
    assert [(answer.job_id, answer.state) for answer in notices.answers] == [(request.job_id, AnswerState.SUCCEEDED)]
    assert notices.finished_before == [False]


def test_message_stays_hidden_while_its_attempt_runs(serve) -> None:
    go = threading.Event()
    worker = ScriptedWorker()
    worker.run = lambda request: (go.wait(10), answer_of(request))[1]
    queue = MemoryQueue(encode(a_request()).decode(), visibility_s=0.15)
    serve(queue, Notices(queue), worker)
    until(lambda: queue.done.count(("keep", "r0")) >= 3)
    assert ("finish", "r0") not in queue.done
    go.set()
    until(lambda: ("finish", "r0") in queue.done)


@pytest.mark.parametrize("body", ["", "hello", '{"kind": "video"}'])
def test_what_is_no_request_is_put_back_and_the_next_one_runs(serve, body: str) -> None:
    request = a_request()
    queue = MemoryQueue(body, encode(request).decode())
    notices = Notices(queue)
    serve(queue, notices, ScriptedWorker())
    until(lambda: ("finish", "r0") in queue.done)
    assert queue.done[0] == ("give_back", 5)
    assert [answer.job_id for answer in notices.answers] == [request.job_id]


def test_attempt_that_kills_its_worker_is_answered_as_failed(serve) -> None:
    worker = ScriptedWorker()

    def die(request: EngineRequest) -> EngineAnswer:
        worker.is_alive = False
        worker.run = answer_of
        raise EngineFailed("died", code="engine_lost", retryable=True)

    worker.run = die
    queue = MemoryQueue(encode(a_request()).decode(), encode(a_request()).decode())
    notices = Notices(queue)
    serve(queue, notices, worker)
    until(lambda: len(notices.answers) == 2)
    assert [answer.state for answer in notices.answers] == [AnswerState.FAILED, AnswerState.SUCCEEDED]
    assert notices.answers[0].failure is not None
    assert notices.answers[0].failure.retryable


def test_answer_is_sent_again_when_the_queue_was_down(serve) -> None:
    queue = MemoryQueue(encode(a_request()).decode())
    notices = Notices(queue, num_failures=1)
    serve(queue, notices, ScriptedWorker())
    until(lambda: ("finish", "r0") in queue.done)
    assert len(notices.answers) == 1


@pytest.mark.parametrize("code", ["engine_stopping", "engine_lost"])
def test_attempt_that_a_stop_ended_is_given_back_at_once_and_not_answered(serve, code: str) -> None:
    running, go = threading.Event(), threading.Event()
    worker = ScriptedWorker()

    def run(request: EngineRequest) -> EngineAnswer:
        running.set()
        go.wait(10)
        failure = Failure(code=code, detail="stopped", retryable=True)
        return EngineAnswer(job_id=request.job_id, attempt=1, state=AnswerState.FAILED, failure=failure)

    worker.run = run
    queue = MemoryQueue(encode(a_request()).decode(), encode(a_request()).decode())
    notices = Notices(queue)
    feeder, pool = serve(queue, notices, worker)
    assert running.wait(10)
    feeder.stop()
    pool.stop()
    go.set()
    feeder.join(10)
    assert queue.done == [("give_back", 0)]
    assert notices.answers == []


def test_attempt_that_ends_within_the_grace_is_answered(serve) -> None:
    running, go = threading.Event(), threading.Event()
    worker = ScriptedWorker()
    worker.run = lambda request: (running.set(), go.wait(10), answer_of(request))[2]
    queue = MemoryQueue(encode(a_request()).decode())
    notices = Notices(queue)
    feeder, pool = serve(queue, notices, worker)
    assert running.wait(10)
    feeder.stop()
    pool.stop()
    go.set()
    feeder.join(10)
    assert queue.done == [("finish", "r0")]
    assert len(notices.answers) == 1


def test_attempt_that_outlives_the_grace_is_given_back_at_once(serve) -> None:
    running, go = threading.Event(), threading.Event()
    worker = ScriptedWorker()
    worker.run = lambda request: (running.set(), go.wait(10), answer_of(request))[2]
    queue = MemoryQueue(encode(a_request()).decode())
    feeder, pool = serve(queue, Notices(queue), worker)
    assert running.wait(10)
    feeder.stop()
    pool.stop()
    feeder.join(0.1)
    assert queue.done == [("give_back", 0)]
    go.set()
