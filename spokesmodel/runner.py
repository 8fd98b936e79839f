"""The whole backend in one process and its workers: what the cloud's services do, done by threads.

API Gateway is uvicorn with a bridge; SQS event sources, schedules and the asynchronous endpoint are threads; the
functions are the same and called the same way. What is bound to what comes from ``template.yaml``.
"""

from __future__ import annotations

import logging
import os
import secrets
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import IO, Final

from starlette.types import ASGIApp

from models.serving.tasks import SERVED
from models.serving.worker import Worker, WorkerState
from services.adapters.local.clock import SystemClock
from services.bootstrap import Services, bootstrap
from services.domain.engine import EngineEvent, EngineKind, Lane
from services.domain.errors import Unavailable
from services.domain.wire import decode
from services.settings import Settings
from spokesmodel import template
from spokesmodel.api_server import ApiServer, listen
from spokesmodel.bell import Bells, RingingBatchStore, RingingEngine, RingingJobStore
from spokesmodel.bindings import bind
from spokesmodel.endpoints import Endpoint, Heartbeats
from spokesmodel.event_sources import EngineFeed, Source
from spokesmodel.first_start import first_key, install_avatars, install_models
from spokesmodel.internal import InternalApp
from spokesmodel.state_folder import API_KEY_FILE, WORKERS_LOG, StateFolder

TEMPLATE: Final = Path(__file__).resolve().parent.parent / "template.yaml"
_START_TIMEOUT_S: Final = 60.0
_STOP_TIMEOUT_S: Final = 15.0
_OLD_SCRATCH_S: Final = 600.0


