"""The backend that a command talks to: one that already runs on the chosen state folder, or an embedded one."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from services.domain.engine import EngineKind
from services.domain.errors import EngineFailed, InvalidRequest
from spokesmodel.cli.output import error_of_failure, progress_bar

if TYPE_CHECKING:
    from spokesmodel.client import Client

_LOG_LINES: Final = 20

StateDir = Annotated[
    Path | None,
    typer.Option(
        "--state-dir",
        envvar="SPOKESMODEL_STATE_DIR",
        help="Keep jobs and results here, or use the server that runs here. Default: a folder that is removed.",
    ),
]


@contextmanager
def backend(
    state_dir: Path | None, *, with_engines: bool = True, engines: Sequence[EngineKind] | None = None
) -> Iterator[Client]:
    """A client of a running backend.

    Args:
        engines: What an embedded backend serves; None is everything.

    Raises:
        Unavailable: It cannot be started, or its engine cannot be used.
    """
    from models.serving.tasks import SERVED
    from services.settings import Settings
    from spokesmodel.client import Client
    from spokesmodel.runner import LocalSystem
    from spokesmodel.state_folder import WORKERS_LOG, running_server

    with ExitStack() as stack:
        if state_dir is not None and (server := running_server(state_dir)):
            yield stack.enter_context(Client(server.url, server.api_key))
            return
        if state_dir is None:
            folder = tempfile.TemporaryDirectory(prefix="spokesmodel-", ignore_cleanup_errors=True)
            state_dir = Path(stack.enter_context(folder))
        settings = replace(Settings.from_environment(os.environ), state_dir=state_dir)
        served = SERVED if engines is None else engines
        system = stack.enter_context(LocalSystem(settings, engines=served, with_workers=with_engines, quiet=True))
        try:
            yield stack.enter_context(Client(system.url, system.api_key))
        except EngineFailed:
            _show_end_of(state_dir / WORKERS_LOG)
            raise


def _show_end_of(log: Path) -> None:
    """What the engine logged last: it names jobs and places in the code, never content."""
    with contextlib.suppress(OSError):
        sys.stderr.writelines(log.read_text(errors="replace").splitlines(keepends=True)[-_LOG_LINES:])


def kept(state_dir: Path | None, what: str) -> Path:
    """The state folder, for commands whose results stay there.

    Raises:
        InvalidRequest: ``missing``.
    """
    if state_dir is None:
        raise InvalidRequest(
            f"{what} are kept in a state folder; name it with --state-dir.", code="missing", param="state-dir"
        )
    return state_dir


def run_job(
    client: Client, create: str | Callable[[dict[str, Any]], dict[str, Any]], body: dict[str, Any], *, as_json: bool
) -> dict[str, Any]:
    """Submit a job and wait for its success; Ctrl-C cancels it.

    Args:
        create: The path to which ``body`` is posted, or what posts it and answers the job.

    Raises:
        Canceled: By Ctrl-C, or by somebody else.
        SpokesmodelError: What the job failed with.
    """
    from services.domain.errors import Canceled

    job = client.post(create, body) if isinstance(create, str) else create(body)
    with progress_bar(as_json) as on_progress:
        try:
            job = client.wait(job["id"], on_progress)
        except KeyboardInterrupt:
            on_progress("canceling", 0.0)
            client.cancel(job["id"])
            job = client.wait(job["id"])
    if job["state"] == "canceled":
        raise Canceled(f"Job {job['id']} was canceled.")
    if job["state"] == "failed":
        raise error_of_failure(job["failure"])
    return job
