"""Finds workers that hang: their event loop answers pings whatever an attempt does, unless the process is stuck."""

from __future__ import annotations

import http.client
import json
import logging
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

_log: Final = logging.getLogger("spokesmodel.runner")
SILENT_PINGS: Final = 3  # in a row, and the worker counts as hung


def ping(port: int, timeout_s: float) -> tuple[int, dict[str, Any]]:
    """Status and values of the worker's answer.

    Raises:
        TimeoutError: It takes connections and is silent, as a hung process is.
        OSError, http.client.HTTPException, ValueError: It is not there, or is no worker.
    """
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout_s)
    try:
        connection.request("GET", "/ping")
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


@contextmanager
def watched(name: str, process: subprocess.Popen[bytes] | None, port: int, *, silence_s: float) -> Iterator[None]:
    """Meanwhile, kill ``process`` once it has answered no ping for ``silence_s``."""
    ended = threading.Event()
    pause_s = silence_s / SILENT_PINGS

    def watch() -> None:
        num_silent = 0  # counted, not timed: after this process itself was stopped, the clock would say too much
        while not ended.wait(pause_s if num_silent == 0 else 0):
            num_silent = 0 if _answers(port, pause_s) else num_silent + 1
            if num_silent == SILENT_PINGS and not ended.is_set() and process is not None:
                _log.warning("%s has not answered for %.0f s and is killed", name, silence_s)
                process.kill()
                return

    threading.Thread(target=watch, name=f"{name}-watch", daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def _answers(port: int, timeout_s: float) -> bool:
    started_s = time.monotonic()
    try:
        ping(port, timeout_s)
    except TimeoutError:
        return False
    except (OSError, http.client.HTTPException, ValueError):
        # It ends, which its connection for the attempt will tell; or it cannot take one more connection just now.
        time.sleep(max(0.0, timeout_s - (time.monotonic() - started_s)))
    return True
