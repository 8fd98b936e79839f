"""The functions as Lambda runs them: their folder's size, what importing costs, cold and warm calls.

Staged by the rule that ``sam build`` uses, run by AWS's runtime interface emulator (``make tools``) in an interpreter
that sees the folder, boto3 and the runtime client only. Warm calls ask no table: what is measured is ours, Powertools',
the runtime client's and the emulator's, not a network's.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.measure import Row
from spokesmodel.template import load
from tests.cloud.runtime_emulator import RUNTIME, RuntimeEmulator, binary
from tests.cloud.stack import PYTHON_VERSION, staged_folder
from tests.emulator import ROOT

NUM_IMPORTS = 9
NUM_CALLS = 1000
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
    recorded = json.loads((ROOT / "events" / "ApiFunction.json").read_text(encoding="utf-8"))
    http = recorded["requestContext"]["http"]

    def get(path: str) -> dict[str, Any]:
        context = {**recorded["requestContext"], "http": {**http, "method": "GET", "path": path}}
        return {**recorded, "body": None, "rawPath": path, "requestContext": context}

    health, unknown = get("/v1/health"), get("/v1/nothing")
    with tempfile.TemporaryDirectory() as name:
        environment = {"SPOKESMODEL_PROFILE": "aws", "AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1"}
        function = RuntimeEmulator(
            folder, "lambdas.api.lambda_handler", log=Path(name) / "log", timeout_s=28, environment=environment
        )
        try:
            before = time.perf_counter()
            first = function.call(health)
            cold_s = time.perf_counter() - before
            assert first["statusCode"] == 200, first
            return [
                Row(what="cold call of ApiFunction", value=f"{cold_s:.2f} s", note="interpreter, import, first answer"),
                _warm("warm call, GET /v1/health", lambda: function.call(health), 200),
                _warm("warm call, a path that is not there", lambda: function.call(unknown), 404),
            ]
        finally:
            function.close()


def _warm(what: str, call: Callable[[], Any], status: int) -> Row:
    for _ in range(NUM_WARM_UP):
        assert call()["statusCode"] == status
    taken = []
    for _ in range(NUM_CALLS):
        before = time.perf_counter()
        call()
        taken.append((time.perf_counter() - before) * 1000)
    cuts = statistics.quantiles(taken, n=100)
    return Row(
        what=f"{what}, p95",
        value=f"{cuts[94]:.1f} ms",
        target=f"< {TARGET_P95_MS:.0f} ms",
        reached=cuts[94] < TARGET_P95_MS,
        note=f"p50 {cuts[49]:.1f} ms, p99 {cuts[98]:.1f} ms, {NUM_CALLS} calls one after another",
    )
