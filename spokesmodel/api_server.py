"""uvicorn in a thread of its own, on a socket that is bound before anything needs to know its port."""

from __future__ import annotations

import socket
import threading
import time
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from services.domain.errors import Unavailable

_START_TIMEOUT_S: Final = 60.0
_FINISH_S: Final = 3  # for answers that are under way at the end


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free one.

    Raises:
        Unavailable: ``port_not_free``.
    """
    try:
        listener = socket.create_server((host, port), backlog=512)
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) else "a port is at most 65535"
        raise Unavailable(
            f"Cannot listen on {host}:{port}: {reason}.", code="port_not_free", retryable=False
        ) from error
    # asyncio sets it only on sockets made with IPPROTO_TCP; without it a kept connection waits 40 ms an answer.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


class ApiServer:
    """Serves an ASGI app until stopped."""

    def __init__(self, app: ASGIApp, listener: socket.socket) -> None:
        config = uvicorn.Config(
            app,
            lifespan="on",
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=_FINISH_S,
            server_header=False,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([listener],), name="api", daemon=True)

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def start(self) -> None:
        """Serve from now on.

        Raises:
            Unavailable: ``api_not_started``.
        """
        self._thread.start()
        give_up_at = time.monotonic() + _START_TIMEOUT_S
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > give_up_at:
                raise Unavailable("The API did not start; see the log.", code="api_not_started")
            time.sleep(0.005)

    def tell_to_stop(self) -> None:
        """Take no more requests."""
        self._server.should_exit = True

    def join(self, timeout_s: float) -> None:
        """Wait for the end."""
        self._thread.join(timeout_s)
