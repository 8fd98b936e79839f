"""``kill -9`` of worker, server or both at random moments: every accepted job still ends once, with one charge.

``everything`` adds what else goes wrong: notices of the engine that are dropped, doubled or late, and webhooks that are
slow or refused at first.

The server is the real one, started as users start it; no-op jobs are stored as the API stores videos, real ones go
through the API. Also used by the end-to-end tests, with fewer jobs.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from benchmarks.faulty_server import NOTICES_LOG, Receiver
from benchmarks.measure import Row
from services.bootstrap import Services, bootstrap
from services.domain.errors import SpokesmodelError
from services.domain.ids import new_id
from services.domain.job import Job, JobState, JobStep
from services.domain.object_key import ObjectKey
from services.settings import Settings
from services.usecases.manage_keys import create_tenant
from services.usecases.submit_noop import submit_noop
from spokesmodel.client import Client

NUM_NOOP = 10_000
NUM_REAL = 200
_START_TIMEOUT_S = 60.0
_AVATAR = "avatar_01M8PBZJY0G2HC7X6V5HT6Q7K4"


class Server:
    """``spokesmodel serve`` as a process that can be killed and started again."""

    def __init__(
        self, state_dir: Path, *, engines: str, num_workers: int, command: Sequence[str] = (), **environment: str
    ) -> None:
        self.state_dir = state_dir
        self._command = [sys.executable, "-m", "spokesmodel", "serve", "--port", "0", "--json"]
        self._command += ["--engines", engines, "--workers", str(num_workers), "--state-dir", str(state_dir)]
        self._command = list(command) or self._command
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None
        self._log = (state_dir.parent / "server.log").open("ab")
        self.url = ""

    def start(self) -> None:
        """Start it and wait until it listens."""
        environment = {**os.environ, "POWERTOOLS_LOG_LEVEL": "ERROR", **self._environment}
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, stderr=self._log, env=environment)
        assert self._process.stdout is not None
        document = b""
        while not document.rstrip().endswith(b"}"):
            line = self._process.stdout.readline()
            if not line:
                raise RuntimeError(f"the server ended with {self._process.wait()}; see {self._log.name}")
            document += line
        self.url = json.loads(document)["url"]

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def worker_pids(self) -> list[int]:
        """Its child processes."""
        found = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError, IndexError):
                if int(stat.read_text().rpartition(")")[2].split()[1]) == self.pid:
                    found.append(int(stat.parent.name))
        return found

    def kill(self) -> None:
        """SIGKILL, and nothing else: the workers must notice by themselves."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def terminate(self) -> int:
        """SIGTERM; the exit status."""
        assert self._process is not None
        self._process.terminate()
        status = self._process.wait(60)
        if self._process.stdout is not None:
            self._process.stdout.close()
        return status


@dataclass
class Report:
    """What came of the jobs."""

    num_jobs: int
    states: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    kills: Counter[str] = field(default_factory=Counter)
    attempts: Counter[int] = field(default_factory=Counter)
    notices: Counter[str] = field(default_factory=Counter)
    webhooks: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    wall_s: float = 0.0


def run_noop(state_dir: Path, *, num_jobs: int, seed: int, mean_pause_s: float = 1.5, num_workers: int = 2) -> Report:
    """No-op jobs of 0 to 40 ms under kills."""
    services = bootstrap(replace(Settings(), state_dir=state_dir))
    chance = random.Random(seed)
    tenants = [new_id("tenant") for _ in range(3)]

    def submit(_: Server) -> tuple[str, str]:
        job_id, tenant_id = new_id("job"), chance.choice(tenants)
        submit_noop(
            {"duration_s": round(chance.uniform(0, 0.04), 3)},
            job_id=job_id,
            tenant_id=tenant_id,
            jobs=services.jobs,
            clock=services.clock,
            settings=services.settings,
        )
        return job_id, tenant_id

    server = Server(state_dir, engines="noop", num_workers=num_workers)
    return _run(server, services, submit, num_jobs, chance, mean_pause_s)


