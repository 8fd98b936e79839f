"""uvicorn, run as the engine's processes need it: told to stop once, its port told to whoever started it."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Callable
from types import FrameType
from typing import Final

import uvicorn
from starlette.types import ASGIApp

_AFTER_GRACE_S: Final = 2


class _Server(uvicorn.Server):
    """Tells the engine of a stop signal, and the parent of the port once it is bound."""

    def __init__(self, config: uvicorn.Config, stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._stop = stop

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # Not uvicorn's: that would raise the signal again afterwards, and a drained stop would look like a crash.
        if not self.should_exit:
            self._stop()
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            port = self.servers[0].sockets[0].getsockname()[1]
            sys.stdout.write(json.dumps({"port": port}) + "\n")
            sys.stdout.flush()
            os.dup2(2, 1)  # nobody reads on: what a library prints must not fill the pipe and block


def run_server(app: ASGIApp, *, host: str, port: int, grace_s: float, stop: Callable[[], None]) -> None:
    """Serve ``app`` until SIGTERM or SIGINT, and then until its open requests are answered or the grace is over.

    Args:
        stop: Called at the signal.
    """
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        lifespan="on",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=int(grace_s) + _AFTER_GRACE_S,
    )
    _Server(config, stop).run()
