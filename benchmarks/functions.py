"""The functions as Lambda runs them: their folder's size, what importing costs, cold and warm calls.

Staged by the rule that ``sam build`` uses, run by AWS's runtime interface emulator (``make tools``) in an interpreter
that sees the folder, boto3 and the runtime client only. Warm calls ask no network: what is measured is ours,
Powertools', the runtime client's and the emulator's. The call with a key finds its tenant in the store of one machine.

Other work on the machine makes a call wait that costs 2 ms of CPU, so warm calls come in several runs: the aim is for
the quietest one's p95, and the note has all of them. What a call costs the function stands beside it, in CPU time.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.measure import Row
from services.bootstrap import bootstrap
from services.settings import Settings
from services.usecases.manage_keys import create_tenant, issue_key
from spokesmodel.template import load
from tests.cloud.runtime_emulator import RUNTIME, RuntimeEmulator, binary
from tests.cloud.stack import PYTHON_VERSION, staged_folder
from tests.emulator import ROOT

NUM_IMPORTS = 9
NUM_RUNS = 5
NUM_CALLS = 400
NUM_WARM_UP = 200
LIMIT_MB = 35.0
TARGET_IMPORT_MS = 350.0
TARGET_P95_MS = 5.0
SHIPPED_PYTHON = "3.13"


def rows() -> list[Row]:
    """Size, import CPU time of each handler, cold start and warm latency."""
    folder = staged_folder()
    return [*_sizes(), *_imports(folder), *_calls(folder)]


def _sizes() -> list[Row]:
    found = []
    for version in dict.fromkeys((SHIPPED_PYTHON, PYTHON_VERSION)):
        folder = staged_folder(version)
        size_mb = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 2**20
        compiled = any(folder.rglob("*.pyc"))
        found.append(
            Row(
                what=f"the functions' folder, Python {version}",
                value=f"{size_mb:.1f} MiB",
                target=f"< {LIMIT_MB:.0f} MiB",
                reached=size_mb < LIMIT_MB,
                note="compiled" if compiled else "not compiled: that Python is not here",
            )
        )
    return found


def _imports(folder: Path) -> list[Row]:
    found = []
    for name, function in load(ROOT / "template.yaml").functions.items():
        module = function.handler.rpartition(".")[0]
        script = (
            f"import sys, time; sys.path.insert(0, {str(folder)!r}); before = time.process_time(); import {module};"
            "print((time.process_time() - before) * 1000)"
        )
        taken = []
        for _ in range(NUM_IMPORTS):
            done = subprocess.run(
                [RUNTIME, "-I", "-B", "-c", script], env={}, capture_output=True, text=True, check=True
            )
            taken.append(float(done.stdout))
        median = statistics.median(taken)
        found.append(
            Row(
                what=f"import of {name}, CPU",
                value=f"{median:.0f} ms",
                target=f"< {TARGET_IMPORT_MS:.0f} ms",
                reached=median < TARGET_IMPORT_MS,
                note=f"median of {NUM_IMPORTS}, {min(taken):.0f} to {max(taken):.0f} ms",
            )
        )
    return found


def _calls(folder: Path) -> list[Row]:
    if binary() is None:
        return []
    with tempfile.TemporaryDirectory() as name:
        settings = Settings(state_dir=Path(name) / "state")
        services = bootstrap(settings)
        kept: Any = {"tenants": services.tenants, "audit": services.audit, "clock": services.clock}
        key = issue_key(create_tenant("Acme", **kept).id, **kept).secret
        function = RuntimeEmulator(
            folder,
            "lambdas.api.lambda_handler",
            log=Path(name) / "log",
            timeout_s=28,
            environment=settings.to_environment() | {"AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1"},
        )
        try:
            before = time.perf_counter()
            first = function.call(_get("/v1/health"))
            cold_s = time.perf_counter() - before
            assert first["statusCode"] == 200, first
            return [
                Row(what="cold call of ApiFunction", value=f"{cold_s:.2f} s", note="interpreter, import, first answer"),
                *_warm("GET /v1/health", function, _get("/v1/health"), 200),
                *_warm("a path that is not there", function, _get("/v1/nothing"), 404),
                *_warm("GET /v1/account with a key", function, _get("/v1/account", key), 200),
            ]
        finally:
            function.close()


def _get(path: str, key: str = "") -> dict[str, Any]:
    """The recorded event, for another request."""
    recorded = json.loads((ROOT / "events" / "ApiFunction.json").read_text(encoding="utf-8"))
    http = {**recorded["requestContext"]["http"], "method": "GET", "path": path}
    headers = {"host": recorded["headers"]["host"], **({"authorization": f"Bearer {key}"} if key else {})}
    context = {**recorded["requestContext"], "http": http}
    return {**recorded, "body": None, "headers": headers, "rawPath": path, "requestContext": context}


def _warm(what: str, function: RuntimeEmulator, event: dict[str, Any], status: int) -> list[Row]:
    for _ in range(NUM_WARM_UP):
        assert function.call(event)["statusCode"] == status
    runs, cpu_s = [], _cpu_s(function)
    for _ in range(NUM_RUNS):
        taken = []
        for _ in range(NUM_CALLS):
            before = time.perf_counter()
            function.call(event)
            taken.append((time.perf_counter() - before) * 1000)
        runs.append(statistics.quantiles(taken, n=100))
    cpu_ms = (_cpu_s(function) - cpu_s) * 1000 / (NUM_RUNS * NUM_CALLS)
    runs.sort(key=lambda cuts: cuts[94])
    best = runs[0]
    return [
        Row(
            what=f"warm call, {what}: p95 of the quietest of {NUM_RUNS} runs",
            value=f"{best[94]:.1f} ms",
            target=f"< {TARGET_P95_MS:.0f} ms",
            reached=best[94] < TARGET_P95_MS,
            note=f"p50 {best[49]:.1f}, p99 {best[98]:.1f} ms; p95 of all runs: "
            f"{', '.join(f'{cuts[94]:.1f}' for cuts in runs)} ms; {NUM_CALLS} calls one after another each; "
            f"{os.getloadavg()[0]:.1f} processes wanted to run",
        ),
        Row(what=f"warm call, {what}: CPU of the function's process", value=f"{cpu_ms:.1f} ms", note="a call, mean"),
    ]


def _cpu_s(function: RuntimeEmulator) -> float:
    pid = function.pid()
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
