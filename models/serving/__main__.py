"""``python -m models.serving``: the engine's process.

Plain, it is one engine: what the one-machine runner and the container start as a worker. ``serve`` is the container, as
SageMaker starts it (``docker run IMAGE serve``): it keeps ``engine_concurrency`` such workers, on port 8080.
``--work-queue`` is the same container fed by ``work_queue_url``.

SIGTERM: no new work; what runs may end within the grace period (SageMaker and ECS kill after 30 s). With
``--with-parent`` the process also ends when its standard input closes, which is how a worker outlives no runner, not
even a killed one.
"""

from __future__ import annotations

import argparse
import logging
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

from models.serving import log
from models.serving.app import create_app
from models.serving.engine import InferenceEngine
from models.serving.events import HttpEventSink, NoEvents
from models.serving.server import run_server
from models.serving.stores import stores_of
from models.serving.tasks import SERVED, task_for
from services.adapters import tracing
from services.adapters.local.clock import SystemClock
from services.domain.engine import EngineKind
from services.settings import Settings


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until told to stop."""
    options = _parser().parse_args(arguments)
    log.start()
    settings = Settings.from_environment(os.environ)
    tracing.start(settings)
    if options.with_parent:
        threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()
    if options.mode == "serve" or options.work_queue:
        from models.serving.container import serve

        serve(settings, options)
    else:
        _serve_engine(settings, options)
    logging.shutdown()
    # An attempt that ignored its end must not keep the process: interpreter exit would wait for its thread.
    os._exit(0)


def _serve_engine(settings: Settings, options: argparse.Namespace) -> None:
    _limit_memory(settings.engine_memory_bytes)
    events_token = os.environ.get("ENGINE_EVENTS_TOKEN", "")
    engine = InferenceEngine(
        store_for=stores_of(settings),
        events=HttpEventSink(options.events_url, token=events_token) if options.events_url else NoEvents(),
        tasks={kind: task_for(kind, settings) for kind in options.engines},
        clock=SystemClock(),
        scratch_dir=_empty_folder(options.scratch_dir),
        grace_s=options.grace_s,
    )
    app = create_app(engine, max_request_bytes=settings.max_request_bytes)
    run_server(app, host=options.host or "127.0.0.1", port=options.port, grace_s=options.grace_s, stop=engine.stop)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m models.serving", description="Serve /ping and /invocations.")
    parser.add_argument("mode", nargs="?", choices=("serve",), help="the container: workers behind one port")
    parser.add_argument("--work-queue", action="store_true", help="the container, fed by SPOKESMODEL_WORK_QUEUE_URL")
    parser.add_argument("--host", help="default: loopback; the container: every address")
    parser.add_argument("--port", type=int, default=8080, help="0 takes a free one; it is told on standard output")
    parser.add_argument("--engines", type=_engines, default=SERVED, help="comma-separated kinds")
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
