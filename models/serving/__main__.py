"""``python -m models.serving``: the engine container's process.

SIGTERM: no new work; what runs may end within the grace period (SageMaker kills after 30 s). With ``--with-parent``
the process also ends when its standard input closes, which is how a worker outlives no runner, not even a killed one.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import secrets
import shutil
import socket
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

import uvicorn

from models.serving.app import create_app
from models.serving.engine import InferenceEngine
from models.serving.events import HttpEventSink, NoEvents
from models.serving.tasks import task_for
from services.adapters.local.clock import SystemClock
from services.adapters.local.links import LinkSigner
from services.adapters.local.objects import FileObjectStore
from services.domain.engine import EngineKind
from services.domain.errors import InvalidRequest
from services.ports.objects import ObjectStore
from services.settings import Settings


class _Server(uvicorn.Server):
    """Tells the engine of a stop signal, and the parent of the port once it is bound."""

    def __init__(self, config: uvicorn.Config, engine: InferenceEngine) -> None:
        super().__init__(config)
        self._engine = engine

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # Not uvicorn's: that would raise the signal again afterwards, and a drained stop would look like a crash.
        if not self.should_exit:
            self._engine.stop()
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            port = self.servers[0].sockets[0].getsockname()[1]
            sys.stdout.write(json.dumps({"port": port}) + "\n")
            sys.stdout.flush()
            os.dup2(2, 1)  # nobody reads on: what a library prints must not fill the pipe and block


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until told to stop."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    settings = Settings.from_environment(os.environ)
    _limit_memory(settings.engine_memory_bytes)
    if options.with_parent:
        threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()
    events_token = os.environ.get("ENGINE_EVENTS_TOKEN", "")
    engine = InferenceEngine(
        store=_object_store(settings),
        events=HttpEventSink(options.events_url, token=events_token) if options.events_url else NoEvents(),
        tasks={kind: task_for(kind, settings) for kind in options.engines},
        clock=SystemClock(),
        scratch_dir=_empty_folder(options.scratch_dir),
        grace_s=options.grace_s,
    )
    config = uvicorn.Config(
        create_app(engine, max_request_bytes=settings.max_request_bytes),
        host=options.host,
        port=options.port,
        lifespan="on",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=int(options.grace_s) + 2,
    )
    _Server(config, engine).run()
    logging.shutdown()
    # An attempt that ignored its end must not keep the process: interpreter exit would wait for its thread.
    os._exit(0)


def _object_store(settings: Settings) -> ObjectStore:
    """The store that the settings name; nothing else of the product's state is opened here."""
    if settings.profile != "local":
        raise InvalidRequest(f"Profile {settings.profile!r} is not known; known: local.", code="unknown_profile")
    # An engine makes no links: the secret is thrown away.
    links = LinkSigner(secret=secrets.token_hex(), public_url=settings.public_url, clock=SystemClock())
    return FileObjectStore(settings.state_dir / "objects", links=links)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m models.serving", description="Serve /ping and /invocations.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8080, help="0 takes a free one; it is told on standard output")
    parser.add_argument("--engines", type=_engines, default=(EngineKind.VIDEO,), help="comma-separated kinds")
    parser.add_argument("--events-url", help="where progress is posted, with the token in ENGINE_EVENTS_TOKEN")
    parser.add_argument("--scratch-dir", type=Path, help="emptied at start; default: a temporary folder")
    parser.add_argument("--grace-s", type=float, default=25.0, help="how long a running attempt may outlive SIGTERM")
    parser.add_argument("--with-parent", action="store_true", help="end when standard input closes")
    return parser


def _engines(text: str) -> tuple[EngineKind, ...]:
    return tuple(EngineKind(name) for name in text.split(","))


def _empty_folder(path: Path | None) -> Path:
    if path is None:
        return Path(tempfile.mkdtemp(prefix="spokesmodel-engine-"))
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True, exist_ok=True)
    return path


def _limit_memory(limit_bytes: int) -> None:
    """Make an allocation beyond the limit fail in this process, instead of the machine's memory."""
    if limit_bytes <= 0 or not sys.platform.startswith("linux"):
        return
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    soft = limit_bytes if hard == resource.RLIM_INFINITY else min(limit_bytes, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _end_with_parent() -> None:
    while os.read(0, 1024):
        pass
    os._exit(0)


if __name__ == "__main__":
    main()
