"""The runner with no-op engines: what happens to jobs, workers and the state folder."""

from __future__ import annotations

import logging
import os
import signal
import stat
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from models.serving.worker import WorkerState
from services.domain.engine import EngineEvent, EngineKind
from services.domain.errors import Unavailable
from services.domain.job import JobState
from services.domain.wire import encode
from services.settings import Settings
from services.usecases.cancel_job import cancel_job
from spokesmodel.runner import LocalSystem
from spokesmodel.state_folder import running_server
from tests.e2e.conftest import TENANT, ended, running, submit
from tests.waiting import until


def test_job_passes_every_step_and_is_charged_once(noop_system: LocalSystem) -> None:
    job = ended(noop_system, submit(noop_system, {"duration_s": 0.02}))
    assert (job.state, job.attempt) == (JobState.SUCCEEDED, 1)
    assert job.result is not None
    now = datetime.now(UTC)

    def charges() -> list[str]:
        records = noop_system.services.usage.list(
            TENANT, since=now - timedelta(hours=1), until=now + timedelta(hours=1)
        )
        return [record.job_id for record in records]

    until(charges)
    assert charges() == [job.id]


def test_running_job_is_canceled_within_seconds(noop_system: LocalSystem) -> None:
    services = noop_system.services
    job_id = submit(noop_system, {"duration_s": 120})
    until(lambda: services.jobs.get(job_id).state is JobState.PROCESSING)
    cancel_job(job_id, tenant_id=TENANT, jobs=services.jobs, objects=services.objects, clock=services.clock)
    assert ended(noop_system, job_id).state is JobState.CANCELED
    # and the worker is free for the next
    assert ended(noop_system, submit(noop_system, {})).state is JobState.SUCCEEDED


def test_progress_events_reach_the_job(noop_system: LocalSystem) -> None:
    job_id = submit(noop_system, {"duration_s": 6})
    until(lambda: 0 < noop_system.services.jobs.get(job_id).progress.fraction < 1)
    assert noop_system.services.jobs.get(job_id).progress.stage == "sleeping"
    assert ended(noop_system, job_id).progress.fraction == 1.0


def test_events_route_takes_only_what_carries_the_token(noop_system: LocalSystem) -> None:
    job_id = submit(noop_system, {"duration_s": 1})
    event = encode(EngineEvent(job_id=job_id, attempt=1, sequence=9, stage="forged", fraction=0.9))
    url = f"{noop_system.url}/internal/events"
    assert httpx.post(url, content=event).status_code == 401
    assert httpx.post(url, content=event, headers={"Authorization": "Bearer x"}).status_code == 401
    assert httpx.get(url).status_code == 405
    assert ended(noop_system, job_id).progress.stage != "forged"


def test_worker_that_crashes_is_replaced_and_the_job_tried_again(noop_system: LocalSystem) -> None:
    job = ended(noop_system, submit(noop_system, {"fault": "crash", "faulty_attempts": 1}))
    assert (job.state, job.attempt) == (JobState.SUCCEEDED, 2)


def test_job_that_always_kills_its_worker_fails_and_others_go_on(noop_system: LocalSystem) -> None:
    job = ended(noop_system, submit(noop_system, {"fault": "crash"}))
    assert job.state is JobState.FAILED
    assert job.failure is not None
    assert (job.failure.code, job.attempt) == ("engine_lost", noop_system.services.settings.max_attempts)
    assert ended(noop_system, submit(noop_system, {})).state is JobState.SUCCEEDED


def test_rejected_content_is_not_tried_again(noop_system: LocalSystem) -> None:
    job = ended(noop_system, submit(noop_system, {"fault": "reject"}))
    assert job.failure is not None
    assert (job.failure.code, job.attempt) == ("noop_rejected", 1)


def test_idle_worker_that_is_killed_comes_back(noop_system: LocalSystem) -> None:
    worker = noop_system.endpoints[0].worker
    first = worker.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    until(lambda: worker.pid not in (None, first))
    assert ended(noop_system, submit(noop_system, {})).state is JobState.SUCCEEDED


def test_worker_that_hangs_is_replaced_and_the_job_tried_again(tmp_path: Path) -> None:
    with running(tmp_path / "state", lease_s=1.5) as system:
        worker = system.endpoints[0].worker
        first = worker.pid
        assert first is not None
        job_id = submit(system, {"duration_s": 4})
        until(lambda: system.services.jobs.get(job_id).progress.fraction > 0)
        os.kill(first, signal.SIGSTOP)
        job = ended(system, job_id)
        assert (job.state, job.attempt) == (JobState.SUCCEEDED, 2)
        assert worker.pid not in (None, first)
        with pytest.raises(ProcessLookupError):
            os.kill(first, 0)


