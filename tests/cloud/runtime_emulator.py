"""A staged function under AWS's own runtime interface emulator and runtime client: Lambda without Docker.

Its interpreter sees what Lambda's does: the staged folder, boto3 and the runtime client, nothing of this project's own
environment.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import httpx

from tests.emulator import ROOT

RUNTIME: Final = ROOT / ".tools" / "runtime" / "bin" / "python"
_RAPID: Final = "samcli/local/rapid/aws-lambda-rie-x86_64"
_START_S: Final = 20.0


def binary() -> Path | None:
    """The emulator, which aws-sam-cli's wheel carries; None where it is not installed."""
    found = sorted((ROOT / ".tools" / "sam" / "lib").glob(f"python*/site-packages/{_RAPID}"))
    return found[0] if found and RUNTIME.exists() else None


class RuntimeEmulator:
    """One function. ``log`` is its and the emulator's output."""

    def __init__(
        self, folder: Path, handler: str, *, log: Path, timeout_s: int, environment: Mapping[str, str]
    ) -> None:
        rapid = binary()
        assert rapid is not None
        self._port, runtime_port = _free_port(), _free_port()
        self._log = log
        own = {
            "PATH": os.environ["PATH"],
            "AWS_LAMBDA_FUNCTION_TIMEOUT": str(timeout_s),
            "AWS_LAMBDA_FUNCTION_NAME": "function",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1024",
            "LAMBDA_TASK_ROOT": str(folder),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        command = [rapid, "--runtime-interface-emulator-address", f"127.0.0.1:{self._port}"]
        command += ["--runtime-api-address", f"127.0.0.1:{runtime_port}", RUNTIME, "-m", "awslambdaric", handler]
        rapid.chmod(0o755)
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            env={**own, **environment},
            stdout=log.open("wb"),
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._client = httpx.Client(base_url=f"http://127.0.0.1:{self._port}", timeout=60, trust_env=False)
        self._wait()

    def call(self, event: Any) -> Any:
        """The function's answer; text where it is no JSON, as a timeout's is."""
        answer = self._client.post("/2015-03-31/functions/function/invocations", json=event)
        try:
            return answer.json()
        except json.JSONDecodeError:
            return answer.text

    def pid(self) -> int | None:
        """The process that runs the function now; None before the first call."""
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue  # it has ended
            if parent == self._process.pid and b"awslambdaric" in command:
                return int(entry.name)
        return None

    def output(self) -> str:
        """What function and emulator have written."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    def close(self) -> None:
        """End both."""
        self._client.close()
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _wait(self) -> None:
        until = time.monotonic() + _START_S
        while time.monotonic() < until and self._process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self._port), 1.0).close()
                return
            except OSError:
                time.sleep(0.02)
        raise RuntimeError(f"The runtime interface emulator did not start:\n{self.output()[-2000:]}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
