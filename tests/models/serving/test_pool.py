"""The container's workers: reserved, run, found dead, started again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest

from models.serving.engine import EngineState
from models.serving.pool import WorkerPool
from models.serving.worker import WorkerNotReached, WorkerState
from services.domain.engine import AnswerState, EngineAnswer, EngineKind, EngineRequest
from services.domain.errors import EngineFailed, Unavailable
from services.domain.ids import new_id
from tests.models.serving.conftest import SystemClock
from tests.waiting import until


class ScriptedWorker:
    """A worker that does what it is told."""

    def __init__(self, name: str = "worker-0", *, state: WorkerState = WorkerState.READY) -> None:
        self.name = name
        self.problem: Unavailable | None = None
        self.next_state = state
        self.is_alive = False
        self.num_starts = 0
        self.run: Callable[[EngineRequest], EngineAnswer] = answer_of
        self.ended: list[str] = []
        self.timeouts: list[float] = []

    def state(self) -> WorkerState:
        if not self.is_alive:
            self.num_starts += 1
            self.is_alive = True
            return WorkerState.LOADING
        return self.next_state

    def invoke(self, request: EngineRequest, *, timeout_s: float, silence_s: float = 30.0) -> EngineAnswer:
        self.timeouts.append(timeout_s)
        return self.run(request)

    def terminate(self) -> None:
        self.ended.append("terminate")

    def close(self) -> None:
        self.ended.append("close")
        self.is_alive = False


def answer_of(request: EngineRequest) -> EngineAnswer:
    return EngineAnswer(job_id=request.job_id, attempt=request.attempt, state=AnswerState.SUCCEEDED)


def a_request() -> EngineRequest:
    return EngineRequest(
        kind=EngineKind.NOOP,
        tenant_id=new_id("tenant"),
        job_id=new_id("job"),
        attempt=1,
        storyboard_key="work/t/j/0/storyboard.json",
        deadline_at=datetime.now(UTC) + timedelta(minutes=5),
    )


class Scope:
    def __init__(self) -> None:
        self.open: list[tuple[str, str]] = []
        self.seen: list[tuple[str, str]] = []

    @contextmanager
    def __call__(self, worker: str, request: EngineRequest) -> Iterator[None]:
        pair = (worker, request.job_id)
        self.open.append(pair)
        self.seen.append(pair)
        try:
            yield
        finally:
            self.open.remove(pair)


@pytest.fixture
def started() -> Iterator[Callable[..., WorkerPool]]:
    pools: list[WorkerPool] = []

    def make(*workers: ScriptedWorker, scope: Scope | None = None, wait: EngineState | None = EngineState.READY):
        pool = WorkerPool(workers, scope=scope or Scope(), clock=SystemClock())
        pools.append(pool)
        pool.load()
        if wait is not None:
            until(lambda: pool.state is wait)
        return pool

    yield make
    for pool in pools:
        pool.close()


def test_nothing_is_admitted_before_a_worker_is_loaded(started) -> None:
    pool = started(ScriptedWorker(state=WorkerState.LOADING), wait=None)
    assert pool.state is EngineState.LOADING
    with pytest.raises(Unavailable) as caught:
        pool.admit()
    assert caught.value.code == "engine_loading"


def test_unusable_workers_say_why(started) -> None:
    worker = ScriptedWorker(state=WorkerState.UNUSABLE)
    worker.problem = Unavailable("No weights.", code="weights_missing", retryable=False)
    pool = started(worker, wait=EngineState.UNUSABLE)
    with pytest.raises(Unavailable) as caught:
        pool.admit()
    assert caught.value.code == "weights_missing"


def test_as_many_attempts_as_workers_and_no_more(started) -> None:
    go = threading.Event()
    workers = [ScriptedWorker("worker-0"), ScriptedWorker("worker-1")]
    for worker in workers:
        worker.run = lambda request: (go.wait(10), answer_of(request))[1]
    scope = Scope()
    pool = started(*workers, scope=scope)
    until(lambda: all(worker.is_alive for worker in workers))
    answers: list[EngineAnswer] = []
    threads = []
    for _ in workers:
        until(lambda: admitted(pool))
        threads.append(threading.Thread(target=lambda: answers.append(pool.run(a_request()))))
        threads[-1].start()
    until(lambda: len(scope.open) == 2)
    assert {name for name, _ in scope.open} == {"worker-0", "worker-1"}
    with pytest.raises(Unavailable) as caught:
        pool.admit()
    assert caught.value.code == "engine_busy"
    assert pool.state is EngineState.READY
    go.set()
    for thread in threads:
        thread.join(10)
    assert [answer.state for answer in answers] == [AnswerState.SUCCEEDED] * 2
    assert scope.open == []


def admitted(pool: WorkerPool) -> bool:
    try:
        pool.admit()
    except Unavailable:
        return False
    return True


def test_dismissed_admission_frees_the_worker(started) -> None:
    pool = started(ScriptedWorker())
    pool.admit()
    pool.dismiss()
    pool.admit()
    assert pool.run(a_request()).state is AnswerState.SUCCEEDED


def test_worker_lost_in_an_attempt_fails_it_alone_and_is_started_again(started) -> None:
    worker = ScriptedWorker()

    def die(request: EngineRequest) -> EngineAnswer:
        worker.is_alive = False
        raise EngineFailed("died", code="engine_lost", retryable=True)

    worker.run = die
    pool = started(worker)
    pool.admit()
    failure = pool.run(a_request()).failure
    assert failure is not None
    assert (failure.code, failure.retryable) == ("engine_lost", True)
    worker.run = answer_of
    until(lambda: admitted(pool))
    assert pool.run(a_request()).state is AnswerState.SUCCEEDED
    assert worker.num_starts == 2


def test_worker_found_dead_at_its_turn_is_restarted_and_runs_the_attempt(started) -> None:
    worker = ScriptedWorker()
    tries: list[str] = []

    def first_not_there(request: EngineRequest) -> EngineAnswer:
        tries.append(request.job_id)
        if len(tries) == 1:
            worker.is_alive = False
            raise WorkerNotReached
        return answer_of(request)

    worker.run = first_not_there
    pool = started(worker)
    pool.admit()
    assert pool.run(a_request()).state is AnswerState.SUCCEEDED
    assert len(tries) == 2
    assert worker.num_starts == 2


def test_attempt_may_take_no_longer_than_its_deadline_and_a_little(started) -> None:
    worker = ScriptedWorker()
    pool = started(worker)
    pool.admit()
    pool.run(a_request())
    assert 300 < worker.timeouts[0] + 1 < 310


def test_worker_that_cannot_be_started_is_tried_again(started) -> None:
    worker = ScriptedWorker()
    state, failures = worker.state, [OSError("no process can be made")] * 3

    def sometimes() -> WorkerState:
        if failures:
            raise failures.pop()
        return state()

    worker.state = sometimes
    pool = started(worker)
    pool.admit()
    assert pool.run(a_request()).state is AnswerState.SUCCEEDED


def test_stop_tells_the_workers_and_admits_nothing(started) -> None:
    worker = ScriptedWorker()
    pool = started(worker)
    pool.stop()
    assert worker.ended == ["terminate"]
    assert pool.state is EngineState.STOPPING
    with pytest.raises(Unavailable) as caught:
        pool.admit()
    assert caught.value.code == "engine_stopping"
