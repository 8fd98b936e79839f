"""CPU time counts helpers."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from models.serving.cpu_time import cpu_seconds

BUSY = "import sys, time\nwhile time.process_time() < 0.6: pass\nprint('done', flush=True)\nsys.stdin.read()"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells of running children")
def test_running_helper_is_counted_and_not_twice_when_it_ends() -> None:
    before = cpu_seconds()
    helper = subprocess.Popen([sys.executable, "-c", BUSY], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert helper.stdout is not None
    helper.stdout.readline()
    while_running = cpu_seconds() - before
    helper.communicate()
    after = cpu_seconds() - before
    assert while_running >= 0.55
    assert while_running <= after + 0.1
    assert after < while_running + 0.5


def test_own_work_is_counted() -> None:
    before, started = cpu_seconds(), time.process_time()
    while time.process_time() - started < 0.2:
        pass
    assert cpu_seconds() - before >= 0.19