def run_everything(
    state_dir: Path, *, num_jobs: int, seed: int, mean_pause_s: float = 4.0, num_workers: int = 2
) -> Report:
    """No-op jobs under kills, with faulty notices, and with webhooks for every fifth."""
    settings = replace(Settings(), state_dir=state_dir, attempt_timeout_s=8.0, allow_private_callbacks=True)
    services = bootstrap(settings)
    chance, receiver = random.Random(seed), Receiver()
    kept = {"tenants": services.tenants, "audit": services.audit, "clock": services.clock}
    tenants = [create_tenant(f"Tenant {number}", **kept).id for number in range(3)]  # type: ignore[arg-type]
    called_back: set[str] = set()

    def submit(_: Server) -> tuple[str, str]:
        job_id, tenant_id = new_id("job"), chance.choice(tenants)
        is_called_back = chance.random() < 0.2
        if is_called_back:
            called_back.add(job_id)
        submit_noop(
            {"duration_s": round(chance.uniform(0, 0.04), 3)},
            job_id=job_id,
            tenant_id=tenant_id,
            jobs=services.jobs,
            clock=services.clock,
            settings=settings,
            callback_url=receiver.url if is_called_back else None,
        )
        return job_id, tenant_id

    environment = settings.to_environment() | {"SPOKESMODEL_NUM_WORKERS": str(num_workers)}
    command = [sys.executable, "-m", "benchmarks.faulty_server", str(state_dir)]
    server = Server(state_dir, engines="noop", num_workers=num_workers, command=command, **environment)
    report = _run(server, services, submit, num_jobs, chance, mean_pause_s)
    receiver.close()
    report.notices = Counter((state_dir / NOTICES_LOG).read_text(encoding="utf-8").split())
    report.webhooks = Counter(
        told=len(receiver.events),
        slow=receiver.num_slow,
        refused=receiver.num_refused,
        repeated=sum(sum(tries.values()) > 1 for tries in receiver.events.values()),
    )
    for job_id in called_back:
        job, events = services.jobs.get(job_id), receiver.events.get(job_id, Counter())
        if len(events) != 1 or job.step is not JobStep.NONE:
            report.faults.append(f"{job_id}: {job.state}, {len(events)} events told, step {job.step}")
    report.faults += [f"{job_id}: told of unasked" for job_id in receiver.events.keys() - called_back]
    return report


def run_real(state_dir: Path, *, num_jobs: int, seed: int, mean_pause_s: float = 8.0, num_workers: int = 2) -> Report:
    """Short videos, asked for over HTTP with idempotency keys, under kills."""
    services = bootstrap(replace(Settings(), state_dir=state_dir))
    chance = random.Random(seed)

    def submit(server: Server) -> tuple[str, str]:
        key = new_id("key")
        body = {
            "presenter": {"avatar_id": _AVATAR},
            "speech": {"text": f"This is number {chance.randrange(1000)}.", "voice": {"voice_id": "en-us"}},
            "frame": {"aspect": "1:1", "height_px": 256},
        }
        while True:  # a client that repeats a request until it is answered
            try:
                with Client(server.url, (state_dir / "api_key").read_text().strip()) as client:
                    job_id = client.post("/v1/videos", body, **{"Idempotency-Key": key})["id"]
                return job_id, services.jobs.get(job_id).tenant_id
            except SpokesmodelError as error:
                if not error.retryable and error.code != "unexpected_answer":
                    raise
                time.sleep(0.1)

    server = Server(state_dir, engines="video", num_workers=num_workers)
    return _run(server, services, submit, num_jobs, chance, mean_pause_s)


def _run(
    server: Server,
    services: Services,
    submit: Callable[[Server], tuple[str, str]],
    num_jobs: int,
    chance: random.Random,
    mean_pause_s: float,
) -> Report:
    report = Report(num_jobs=num_jobs)
    started = time.monotonic()
    server.start()
    accepted: list[tuple[str, str]] = []
    submitting = threading.Thread(target=lambda: accepted.extend(submit(server) for _ in range(num_jobs)))
    submitting.start()
    open_ids: set[str] = set()
    known = 0
    while submitting.is_alive() or known < len(accepted) or open_ids:
        time.sleep(chance.expovariate(1 / mean_pause_s))
        new = accepted[known:]
        known += len(new)
        open_ids |= {job_id for job_id, _ in new}
        open_ids = {job_id for job_id in open_ids if not services.jobs.get(job_id).state.is_final}
        _kill_something(server, chance, report)
    submitting.join()
    time.sleep(1.0)  # what was held at the last kill is taken up
    report.wall_s = time.monotonic() - started
    _settle(services, accepted, timeout_s=400)
    server.terminate()
    _judge(services, accepted, report)
    return report


