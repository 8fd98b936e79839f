"""What the keeper of an engine process does when the process breaks off."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from models.serving.worker import Worker
from services.domain.engine import EngineKind
from services.domain.errors import EngineFailed
from tests.fakes.world import World

# Takes a connection, closes it without a word, and lives on, as a process does that is writing its core dump.
_DYING = """
import socket, time
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
listener.accept()[0].close()
time.sleep(60)
"""


def test_process_that_breaks_off_is_gone_before_the_next_attempt_is_given_to_it(tmp_path: Path) -> None:
    world = World()
    request = world.request_of(world.submit(), 1)
    worker = Worker("w", engines=[EngineKind.NOOP], environment={}, scratch_dir=tmp_path, events_url="http://127.0.0.1")
    process = subprocess.Popen([sys.executable, "-c", _DYING], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        worker._process, worker._port = process, int(process.stdout.readline())  # type: ignore[assignment]
        with pytest.raises(EngineFailed) as caught:
            worker.invoke(request, timeout_s=30)
        assert caught.value.code == "engine_lost"
        assert not worker.is_alive
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def test_end_of_a_killed_process_is_told_so_that_what_it_left_can_be_removed(tmp_path: Path) -> None:
    ended: list[int] = []
    worker = Worker(
        "w",
        engines=[EngineKind.NOOP],
        environment={},
        scratch_dir=tmp_path,
        events_url="http://127.0.0.1",
        on_end=ended.append,
    )
    worker._command = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    worker.state()
    first = worker.pid
    assert first is not None
    assert ended == []
    worker.kill()
    worker.state()  # finds it dead
    assert ended == [first]
    while (second := worker.pid) is None:
        worker.state()
    worker.close()
    assert ended == [first, second]
