"""Where a container's progress events go on one machine: a POST to the runner, from a thread of its own."""

from __future__ import annotations

import http.client
import logging
import queue
import threading
from typing import Final
from urllib.parse import urlsplit

from services.domain.engine import EngineEvent
from services.domain.wire import encode

_log: Final = logging.getLogger("spokesmodel.engine")
_TIMEOUT_S: Final = 2.0


class NoEvents:
    """Drops every event: for a container that nobody listens to."""

    def emit(self, event: EngineEvent) -> None:
        """Do nothing."""


class HttpEventSink:
    """Posts events to ``url`` with a bearer token. A frame never waits for it; an event may be lost."""

    def __init__(self, url: str, *, token: str) -> None:
        parts = urlsplit(url)
        self._host, self._path = parts.netloc, parts.path
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._events: queue.Queue[EngineEvent] = queue.Queue(maxsize=4)
        threading.Thread(target=self._send_all, name="events", daemon=True).start()

    def emit(self, event: EngineEvent) -> None:
        """Send ``event`` soon, or drop it when the listener is slow."""
        try:
            self._events.put_nowait(event)
        except queue.Full:
            _log.info("progress event of %s dropped", event.job_id)

    def _send_all(self) -> None:
        while True:
            self._send(self._events.get())

    def _send(self, event: EngineEvent) -> None:
        connection = http.client.HTTPConnection(self._host, timeout=_TIMEOUT_S)
        try:
            connection.request("POST", self._path, body=encode(event), headers=self._headers)
            connection.getresponse().read()
        except (OSError, http.client.HTTPException) as error:
            _log.info("progress event of %s lost: %s", event.job_id, type(error).__name__)
        finally:
            connection.close()
