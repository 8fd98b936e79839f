"""The container as a process: its port, its limits, its end."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from models.serving.tasks.noop import Fault, NoopOrder
from services.adapters.local.clock import SystemClock
from services.adapters.local.links import LinkSigner
from services.adapters.local.objects import FileObjectStore
from services.domain.engine import AnswerState, EngineAnswer, EngineKind, EngineRequest
from services.domain.ids import new_id
from services.domain.object_key import ObjectKey, Retention
from services.domain.wire import decode, encode


@dataclass
class Container:
    process: subprocess.Popen[bytes]
    port: int
    store: FileObjectStore

    def order(self, order: NoopOrder) -> EngineRequest:
        key = ObjectKey(
            retention=Retention.WORK,
            tenant_id=new_id("tenant"),
            owner_id=new_id("job"),
            attempt=0,
            name="storyboard.json",
        )
        self.store.put(key, encode(order), media_type="application/json")
        return EngineRequest(
            kind=EngineKind.NOOP,
            tenant_id=key.tenant_id,
            job_id=key.owner_id,
            attempt=1,
            storyboard_key=str(key),
            deadline_at=datetime.now(UTC) + timedelta(minutes=5),
        )

    def call(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def run(self, request: EngineRequest) -> EngineAnswer:
        status, body = self.call("POST", "/invocations", encode(request))
        assert status == 200, body
        return decode(EngineAnswer, body)


@pytest.fixture
def start(tmp_path: Path) -> Iterator:
    started: list[subprocess.Popen[bytes]] = []
    links = LinkSigner(secret="s" * 16, public_url="http://127.0.0.1", clock=SystemClock())
    store = FileObjectStore(tmp_path / "objects", links=links)

    def make(*options: str, **settings: str) -> Container:
        environment = {**os.environ, "SPOKESMODEL_STATE_DIR": str(tmp_path), **settings}
        process = subprocess.Popen(
            [sys.executable, "-m", "models.serving", "--port", "0", "--engines", "noop", "--with-parent", *options],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        started.append(process)
        assert process.stdout is not None
        container = Container(process, json.loads(process.stdout.readline())["port"], store)
        while container.call("GET", "/ping")[0] != 200:
            time.sleep(0.02)
        return container

    yield make
    for process in started:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()


def test_attempt_runs_through_the_file_store(start) -> None:
    container = start()
    answer = container.run(container.order(NoopOrder(duration_s=0.01)))
    assert answer.state is AnswerState.SUCCEEDED
    assert container.store.get(ObjectKey.parse(answer.outputs[0].key)) == b'{"slept_s": 0.01}'


def test_sigterm_lets_the_running_attempt_end_and_exits_cleanly(start) -> None:
    container = start()
    answers: list[EngineAnswer] = []
    request = container.order(NoopOrder(duration_s=1.5))
    thread = threading.Thread(target=lambda: answers.append(container.run(request)))
    thread.start()
    time.sleep(0.5)
    container.process.send_signal(signal.SIGTERM)
    assert container.process.wait(20) == 0
    thread.join(5)
    assert answers[0].state is AnswerState.SUCCEEDED


def test_sigterm_ends_a_long_attempt_after_the_grace(start) -> None:
    container = start("--grace-s", "0.5")
    answers: list[EngineAnswer] = []
    request = container.order(NoopOrder(duration_s=60))
    thread = threading.Thread(target=lambda: answers.append(container.run(request)))
    thread.start()
    time.sleep(0.5)
    container.process.send_signal(signal.SIGTERM)
    assert container.process.wait(20) == 0
    thread.join(5)
    assert answers[0].failure is not None
    assert (answers[0].failure.code, answers[0].failure.retryable) == ("engine_stopping", True)


def test_sigterm_ends_even_an_attempt_that_is_deaf(start) -> None:
    container = start("--grace-s", "0.5")
    request = container.order(NoopOrder(fault=Fault.HANG))

    def run() -> None:
        with contextlib.suppress(OSError, http.client.HTTPException):
            container.call("POST", "/invocations", encode(request))

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(0.5)
    container.process.send_signal(signal.SIGTERM)
    assert container.process.wait(20) == 0
    thread.join(5)


def test_container_ends_with_its_parent(start) -> None:
    container = start()
    assert container.process.stdin is not None
    container.process.stdin.close()
    assert container.process.wait(10) == 0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux limits a process's data")
@pytest.mark.parametrize(("limit_bytes", "code"), [(1024**3, "memory_exceeded"), (0, None)])
def test_attempt_that_wants_more_memory_than_given_fails_by_name(start, limit_bytes: int, code: str | None) -> None:
    container = start(SPOKESMODEL_ENGINE_MEMORY_BYTES=str(limit_bytes))
    failure = container.run(container.order(NoopOrder(fault=Fault.ALLOCATE))).failure
    assert (failure.code if failure else None) == code
    assert container.run(container.order(NoopOrder())).state is AnswerState.SUCCEEDED


def test_scratch_of_a_killed_container_is_emptied_by_the_next(start, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    first = start("--scratch-dir", str(scratch))
    request = first.order(NoopOrder(fault=Fault.CRASH, duration_s=0.1))
    with pytest.raises((OSError, http.client.HTTPException)):
        first.run(request)
    assert first.process.wait(10) == 70
    assert list(scratch.iterdir()) != []
    start("--scratch-dir", str(scratch))
    assert list(scratch.iterdir()) == []