def _kill_something(server: Server, chance: random.Random, report: Report) -> None:
    what = chance.choice(("worker", "worker", "server", "both"))
    report.kills[what] += 1
    if what != "server":
        pids = server.worker_pids()
        for pid in pids if what == "both" else pids and [chance.choice(pids)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    if what != "worker":
        server.kill()
        server.start()


def _settle(services: Services, accepted: Sequence[tuple[str, str]], *, timeout_s: float) -> None:
    """Wait until usage is recorded for all that succeeded, and every webhook is through."""
    give_up_at = time.monotonic() + timeout_s
    while time.monotonic() < give_up_at:
        charges = _num_charges(services, accepted)
        jobs = _jobs(services, accepted)
        if all(charges[job.id] for job in jobs if job.result) and all(job.step is not JobStep.NOTIFY for job in jobs):
            return
        time.sleep(0.5)


def _judge(services: Services, accepted: Sequence[tuple[str, str]], report: Report) -> None:
    charges = _num_charges(services, accepted)
    if len({job_id for job_id, _ in accepted}) != report.num_jobs:
        report.faults.append(f"{len(accepted)} accepted jobs, {report.num_jobs} asked for")
    for job in _jobs(services, accepted):
        report.states[job.state] += 1
        report.attempts[job.attempt] += 1
        if job.failure is not None:
            report.failures[job.failure.code] += 1
        report.faults += [f"{job.id}: {fault}" for fault in _faults_of(job, services, charges[job.id])]


def _faults_of(job: Job, services: Services, num_charges: int) -> list[str]:
    found = []
    if not job.state.is_final:
        found.append(f"still {job.state}")
    if (job.result is not None) != (job.state is JobState.SUCCEEDED):
        found.append(f"{job.state}, and {'a' if job.result else 'no'} result")
    if num_charges != (1 if job.state is JobState.SUCCEEDED else 0):
        found.append(f"{job.state}, and {num_charges} usage records")
    for output in job.result.outputs if job.result else ():
        if services.objects.head(ObjectKey.parse(output.key)).size_bytes != output.size_bytes:
            found.append(f"{output.name} has another size than told")
    return found


def _jobs(services: Services, accepted: Sequence[tuple[str, str]]) -> list[Job]:
    return [services.jobs.get(job_id) for job_id, _ in accepted]


def _num_charges(services: Services, accepted: Sequence[tuple[str, str]]) -> Counter[str]:
    now = services.clock.now()
    charges: Counter[str] = Counter()
    for tenant_id in {tenant_id for _, tenant_id in accepted}:
        records = services.usage.list(tenant_id, since=now - timedelta(days=1), until=now + timedelta(days=1))
        charges.update(record.job_id for record in records)
    return charges


def rows(num_noop: int = NUM_NOOP, num_real: int = NUM_REAL) -> list[Row]:
    """No-op and real jobs under kills; ``benchmarks.notices`` has the run with everything."""
    return [
        row_of("kill -9 under {} no-op jobs", run_noop, num_noop),
        row_of("kill -9 under {} real jobs", run_real, num_real),
    ]


def row_of(what: str, run: Callable[..., Report], num_jobs: int) -> Row:
    """One run in a folder of its own."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        report = run(Path(folder) / "state", num_jobs=num_jobs, seed=1)
    told = [f"killed: {_listed(report.kills)}", f"ended: {_listed(report.states)}"]
    told += [f"failures: {_listed(report.failures)}"] if report.failures else []
    told += [f"notices: {_listed(report.notices)}"] if report.notices else []
    told += [f"webhooks: {_listed(report.webhooks)}"] if report.webhooks else []
    for fault in report.faults[:20]:
        print(fault, file=sys.stderr)
    return Row(
        what=f"{what.format(num_jobs)}: jobs without one final state, result and charge",
        value=str(len(report.faults)),
        target="0",
        reached=not report.faults,
        note=f"{'; '.join(told)}; {report.wall_s:.0f} s",
    )


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{number} {name}" for name, number in sorted(counts.items()))


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--noop", type=int, default=NUM_NOOP)
    parser.add_argument("--real", type=int, default=NUM_REAL)
    options = parser.parse_args()
    values: list[Any] = rows(options.noop, options.real)
    for row in values:
        print(row)


if __name__ == "__main__":
    _main()
