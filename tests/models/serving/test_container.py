"""The container as processes: ``serve`` keeps a worker, whatever attempts do to it."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from models.serving import container as serving_container
from models.serving import server, worker
from models.serving.__main__ import _parser
from models.serving.tasks.noop import Fault, NoopOrder
from services.adapters.local.clock import SystemClock
from services.adapters.local.links import LinkSigner
from services.adapters.local.objects import FileObjectStore
from services.domain.engine import AnswerState, EngineAnswer
from tests.models.serving.test_process import Container
from tests.waiting import until

COMMAND = (sys.executable, "-m", "models.serving", "serve", "--host", "127.0.0.1", "--port", "0")


@pytest.fixture
def start(tmp_path: Path) -> Iterator:
    started: list[subprocess.Popen[bytes]] = []
    links = LinkSigner(secret="s" * 16, public_url="http://127.0.0.1", clock=SystemClock())
    store = FileObjectStore(tmp_path / "objects", links=links)

    def make(*options: str, **settings: str) -> Container:
        process = subprocess.Popen(
            [*COMMAND, "--engines", "noop", "--with-parent", *options],
            env={**os.environ, "SPOKESMODEL_STATE_DIR": str(tmp_path), **settings},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        started.append(process)
        assert process.stdout is not None
        container = Container(process, json.loads(process.stdout.readline())["port"], store)
        until(lambda: container.call("GET", "/ping")[0] == 200, 30)
        return container

    yield make
    for process in started:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (Fault.CRASH, "engine_lost"),
        (Fault.SEGFAULT, "engine_lost"),
        (Fault.ALLOCATE, "memory_exceeded"),
        (Fault.RAISE, "engine_failed"),
    ],
)
def test_attempt_that_breaks_its_worker_fails_alone_and_the_next_one_runs(start, fault: Fault, code: str) -> None:
    container = start(SPOKESMODEL_ENGINE_MEMORY_BYTES=str(1024**3))
    failure = container.run(container.order(NoopOrder(fault=fault))).failure
    assert failure is not None
    assert failure.code == code
    assert container.run(container.order(NoopOrder())).state is AnswerState.SUCCEEDED


def test_attempt_that_hangs_is_killed_after_its_deadline_and_the_next_one_runs(start) -> None:
    container = start()
    request = container.order(NoopOrder(fault=Fault.HANG))
    short = dataclasses.replace(request, deadline_at=datetime.now(UTC) + timedelta(seconds=0.5))
    failure = container.run(short).failure
    assert failure is not None
    assert failure.code == "deadline_exceeded"
    assert container.run(container.order(NoopOrder())).state is AnswerState.SUCCEEDED


def test_worker_is_the_same_process_for_every_good_attempt(start) -> None:
    container = start()
    before = children_of(container.process.pid)
    for _ in range(3):
        assert container.run(container.order(NoopOrder())).state is AnswerState.SUCCEEDED
    assert len(before) == 1
    assert children_of(container.process.pid) == before


def test_two_workers_run_two_attempts_at_once(start, tmp_path: Path) -> None:
    container = start("--scratch-dir", str(tmp_path / "scratch"), SPOKESMODEL_ENGINE_CONCURRENCY="2")
    until(lambda: len(children_of(container.process.pid)) == 2)
    requests = [container.order(NoopOrder(duration_s=600)) for _ in range(2)]
    answers: list[EngineAnswer] = []
    threads = [threading.Thread(target=lambda r=r: answers.append(container.run(r))) for r in requests]
    for thread in threads:
        thread.start()
    until(lambda: len(list((tmp_path / "scratch").glob("worker-*/attempt-*"))) == 2, 30)
    for request in requests:
        container.store.put(request.cancel_key(), b"", media_type="text/plain")
    for thread in threads:
        thread.join(30)
    assert [answer.state for answer in answers] == [AnswerState.CANCELED] * 2


def test_sigterm_drains_and_ends_the_worker_too(start) -> None:
    container = start()
    workers = children_of(container.process.pid)
    answers: list[EngineAnswer] = []
    request = container.order(NoopOrder(duration_s=1.5))
    thread = threading.Thread(target=lambda: answers.append(container.run(request)))
    thread.start()
    time.sleep(0.5)
    container.process.send_signal(signal.SIGTERM)
    assert container.process.wait(20) == 0
    thread.join(5)
    assert answers[0].state is AnswerState.SUCCEEDED
    assert not [pid for pid in workers if Path(f"/proc/{pid}").exists()]


def test_sigterm_ends_a_deaf_attempt_within_the_grace(start) -> None:
    container = start("--grace-s", "0.5")
    answers: list[EngineAnswer] = []
    request = container.order(NoopOrder(fault=Fault.HANG))
    thread = threading.Thread(target=lambda: answers.append(container.run(request)))
    thread.start()
    time.sleep(0.5)
    container.process.send_signal(signal.SIGTERM)
    assert container.process.wait(20) == 0
    thread.join(5)
    assert answers[0].failure is not None
    assert answers[0].failure.retryable


def test_default_grace_ends_before_the_cloud_kills() -> None:
    """SageMaker and ECS kill 30 s after SIGTERM; after the grace come the workers' end and the last answers."""
    grace_s = _parser().parse_args([]).grace_s
    assert grace_s >= 10
    assert grace_s + serving_container._AFTER_GRACE_S + worker._AFTER_GRACE_S <= 30
    assert grace_s + server._AFTER_GRACE_S <= 30


def children_of(pid: int) -> list[int]:
    found = []
    for thread in Path(f"/proc/{pid}/task").iterdir():
        found += map(int, (thread / "children").read_text().split())
    return sorted(found)


def test_work_queue_without_its_queues_is_refused_by_name(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "models.serving", "--work-queue", "--port", "0"],
        env={**os.environ, "SPOKESMODEL_STATE_DIR": str(tmp_path)},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode != 0
    assert b"SPOKESMODEL_WORK_QUEUE_URL" in done.stderr