def test_attempt_past_its_deadline_ends(tmp_path: Path) -> None:
    with running(tmp_path / "state", attempt_timeout_s=3.0) as system:
        endpoint = system.endpoints[0]
        deaf = endpoint.worker.pid
        job = ended(system, submit(system, {"fault": "hang"}))
        assert job.failure is not None
        assert job.failure.code in ("deadline_exceeded", "attempt_timed_out")
        # the deaf worker was killed and another serves
        until(lambda: endpoint.worker.pid not in (None, deaf) and endpoint.state is WorkerState.READY)
        assert ended(system, submit(system, {})).state is JobState.SUCCEEDED


def test_attempt_that_a_stop_interrupts_is_run_by_the_next_runner(tmp_path: Path) -> None:
    with running(tmp_path / "state") as system:
        job_id = submit(system, {"duration_s": 5})
        until(lambda: system.services.jobs.get(job_id).state is JobState.PROCESSING)
    with running(tmp_path / "state") as system:
        job = ended(system, job_id)
    assert (job.state, job.attempt) == (JobState.SUCCEEDED, 1)


def test_worker_imports_nothing_from_the_folder_it_is_started_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("models", "services", "uvicorn"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(7)")
    monkeypatch.chdir(tmp_path)
    with running(tmp_path / "state") as system:
        assert ended(system, submit(system, {})).state is JobState.SUCCEEDED


def test_stop_ends_the_workers(tmp_path: Path) -> None:
    with running(tmp_path / "state", num_workers=2) as system:
        pids = [endpoint.worker.pid for endpoint in system.endpoints]
    assert len(set(pids)) == 2
    for pid in pids:
        assert pid is not None
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_quiet_system_leaves_the_functions_log_as_it_was(tmp_path: Path) -> None:
    from lambdas import runtime

    before = runtime.logger.log_level
    with running(tmp_path / "state"):
        assert runtime.logger.log_level == logging.ERROR
    assert runtime.logger.log_level == before


def test_state_folder_has_one_runner(tmp_path: Path) -> None:
    with running(tmp_path / "state") as system:
        server = running_server(tmp_path / "state")
        assert server is not None
        assert (server.url, server.api_key) == (system.url, system.api_key)
        with pytest.raises(Unavailable) as caught, running(tmp_path / "state"):
            pass
        assert caught.value.code == "state_dir_in_use"
    assert running_server(tmp_path / "state") is None


def test_api_key_is_made_once_and_is_the_users_alone(tmp_path: Path) -> None:
    with running(tmp_path / "state") as system:
        assert system.is_new
        first = system.api_key
        path = tmp_path / "state" / "api_key"
        assert path.read_text().strip() == first
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with running(tmp_path / "state") as system:
        assert not system.is_new
        assert system.api_key == first
        headers = {"Authorization": f"Bearer {first}"}
        names = {row["name"] for row in httpx.get(f"{system.url}/v1/avatars", headers=headers).json()["items"]}
    assert names == {"Vera", "Tom", "Max", "Ellen"}


def test_state_in_an_open_folder_is_the_users_alone(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    old = folder / "tenants.sqlite"
    old.touch(0o644)
    old.chmod(0o644)
    mine = folder / "mine.txt"
    mine.touch()
    mine.chmod(0o644)
    mask = os.umask(0o022)
    try:
        with running(folder) as system:
            assert system.is_open
            assert ended(system, submit(system, {})).state is JobState.SUCCEEDED
            open_to_others = {path.name for path in folder.iterdir() if path.stat().st_mode & 0o077}
            assert (folder / "jobs.sqlite-wal").exists()
    finally:
        os.umask(mask)
    assert open_to_others == {"mine.txt"}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755


def test_new_state_folder_is_closed_to_others(noop_system: LocalSystem) -> None:
    assert not noop_system.is_open


def test_engine_without_weights_answers_jobs_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPOKESMODEL_WEIGHTS_DIR", str(tmp_path / "nothing"))
    with LocalSystem(
        replace(Settings(), state_dir=tmp_path / "state"), engines=(EngineKind.VIDEO, EngineKind.NOOP), quiet=True
    ) as system:
        with pytest.raises(Unavailable) as caught:
            system.wait_for_workers()
        assert caught.value.code == "weights_missing"
        job = ended(system, submit(system, {}))
    assert job.failure is not None
    assert job.failure.code == "weights_missing"


def test_port_that_is_taken_is_told(tmp_path: Path) -> None:
    with running(tmp_path / "one") as system:
        port = int(system.url.rpartition(":")[2])
        other = LocalSystem(replace(Settings(), state_dir=tmp_path / "two"), port=port, with_workers=False)
        with pytest.raises(Unavailable) as caught, other:
            pass
    assert caught.value.code == "port_not_free"
