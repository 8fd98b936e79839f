"""Engines in processes of their own: what happens when they break."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from models.speech import process
from models.speech.process import HelperPool, HelperProcess
from services.domain.errors import EngineFailed

ROOT = Path(__file__).resolve().parents[3]
MODULE = "tests.models.speech.broken_engine"


@pytest.fixture
def helper():
    helper = HelperProcess(MODULE)
    yield helper
    helper.close()


def test_frames_arrive_whole_and_the_process_stays_warm(helper):
    first = list(helper.call({"do": "speak"}))
    assert [(header["number"], payload) for header, payload in first] == [(1, b"abc"), (2, b"")]
    (one, _), (two, _) = (frame for _ in range(2) for frame in helper.call({"do": "name process"}))
    assert one["pid"] != two["pid"]
    assert one["parent"] == two["parent"]


def test_an_error_of_the_engine_keeps_its_code(helper):
    with pytest.raises(EngineFailed) as caught:
        list(helper.call({"do": "refuse"}))
    assert caught.value.code == "voice_not_loaded"
    assert len(list(helper.call({"do": "speak"}))) == 2


@pytest.mark.parametrize("way", ["abort", "raise"])
def test_a_crash_is_an_error_and_the_next_call_works(helper, way):
    with pytest.raises(EngineFailed) as caught:
        list(helper.call({"do": way}))
    assert (caught.value.code, caught.value.retryable) == ("speech_engine_crashed", False)
    assert len(list(helper.call({"do": "speak"}))) == 2


def test_a_killed_process_is_retryable_and_replaced(helper):
    list(helper.call({"do": "speak"}))
    calls = helper.call({"do": "hang"})
    threading.Timer(0.3, helper._process.kill).start()
    with pytest.raises(EngineFailed) as caught:
        next(calls)
    assert (caught.value.code, caught.value.retryable) == ("speech_engine_crashed", True)
    assert len(list(helper.call({"do": "speak"}))) == 2


def test_a_hanging_engine_is_ended(helper, monkeypatch):
    monkeypatch.setattr(process, "_TIMEOUT_S", 0.5)
    with pytest.raises(EngineFailed) as caught:
        list(helper.call({"do": "hang"}))
    assert caught.value.retryable


def test_an_answer_that_is_not_read_to_its_end_does_not_reach_the_next_caller(helper):
    calls = helper.call({"do": "speak"})
    next(calls)
    calls.close()
    assert [header["number"] for header, _ in helper.call({"do": "speak"})] == [1, 2]


def test_callers_wait_for_a_free_helper():
    pool, running, most = HelperPool(MODULE, size=2), [], []

    def call() -> None:
        with pool.helper() as helper:
            running.append(helper)
            most.append(len(running))
            list(helper.call({"do": "speak"}))
            running.remove(helper)

    threads = [threading.Thread(target=call) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    pool.close()
    assert len(most) == 6
    assert max(most) <= 2


def test_helpers_end_with_a_parent_that_is_killed():
    code = (
        f"from models.speech.process import HelperProcess; h = HelperProcess('{MODULE}');"
        "header = list(h.call({'do': 'name process'}))[0][0]; print(header['parent'], flush=True); input()"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path.cwd()
    )
    helper_pid = int(parent.stdout.readline())
    assert psutil.pid_exists(helper_pid)
    parent.kill()
    parent.communicate()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and _runs(helper_pid):
        time.sleep(0.05)
    assert not _runs(helper_pid)


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_module_beside_the_callers_script_is_not_taken_for_an_engine(tmp_path):
    for folder in ("scripts", "elsewhere"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a_speech_engine.py").touch()
    script = tmp_path / "scripts" / "make_film.py"
    script.write_text(
        "import a_speech_engine\n"  # the script's own folder serves the script
        "from models.speech.process import HelperProcess\n"
        f"helper = HelperProcess({MODULE!r})\n"
        "print([header for header, _ in helper.call({'do': 'find', 'module': 'a_speech_engine'})])\n"
        "helper.close()\n"
    )
    run = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path / "elsewhere",
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "'origin': None" in run.stdout, run.stderr
