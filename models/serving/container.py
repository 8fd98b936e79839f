"""The container on AWS: workers behind one port (SageMaker) or one queue (ECS, a GPU machine, an emulator).

This process opens no file of a customer. It holds the container's credentials, takes attempts, has workers run them and
tells what they answer. Workers get credentials for their attempt only, where ``engine_role_arn`` names a role.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from models.serving.app import create_app
from models.serving.events import NoEvents
from models.serving.loopback import Loopback
from models.serving.pool import EngineProcess, WorkerPool
from models.serving.queue_worker import QueueWorker
from models.serving.server import run_server
from models.serving.worker import Worker
from services.adapters.aws.attempt_session import AttemptSessions
from services.adapters.aws.clients import Clients
from services.adapters.aws.work_queue import SqsEngineNotices, SqsWorkQueue
from services.adapters.local.clock import SystemClock
from services.domain.engine import EngineKind, EngineRequest
from services.domain.errors import InvalidRequest
from services.settings import Settings

_AFTER_GRACE_S: Final = 2.0
_LAST_WORDS_S: Final = 1.0
_PATIENCE_S: Final = 60.0


def serve(settings: Settings, options: argparse.Namespace) -> None:
    """Until told to stop.

    Raises:
        InvalidRequest: ``missing``: the settings name no queue to serve.
    """
    if options.work_queue and not (settings.work_queue_url and settings.engine_queue_url):
        raise InvalidRequest(
            "A queue's worker needs SPOKESMODEL_WORK_QUEUE_URL and SPOKESMODEL_ENGINE_QUEUE_URL.", code="missing"
        )
    scratch = options.scratch_dir or Path(tempfile.mkdtemp(prefix="spokesmodel-engine-"))
    clients = Clients()
    notices = SqsEngineNotices(clients, settings.engine_queue_url) if settings.engine_queue_url else None
    loopback = Loopback(notices or NoEvents(), credentials=_credentials(settings, clients))
    pool = WorkerPool(_workers(settings, options, loopback, scratch), scope=loopback.attempt, clock=SystemClock())
    queue = None
    if options.work_queue and notices:
        queue = QueueWorker(SqsWorkQueue(clients, settings.work_queue_url), notices, pool)
        queue.start()

    def stop() -> None:
        if queue is not None:
            queue.stop()
        pool.stop()

    app = create_app(
        pool,
        max_request_bytes=settings.max_request_bytes,
        num_threads=pool.num_workers,
        takes_invocations=queue is None,
        patience_s=_PATIENCE_S,
    )
    # A container is reached from outside or not at all. It outwaits its workers, whose last words it passes on.
    grace_s = options.grace_s + _LAST_WORDS_S
    run_server(app, host=options.host or "0.0.0.0", port=options.port, grace_s=grace_s, stop=stop)
    if queue is not None:
        queue.join(options.grace_s + _AFTER_GRACE_S)
    pool.close()
    loopback.close()


def _credentials(settings: Settings, clients: Clients) -> Callable[[EngineRequest], Mapping[str, str]] | None:
    if settings.profile != "aws" or not settings.engine_role_arn:
        return None
    return AttemptSessions(
        clients,
        role_arn=settings.engine_role_arn,
        bucket=settings.bucket,
        signing_key_id=settings.signing_key_id,
        certificate_secret=settings.certificate_secret,
    ).credentials


def _workers(
    settings: Settings, options: argparse.Namespace, loopback: Loopback, scratch: Path
) -> Sequence[EngineProcess]:
    names = [f"worker-{number}" for number in range(settings.engine_concurrency)]
    for name in names:
        (scratch / name).mkdir(parents=True, exist_ok=True)
    engines = tuple(EngineKind(name) for name in settings.engines.split(",")) if settings.engines else options.engines
    # What a killed worker left is gone when the next one starts: it empties its folder, and keeps all its files there.
    return [
        Worker(
            name,
            engines=engines,
            environment=loopback.environment_of(name, {**os.environ, "TMPDIR": str((scratch / name).absolute())}),
            scratch_dir=scratch / name,
            events_url=f"{loopback.url}/events",
            grace_s=options.grace_s,
        )
        for name in names
    ]
