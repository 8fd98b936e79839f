"""A worker: a subprocess that runs the engine's app on a loopback port.

The one-machine runner and the container on AWS run attempts in workers, so that an attempt that crashes, hangs or takes
all memory ends a process that is started again, and nothing else.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import IO, Final

from models.serving.watch import SILENT_PINGS, ping, watched
from services.domain.engine import EngineAnswer, EngineKind, EngineRequest
from services.domain.errors import EngineFailed, Unavailable
from services.domain.wire import decode, encode

_log: Final = logging.getLogger("spokesmodel.runner")
_PING_TIMEOUT_S: Final = 5.0
_BACKOFF_S: Final = (0.0, 0.2, 1.0, 3.0, 10.0)  # before the n-th start in a row that led to nothing
_GRACE_S: Final = 2.0
_AFTER_GRACE_S: Final = 2.0

# ``python -m models.serving``, but for the current folder, whose modules are not ours: this product's own folder comes
# last in the path, in case it is not installed.
_RUN: Final = (
    f"import sys; sys.path.append({str(Path(__file__).resolve().parents[2])!r}); "
    "from models.serving.__main__ import main; main()"
)


class WorkerState(StrEnum):
    READY = "ready"
    LOADING = "loading"
    UNUSABLE = "unusable"
    DEAD = "dead"


class WorkerNotReached(Exception):
    """The worker did not take the attempt: nothing was run."""


class Worker:
    """One engine process, started again whenever it is found dead. Used by one thread."""

    def __init__(
        self,
        name: str,
        *,
        engines: Sequence[EngineKind],
        environment: Mapping[str, str],
        scratch_dir: Path,
        events_url: str,
        log: IO[bytes] | None = None,
        grace_s: float = _GRACE_S,
        on_end: Callable[[int], object] = lambda pid: None,
    ) -> None:
        """``environment``: all of the worker's. ``log``: where its log goes; None is this process's standard error.

        Args:
            grace_s: How long a running attempt may go on after ``terminate``.
            on_end: Told the id of each process that has ended, which may have left something behind.
        """
        self.name = name
        self.problem: Unavailable | None = None
        self._command = [sys.executable, "-P", "-c", _RUN, "--port", "0", "--with-parent"]
        self._command += ["--engines", ",".join(engines), "--scratch-dir", str(scratch_dir)]
        self._command += ["--events-url", events_url, "--grace-s", str(grace_s)]
        self._grace_s = grace_s
        self._on_end = on_end
        self._environment = dict(environment)
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0
        self._vain_starts = 0
        self._silent_pings = 0
        self._start_not_before = 0.0

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def state(self) -> WorkerState:
        """How it is, asked now; a dead one is started again, with a growing pause between starts in vain."""
        if not self.is_alive:
            self._start()
            return WorkerState.DEAD if self._process is None else WorkerState.LOADING
        if not self._port:
            self._port = self._read_port()
            if not self._port:
                return WorkerState.LOADING
        return self._ping()

    def invoke(self, request: EngineRequest, *, timeout_s: float, silence_s: float = 30.0) -> EngineAnswer:
        """Have the attempt run.

        Args:
            silence_s: A worker that answers no ping for this long while it should run the attempt is killed.

        Raises:
            WorkerNotReached: It was not taken.
            EngineFailed: ``engine_lost`` (retryable): the worker died or hung. ``deadline_exceeded``: it did not
                answer in ``timeout_s`` and was killed.
        """
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=timeout_s)
        try:
            try:
                connection.connect()
            except OSError as error:
                raise WorkerNotReached from error
            with watched(self.name, self._process, self._port, silence_s=silence_s):
                return self._exchange(connection, request)
        finally:
            connection.close()

    def _exchange(self, connection: http.client.HTTPConnection, request: EngineRequest) -> EngineAnswer:
        try:
            connection.request("POST", "/invocations", encode(request), {"Content-Type": "application/json"})
            response = connection.getresponse()
            body = response.read()
        except TimeoutError as error:
            self.kill()
            raise EngineFailed(
                "The attempt took longer than it was given and its engine was stopped.", code="deadline_exceeded"
            ) from error
        except (OSError, http.client.HTTPException) as error:
            self.kill()  # while it is dying its port still takes connections: the next attempt would be lost with it
            raise EngineFailed(
                "The engine process died or hung during this attempt.", code="engine_lost", retryable=True
            ) from error
        if response.status != http.HTTPStatus.OK:
            raise WorkerNotReached(f"status {response.status}")
        self._vain_starts = 0
        return decode(EngineAnswer, body)

    def terminate(self) -> None:
        """Tell it to stop: what it runs ends with ``engine_stopping``."""
        if self._process is not None and self.is_alive:
            self._process.terminate()

    def kill(self) -> None:
        """End it at once."""
        if self._process is not None and self.is_alive:
            self._process.kill()
            self._process.wait()

    def close(self) -> None:
        """Wait for it to stop after ``terminate``, and end it if it does not."""
        if self._process is None:
            return
        self.terminate()  # again: it may have been started while the runner was told to stop
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(self._grace_s + _AFTER_GRACE_S)
        self.kill()
        self._close_pipes()
        self._on_end(self._process.pid)
        self._process = None

    def _start(self) -> None:
        if self._process is not None:
            _log.warning("%s ended with status %s", self.name, self._process.returncode)
            self._close_pipes()
            self._on_end(self._process.pid)
            self._process = None
            pause_s = _BACKOFF_S[min(self._vain_starts, len(_BACKOFF_S) - 1)]
            self._start_not_before = time.monotonic() + pause_s
        if time.monotonic() < self._start_not_before:
            return
        self._vain_starts += 1
        self._silent_pings = 0
        self._port = 0
        # A session of its own: the terminal's Ctrl-C is for the runner, which then tells its workers.
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=self._environment,
            start_new_session=True,
        )
        os.set_blocking(self._stdout.fileno(), False)
        _log.info("%s started, process %d", self.name, self._process.pid)

    @property
    def _stdout(self) -> IO[bytes]:
        assert self._process is not None
        assert self._process.stdout is not None
        return self._process.stdout

    def _read_port(self) -> int:
        line = self._stdout.readline()
        return int(json.loads(line)["port"]) if line else 0

    def _close_pipes(self) -> None:
        if self._process is not None:
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    pipe.close()

    def _ping(self) -> WorkerState:
        try:
            status, values = ping(self._port, _PING_TIMEOUT_S)
        except TimeoutError:
            self._silent_pings += 1
            if self._silent_pings >= SILENT_PINGS:
                _log.warning("%s has not answered %d pings and is killed", self.name, SILENT_PINGS)
                self.kill()
            return WorkerState.LOADING
        except (OSError, http.client.HTTPException, ValueError):
            return WorkerState.LOADING
        self._silent_pings = 0
        if status == http.HTTPStatus.OK:
            self.problem = None
            return WorkerState.READY
        if values.get("state") == "unusable":
            self.problem = Unavailable(str(values["detail"]), code=str(values["code"]), retryable=False)
            return WorkerState.UNUSABLE
        return WorkerState.LOADING