class LocalSystem:
    """A running backend: ``with LocalSystem(settings) as system``. One a process, as the functions share a container.

    Attributes:
        url: Where the API listens.
        api_key: Of the state folder's first tenant; ``is_new`` when it was made at this start.
        is_open: Whether other users of this machine may look into the state folder; what it holds is private anyway.
        services: The container that handlers and threads work with.
    """

    url: str
    api_key: str
    is_new: bool
    is_open: bool
    services: Services

    def __init__(
        self,
        settings: Settings,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        engines: Sequence[EngineKind] = SERVED,
        with_workers: bool = True,
        quiet: bool = False,
    ) -> None:
        """``quiet``: workers log into the state folder and not to standard error."""
        self._settings = settings
        self._host = host
        self._port = port
        self._engines = tuple(engines)
        self._with_workers = with_workers
        self._quiet = quiet
        self._stack = ExitStack()
        self._bells = Bells()
        self._token = secrets.token_urlsafe(32)
        self._sources: list[Source] = []
        self._api: ApiServer | None = None
        self.endpoints: list[Endpoint] = []

    def __enter__(self) -> LocalSystem:
        try:
            self._start()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    @property
    def is_alive(self) -> bool:
        return self._api is not None and self._api.is_alive

    def wait_for_workers(self, timeout_s: float = _START_TIMEOUT_S) -> None:
        """Return when every worker can run attempts.

        Raises:
            Unavailable: Why one cannot, or ``engine_not_started``.
        """
        give_up_at = time.monotonic() + timeout_s
        for endpoint in self.endpoints:
            state = endpoint.wait_until_settled(give_up_at - time.monotonic())
            if state is WorkerState.UNUSABLE and endpoint.worker.problem is not None:
                raise endpoint.worker.problem
            if state is not WorkerState.READY:
                raise Unavailable(f"{endpoint.worker.name} did not start in time.", code="engine_not_started")

    def _start(self) -> None:
        folder = StateFolder(self._settings.state_dir)
        self._stack.callback(folder.close)
        listener = self._stack.enter_context(listen(self._host, self._port))
        self.url = f"http://{_reachable(self._host)}:{listener.getsockname()[1]}"
        spec = template.load(TEMPLATE, {"Profile": "local"})
        for function in spec.functions.values():
            for name, value in function.environment.items():
                if not name.startswith("SPOKESMODEL_"):  # those are the cloud's; this machine has settings of its own
                    os.environ.setdefault(name, value)
        self.services, engine = self._build()
        (folder.path / WORKERS_LOG).touch()
        folder.make_private()
        self.is_open = folder.is_open
        self._clean_up()
        install_avatars(self.services)
        install_models(self.services)
        self.api_key, self.is_new = first_key(self.services, folder.path / API_KEY_FILE)

        self._serve_with(self.services)
        sources, feed = bind(spec, self.services, engine=engine, bells=self._bells)
        self._sources += sources
        self._api = ApiServer(self._app(spec, feed), listener)
        self._api.start()
        if self._with_workers:
            self._start_workers(engine)
        for source in self._sources:
            source.start()
        folder.tell_address(self.url)

    def _serve_with(self, services: Services) -> None:
        from lambdas import runtime  # not before the template's environment is set

        # The functions log to standard output, as Lambda wants it; here that belongs to the command.
        for handler in runtime.logger.handlers:
            if isinstance(handler, logging.StreamHandler):
                handler.setStream(sys.stderr)
        if self._quiet:
            self._stack.callback(runtime.logger.setLevel, runtime.logger.log_level)
            runtime.logger.setLevel(logging.ERROR)
        runtime.use_services(services)
        self._stack.callback(runtime.use_services, None)

    def _build(self) -> tuple[Services, RingingEngine]:
        settings, clock = self._settings, SystemClock()
        if settings.public_url == Settings().public_url:
            settings = replace(settings, public_url=self.url)
        jobs = RingingJobStore(settings.state_dir / "jobs.sqlite", clock=clock, bells=self._bells)
        batches = RingingBatchStore(settings.state_dir / "batches.sqlite", clock=clock, bells=self._bells)
        engine = RingingEngine(
            settings.state_dir / "engine.sqlite",
            clock=clock,
            num_instances=settings.num_workers,
            num_interactive_instances=settings.num_preview_workers,
            bells=self._bells,
        )
        # The folder is ours alone: whatever is claimed was claimed by a runner that is no more.
        for store in (jobs, batches, engine):
            store.end_claims()
        return bootstrap(settings, clock=clock, jobs=jobs, batches=batches, engine=engine), engine

    def _clean_up(self) -> None:
        from services.adapters.local.objects import FileObjectStore

        if isinstance(self.services.objects, FileObjectStore):
            self.services.objects.remove_scratch(older_than_s=_OLD_SCRATCH_S)
            self.services.objects.remove_copies_of_the_dead()

    def _clean_up_after(self, pid: int) -> None:
        from services.adapters.local.objects import FileObjectStore

        if isinstance(self.services.objects, FileObjectStore):
            self.services.objects.remove_copies_of(pid)

    def _app(self, spec: template.Template, feed: EngineFeed) -> ASGIApp:
        from spokesmodel.bridge import build_app  # imports the functions: not before their environment is set

        def hear(body: bytes) -> None:
            feed.hear(decode(EngineEvent, body))

        return InternalApp(build_app(self.services, spec), token=self._token, hear=hear)

    def _start_workers(self, engine: RingingEngine) -> None:
        settings = self.services.settings
        heartbeats = Heartbeats(engine, lease_s=settings.lease_s)
        self._stack.callback(heartbeats.stop)
        heartbeats.start()
        environment = _worker_environment(settings) | {"ENGINE_EVENTS_TOKEN": self._token}
        for name, engines, lane in _crew(self._engines, settings):
            worker = Worker(
                name,
                engines=engines,
                environment=environment,
                scratch_dir=settings.state_dir.absolute() / "scratch" / name,
                events_url=f"{self.url}{InternalApp.PATH}",
                log=self._worker_log(),
                on_end=self._clean_up_after,
            )
            self.endpoints.append(
                Endpoint(
                    worker,
                    engine,
                    heartbeats,
                    clock=self.services.clock,
                    lease_s=settings.lease_s,
                    bell=self._bells.attempts,
                    lane=lane,
                )
            )
        self._sources += self.endpoints

    def _worker_log(self) -> IO[bytes] | None:
        if not self._quiet:
            return None
        return self._stack.enter_context((self._settings.state_dir / WORKERS_LOG).open("ab"))

    def _stop(self) -> None:
        if self._api is not None:
            self._api.tell_to_stop()
        for source in self._sources:
            source.tell_to_stop()
        self._bells.ring_all()
        give_up_at = time.monotonic() + _STOP_TIMEOUT_S
        for source in self._sources:
            source.join(max(0.1, give_up_at - time.monotonic()))
        if self._api is not None:
            self._api.join(max(0.1, give_up_at - time.monotonic()))
        self._stack.close()


def _crew(
    engines: Sequence[EngineKind], settings: Settings
) -> Iterator[tuple[str, tuple[EngineKind, ...], Lane | None]]:
    """The workers by name, what each can do, and its lane: who does previews does nothing else, so that they are quick.

    Where one lane's kinds are not served at all, who serves the other refuses them.
    """
    long = tuple(kind for kind in engines if kind.lane is Lane.LONG)
    interactive = tuple(kind for kind in engines if kind.lane is Lane.INTERACTIVE)
    is_shared = not (long and interactive)
    if long:
        for number in range(settings.num_workers):
            yield f"worker-{number}", long, None if is_shared else Lane.LONG
    if interactive:
        for number in range(settings.num_preview_workers):
            yield f"preview-worker-{number}", interactive, None if is_shared else Lane.INTERACTIVE


def _worker_environment(settings: Settings) -> dict[str, str]:
    """This process's environment with exactly these settings, and without what an engine has no use for."""
    ours = replace(settings, state_dir=settings.state_dir.absolute(), signing_secret="").to_environment()
    others = {name: value for name, value in os.environ.items() if name not in ours}
    return others | ours


def _reachable(host: str) -> str:
    return {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, host)
