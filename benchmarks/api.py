"""Creating jobs: 16 clients at once against the local server, each request a video of a built-in avatar.

The server is a process of its own (``python -m benchmarks.api api|whole FOLDER``), so that its CPU time is its own:
``api`` serves requests alone; ``whole`` is the runner, which also prepares what was created, without workers, whose
rendering would take the cores.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.measure import Row
from services.bootstrap import Services

NUM_CLIENTS = 16
NUM_REQUESTS = 4000
NUM_WARM_UP = 400
REPETITIONS = 3
TARGET_P95_MS = 40.0


NUM_TENANTS = 20  # so that no tenant meets the limit of unfinished jobs, which is as in service

# The limit is checked with every request all the same; met, it would end the measurement.
_UNLIMITED: Final[dict[str, Any]] = {"requests_per_s": 1e9, "request_burst": 10**9}


@dataclass(frozen=True)
class Run:
    """One measured load."""

    cpu_ms: float
    latencies_ms: list[float]
    wall_s: float

    def percentile(self, percent: int) -> float:
        return statistics.quantiles(self.latencies_ms, n=100)[percent - 1]


def rows() -> list[Row]:
    """CPU time a request and latency: the API alone, with idempotency keys, and in the whole server."""
    return [
        *_rows_of("create a job", "api", with_keys=False),
        *_rows_of("create a job, with Idempotency-Key", "api", with_keys=True),
        *_rows_of("create a job, whole server (its CPU also prepares the jobs)", "whole", with_keys=False),
    ]


def _rows_of(what: str, server_kind: str, *, with_keys: bool) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        server = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.api", server_kind, folder],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            if server.stdout is None:
                raise RuntimeError("the server has no output")
            ready = json.loads(server.stdout.readline())
            load = Load(ready["port"], ready["keys"], ready["body"], with_keys=with_keys)
            asyncio.run(load.run(NUM_WARM_UP))
            runs = [_measured(load, server.pid) for _ in range(REPETITIONS)]
        finally:
            server.kill()
            server.wait()
    run = sorted(runs, key=lambda run: run.percentile(95))[len(runs) // 2]
    note = f"{NUM_CLIENTS} clients, {NUM_REQUESTS} requests, median of {REPETITIONS} runs by p95"
    p95 = run.percentile(95)
    return [
        Row(what=f"{what}: server CPU a request", value=f"{run.cpu_ms:.2f} ms", note=note),
        Row(
            what=f"{what}: p95 latency",
            value=f"{p95:.1f} ms",
            target=f"< {TARGET_P95_MS:g} ms",
            reached=p95 < TARGET_P95_MS,
            note=f"p50 {run.percentile(50):.1f} ms, p99 {run.percentile(99):.1f} ms, "
            f"{NUM_REQUESTS / run.wall_s:.0f} requests/s",
        ),
    ]


def _measured(load: Load, server_pid: int) -> Run:
    cpu_before, before = _cpu_s(server_pid), time.perf_counter()
    latencies = asyncio.run(load.run(NUM_REQUESTS))
    wall_s = time.perf_counter() - before
    return Run(
        cpu_ms=1000 * (_cpu_s(server_pid) - cpu_before) / NUM_REQUESTS,
        latencies_ms=[1000 * latency for latency in latencies],
        wall_s=wall_s,
    )


def _cpu_s(pid: int) -> float:
    """CPU-seconds of a process so far, user and system."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Load:
    """Clients that keep their connection and send the next request when the last is answered.

    Written on sockets: a client library would use more CPU than the server, on the same machine.
    """

    def __init__(self, port: int, keys: list[str], body: str, *, with_keys: bool) -> None:
        self._port = port
        self._api_keys = keys
        self._body = body.encode()
        self._with_keys = with_keys
        self._sent = 0

    async def run(self, num_requests: int) -> list[float]:
        """Latencies in seconds of ``num_requests`` requests, all of which must be accepted."""
        self._left = num_requests
        found = await asyncio.gather(*(self._client() for _ in range(NUM_CLIENTS)))
        return [latency for latencies in found for latency in latencies]

    async def _client(self) -> list[float]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        latencies = []
        while self._left > 0:
            self._left -= 1
            request = self._request()
            begun = time.perf_counter()
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            size = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            body = await reader.readexactly(size)
            latencies.append(time.perf_counter() - begun)
            if not head.startswith(b"HTTP/1.1 202"):
                raise RuntimeError(f"not accepted: {head.decode()}{body.decode()}")
        writer.close()
        return latencies

    def _request(self) -> bytes:
        self._sent += 1
        key = self._api_keys[self._sent % len(self._api_keys)]
        head = (
            f"POST /v1/videos HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(self._body)}\r\n"
        )
        if self._with_keys:
            head += f"Idempotency-Key: {os.getpid()}-{id(self)}-{self._sent}\r\n"
        return head.encode() + b"\r\n" + self._body


def serve_api(folder: Path) -> None:
    """The API on a free port, over the adapters of one machine."""
    import logging
    import socket

    import uvicorn

    from lambdas import runtime
    from services.bootstrap import bootstrap
    from services.settings import Settings
    from spokesmodel.bridge import build_app
    from spokesmodel.first_start import install_avatars
    from spokesmodel.template import load

    services = bootstrap(Settings(state_dir=folder, **_UNLIMITED))
    install_avatars(services)
    for handler in runtime.logger.handlers:  # the pipe is read for one line only: full of logs it would stop us
        if isinstance(handler, logging.StreamHandler):
            handler.setStream(sys.stderr)
    app = build_app(services, load(Path(__file__).parents[1] / "template.yaml"))
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as the runner does
    _tell(listener.getsockname()[1], services)
    uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False)).run([listener])


def serve_whole(folder: Path) -> None:
    """The runner without workers."""
    import threading
    from dataclasses import replace

    from services.settings import Settings
    from spokesmodel.runner import LocalSystem

    with LocalSystem(replace(Settings(), state_dir=folder, **_UNLIMITED), with_workers=False, quiet=True) as system:
        _tell(int(system.url.rpartition(":")[2]), system.services)
        threading.Event().wait()


def _tell(port: int, services: Services) -> None:
    from services.usecases.manage_keys import create_tenant, issue_key
    from spokesmodel.first_start import BUILT_IN_AVATARS

    stores = {"tenants": services.tenants, "audit": services.audit, "clock": services.clock}
    tenants = [create_tenant(f"Client {number}", **stores) for number in range(NUM_TENANTS)]
    keys = [issue_key(tenant.id, **stores).secret for tenant in tenants]

    body = {
        "presenter": {"avatar_id": BUILT_IN_AVATARS[0].id},
        "speech": {"text": "Meet the Aurora: 190 grams, made for wet streets.", "voice": {"voice_id": "en-us"}},
        "frame": {"aspect": "1:1", "fps": 25},
        "subtitles": "burn",
        "callback_id": "campaign-42",
    }
    print(json.dumps({"port": port, "keys": keys, "body": json.dumps(body)}), flush=True)


if __name__ == "__main__":
    {"api": serve_api, "whole": serve_whole}[sys.argv[1]](Path(sys.argv[2]))
