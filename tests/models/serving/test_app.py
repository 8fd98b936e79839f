"""The container's HTTP face and what an attempt can do to it."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from starlette.testclient import TestClient

from models.serving.app import create_app
from models.serving.context import TaskContext, TaskResult
from models.serving.engine import EngineState, InferenceEngine
from models.serving.tasks.noop import Fault, NoopOrder, NoopTask
from services.domain.engine import AnswerState, EngineAnswer, EngineKind, EngineRequest
from services.domain.errors import Unavailable
from services.domain.wire import decode, encode
from tests.fakes.events import FakeEventSink
from tests.models.serving.conftest import MemoryObjects
from tests.waiting import until

LIMIT = 4096


@contextmanager
def client_of(engine: InferenceEngine, *, ready: bool = True) -> Iterator[TestClient]:
    with TestClient(create_app(engine, max_request_bytes=LIMIT)) as client:
        if ready:
            until(lambda: client.get("/ping").status_code == 200)
        yield client


def run(client: TestClient, request: EngineRequest) -> EngineAnswer:
    response = client.post("/invocations", content=encode(request))
    assert response.status_code == 200, response.text
    return decode(EngineAnswer, response.content)


class SlowToLoad(NoopTask):
    def __init__(self) -> None:
        self.go = threading.Event()

    def load(self) -> None:
        assert self.go.wait(10)


class WithoutWeights(NoopTask):
    def load(self) -> None:
        raise Unavailable("The model file face-mesh is not here.", code="weights_missing", retryable=False)


class Breaking(NoopTask):
    def __init__(self, error: BaseException) -> None:
        self.error = error

    def run(self, context: TaskContext) -> TaskResult:
        raise self.error


class BrokenPackage(NoopTask):
    def load(self) -> None:
        raise OSError("libgl.so: cannot open shared object file")


def test_ping_is_good_only_once_loaded(make_engine) -> None:
    task = SlowToLoad()
    with client_of(make_engine(task), ready=False) as client:
        response = client.get("/ping")
        assert (response.status_code, response.json()["state"]) == (503, "loading")
        task.go.set()
        until(lambda: client.get("/ping").status_code == 200)


def test_invocation_before_loading_is_refused(make_engine, order) -> None:
    task = SlowToLoad()
    with client_of(make_engine(task), ready=False) as client:
        response = client.post("/invocations", content=encode(order()))
        assert (response.status_code, response.json()["code"]) == (503, "engine_loading")
        task.go.set()


@pytest.mark.parametrize(
    ("task", "code"), [(WithoutWeights(), "weights_missing"), (BrokenPackage(), "engine_not_usable")]
)
def test_ping_says_what_is_missing(make_engine, order, task: NoopTask, code: str) -> None:
    with client_of(make_engine(task), ready=False) as client:
        until(lambda: client.get("/ping").json()["state"] == "unusable")
        response = client.get("/ping")
        assert (response.status_code, response.json()["code"]) == (503, code)
        assert client.post("/invocations", content=encode(order())).json()["code"] == code


def test_attempt_succeeds_with_outputs_facts_and_cpu_usage(make_engine, order, store: MemoryObjects) -> None:
    request = order(NoopOrder(duration_s=0.05))
    with client_of(make_engine()) as client:
        answer = run(client, request)
    assert answer.state is AnswerState.SUCCEEDED
    assert (answer.job_id, answer.attempt, answer.failure) == (request.job_id, request.attempt, None)
    assert answer.facts["duration_s"] == 0.05
    assert answer.usage["engine_cpu_s"] >= 0
    assert store.stored[answer.outputs[0].key] == b'{"slept_s": 0.05}'


def test_storyboard_of_another_job_is_refused(make_engine, order) -> None:
    with client_of(make_engine()) as client:
        answer = run(client, order(key_of_job="job_01JDV3M0Q8T2AAAAAAAAAAAAAA"))
    assert answer.state is AnswerState.FAILED
    assert answer.failure is not None
    assert answer.failure.code == "key_not_owned"
    assert not answer.failure.retryable


def test_cancel_ends_a_running_attempt(make_engine, order, store: MemoryObjects) -> None:
    request = order(NoopOrder(duration_s=30))
    with client_of(make_engine()) as client:
        threading.Timer(0.2, lambda: store.put(request.cancel_key(), b"", media_type="text/plain")).start()
        answer = run(client, request)
    assert answer.state is AnswerState.CANCELED
    assert answer.failure is None
    assert answer.outputs == ()


def test_deadline_ends_a_running_attempt(make_engine, order) -> None:
    with client_of(make_engine()) as client:
        answer = run(client, order(NoopOrder(duration_s=30), time_left=timedelta(seconds=0.3)))
    assert answer.failure is not None
    assert answer.failure.code == "deadline_exceeded"


@pytest.mark.parametrize(
    ("fault", "code", "retryable"),
    [
        (Fault.REJECT, "noop_rejected", False),
        (Fault.RAISE, "engine_failed", False),
        (Fault.EXIT, "engine_failed", False),
    ],
)
def test_what_an_attempt_raises_becomes_its_failure_and_the_next_one_runs(
    make_engine, order, fault: Fault, code: str, retryable: bool
) -> None:
    with client_of(make_engine()) as client:
        failure = run(client, order(NoopOrder(fault=fault))).failure
        assert failure is not None
        assert (failure.code, failure.retryable) == (code, retryable)
        assert run(client, order()).state is AnswerState.SUCCEEDED


@pytest.mark.parametrize(
    ("error", "code", "retryable"),
    [
        (MemoryError(), "memory_exceeded", False),
        (OSError(12, "Cannot allocate memory"), "memory_exceeded", False),
        (OSError(28, "No space left on device"), "engine_failed", True),
    ],
)
def test_exhausted_machine_is_told_apart(make_engine, order, error: Exception, code: str, retryable: bool) -> None:
    with client_of(make_engine(Breaking(error))) as client:
        failure = run(client, order()).failure
    assert failure is not None
    assert (failure.code, failure.retryable) == (code, retryable)


def test_log_of_a_broken_attempt_names_the_job_and_quotes_nothing(make_engine, order, caplog) -> None:
    request = order()
    with client_of(make_engine(Breaking(ValueError("the customer's own words")))) as client:
        answer = run(client, request)
    assert request.job_id in caplog.text
    assert "customer" not in caplog.text
    assert answer.failure is not None
    assert "customer" not in answer.failure.detail


def test_scratch_folder_is_gone_after_success_and_failure(make_engine, order, tmp_path) -> None:
    with client_of(make_engine()) as client:
        run(client, order())
        run(client, order(NoopOrder(fault=Fault.RAISE)))
    assert list((tmp_path / "scratch").iterdir()) == []


def test_kind_that_is_not_served_fails_by_name(make_engine, order) -> None:
    request = dataclasses.replace(order(), kind=EngineKind.VIDEO)
    with client_of(make_engine()) as client:
        failure = run(client, request).failure
    assert failure is not None
    assert failure.code == "engine_kind_not_served"


def test_second_attempt_is_refused_while_one_runs(
    make_engine, order, store: MemoryObjects, heard: FakeEventSink
) -> None:
    first, second = order(NoopOrder(duration_s=30)), order()
    with client_of(make_engine()) as client:
        answers: list[EngineAnswer] = []
        thread = threading.Thread(target=lambda: answers.append(run(client, first)))
        thread.start()
        until(lambda: bool(heard.events))
        refused = client.post("/invocations", content=encode(second))
        assert refused.json()["code"] == "engine_busy"
        assert client.get("/ping").status_code == 200
        store.put(first.cancel_key(), b"", media_type="text/plain")
        thread.join(10)
        assert answers[0].state is AnswerState.CANCELED
        assert run(client, second).state is AnswerState.SUCCEEDED


def test_body_above_the_limit_is_413(make_engine) -> None:
    with client_of(make_engine()) as client:
        response = client.post("/invocations", content=b" " * (LIMIT + 1))
    assert (response.status_code, response.json()["code"]) == (413, "request_too_large")
    assert str(LIMIT) in response.json()["detail"]


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b"\xff\xfe", b'{"kind": "video"}'])
def test_malformed_body_is_400(make_engine, body: bytes) -> None:
    with client_of(make_engine()) as client:
        response = client.post("/invocations", content=body)
    assert response.status_code == 400
    assert response.json()["code"] == "malformed_payload"


def test_stopping_engine_takes_nothing_and_ends_what_runs_after_the_grace(
    make_engine, order, heard: FakeEventSink
) -> None:
    engine = make_engine(grace_s=0.2)
    with client_of(engine) as client:
        answers: list[EngineAnswer] = []
        thread = threading.Thread(target=lambda: answers.append(run(client, order(NoopOrder(duration_s=30)))))
        thread.start()
        until(lambda: bool(heard.events))
        engine.stop()
        assert engine.state is EngineState.STOPPING
        assert client.post("/invocations", content=encode(order())).json()["code"] == "engine_stopping"
        thread.join(10)
    failure = answers[0].failure
    assert failure is not None
    assert (failure.code, failure.retryable) == ("engine_stopping", True)
