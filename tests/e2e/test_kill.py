"""``kill -9`` at random moments; ``benchmarks.faults`` does the same with 10,000 jobs."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from benchmarks.faults import Server, run_everything, run_noop


@pytest.mark.slow
def test_killed_workers_and_servers_lose_and_double_nothing(tmp_path: Path) -> None:
    report = run_noop(tmp_path / "state", num_jobs=150, seed=20261130, mean_pause_s=1.0)
    assert report.faults == []
    assert sum(report.states.values()) == 150
    assert report.kills.total() >= 3
    assert report.states["succeeded"] >= 142, report.failures  # a job may be killed three times, but not nine of them


@pytest.mark.slow
def test_faulty_notices_and_slow_webhooks_under_kills_lose_and_double_nothing(tmp_path: Path) -> None:
    report = run_everything(tmp_path / "state", num_jobs=120, seed=20261130, mean_pause_s=2.0)
    assert report.faults == []
    assert sum(report.states.values()) == 120
    assert min(report.notices["doubled"], report.notices["late"], report.webhooks["told"]) >= 3


def test_workers_do_not_outlive_a_killed_server(tmp_path: Path) -> None:
    server = Server(tmp_path / "state", engines="noop", num_workers=2)
    server.start()
    pids = server.worker_pids()
    assert len(pids) == 2
    server.kill()
    give_up_at = time.monotonic() + 20
    while any(_is_running(pid) for pid in pids):
        assert time.monotonic() < give_up_at, "a worker outlived its server"
        time.sleep(0.02)


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_server_ends_cleanly_when_told(tmp_path: Path, signum: signal.Signals) -> None:
    server = Server(tmp_path / "state", engines="noop", num_workers=1)
    server.start()
    os.kill(server.pid, signum)
    assert server.terminate() == 0


def _is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
