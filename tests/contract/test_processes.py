"""Several processes work on the same files, and some are killed."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from services.adapters.local.clock import SystemClock
from services.adapters.local.engine import SqliteEngine
from services.adapters.local.jobs import SqliteJobStore
from services.adapters.local.sqlite import Database
from services.domain.engine import EngineKind, EngineRequest
from services.domain.errors import Unavailable
from services.domain.ids import new_id
from services.domain.job import Job, JobStep

ROOT = Path(__file__).resolve().parents[2]


def test_jobs_of_killed_processes_are_finished_by_others_and_none_twice(tmp_path):
    path, num_jobs = tmp_path / "jobs.sqlite", 240
    jobs = SqliteJobStore(path, clock=SystemClock())
    for number in range(num_jobs):
        now = SystemClock().now()
        jobs.add(
            Job(
                id=new_id("job"),
                tenant_id=f"tenant_{number % 3}",
                kind=EngineKind.NOOP,
                request={},
                created_at=now,
                updated_at=now,
                available_at=now,
            )
        )

    def spawn(name: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tests.contract.claiming_process", path, name, "1.0", num_jobs]
        return subprocess.Popen([str(part) for part in command], cwd=ROOT)

    doomed = [spawn("doomed_1"), spawn("doomed_2")]
    survivors = []
    try:
        for number, process in enumerate(doomed):
            while jobs.outstanding() < 20 * (number + 1):
                time.sleep(0.001)
            process.send_signal(signal.SIGKILL)
            process.wait()
        assert jobs.outstanding() < num_jobs
        survivors = [spawn("survivor_1"), spawn("survivor_2")]
        for process in survivors:
            assert process.wait(timeout=60) == 0
    finally:
        for process in doomed + survivors:
            process.kill()
            process.wait()
    finished = [job for tenant in range(3) for job in jobs.list(f"tenant_{tenant}", limit=200).items]
    assert len(finished) == num_jobs
    assert {job.step for job in finished} == {JobStep.RUN}
    assert {job.version for job in finished} == {1}, "each was saved once"
    assert any(job.callback_id.startswith("survivor") for job in finished)


def test_threads_claim_each_attempt_once(tmp_path):
    queue = SqliteEngine(tmp_path / "engine.sqlite", clock=SystemClock(), num_instances=4)
    now = SystemClock().now()
    for number in range(40):
        queue.start(
            EngineRequest(
                kind=EngineKind.NOOP,
                tenant_id="t",
                job_id=f"job_{number}",
                attempt=1,
                storyboard_key="k",
                deadline_at=now,
            )
        )
    seen: Counter[str] = Counter()

    def work() -> None:
        while (claimed := queue.claim(lease_s=60)) is not None:
            seen[claimed.request.job_id] += 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == Counter({f"job_{number}": 1 for number in range(40)})


def test_file_opened_for_the_first_time_by_many_threads_is_made_once(tmp_path):
    faults: list[BaseException] = []
    barrier = threading.Barrier(8)

    def open_it() -> None:
        try:
            barrier.wait()
            Database(tmp_path / "new.sqlite", ("CREATE TABLE one (n INTEGER);",)).execute("INSERT INTO one VALUES (1)")
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=open_it) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    row = Database(tmp_path / "new.sqlite", ("CREATE TABLE one (n INTEGER);",)).one("SELECT count(*) FROM one")
    assert row is not None
    assert row[0] == 8


def test_migrations_bring_an_older_file_up_and_keep_its_rows(tmp_path):
    first = "CREATE TABLE one (n INTEGER); INSERT INTO one VALUES (7);"
    Database(tmp_path / "db.sqlite", (first,))
    newer = Database(tmp_path / "db.sqlite", (first, "ALTER TABLE one ADD COLUMN m INTEGER DEFAULT 3;"))
    row = newer.one("SELECT n, m FROM one")
    assert row is not None
    assert tuple(row) == (7, 3)


def test_failing_migration_leaves_the_file_as_it_was(tmp_path):
    first = "CREATE TABLE one (n INTEGER);"
    Database(tmp_path / "db.sqlite", (first,))
    with pytest.raises(Unavailable):
        Database(tmp_path / "db.sqlite", (first, "CREATE TABLE two (n INTEGER); CREATE TABEL three (n);"))
    again = Database(tmp_path / "db.sqlite", (first, "CREATE TABLE two (n INTEGER);"))
    assert again.one("SELECT count(*) FROM two") is not None


def test_file_of_a_newer_version_is_refused(tmp_path):
    scripts = ("CREATE TABLE one (n INTEGER);", "CREATE TABLE two (n INTEGER);")
    Database(tmp_path / "db.sqlite", scripts)
    with pytest.raises(Unavailable) as raised:
        Database(tmp_path / "db.sqlite", scripts[:1])
    assert (raised.value.code, raised.value.retryable) == ("store_too_new", False)


def test_damaged_file_is_told_by_name(tmp_path):
    (tmp_path / "db.sqlite").write_bytes(b"not a database, whatever its name says" * 50)
    with pytest.raises(Unavailable) as raised:
        Database(tmp_path / "db.sqlite", ("CREATE TABLE one (n INTEGER);",))
    assert raised.value.code == "store_unavailable"
    assert "db.sqlite" in raised.value.detail


def test_exception_undoes_the_transaction(tmp_path):
    database = Database(tmp_path / "db.sqlite", ("CREATE TABLE one (n INTEGER);",))

    def fail_half_way() -> None:
        with database.write() as connection:
            connection.execute("INSERT INTO one VALUES (1)")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_half_way()
    row = database.one("SELECT count(*) FROM one")
    assert row is not None
    assert row[0] == 0
