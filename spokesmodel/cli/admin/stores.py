"""The stores that an admin command works on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeVar

import typer

from spokesmodel.cli.output import told_errors

if TYPE_CHECKING:
    from services.bootstrap import Services
    from services.ports.dead_letters import DeadLetters
    from services.ports.jobs import Page

T = TypeVar("T")

StateDir = Annotated[
    Path | None,
    typer.Option("--state-dir", envvar="SPOKESMODEL_STATE_DIR", help="Of the server. [default: .spokesmodel]"),
]
TenantId = Annotated[str, typer.Argument(help="The tenant's id.")]
Limit = Annotated[int, typer.Option("--limit", min=1, max=10_000, help="How many at most.")]


@contextmanager
def stores(state_dir: Path | None, *, as_json: bool) -> Iterator[Services]:
    """The container by the settings; errors are told as every command tells them."""
    with told_errors(as_json):
        from services.bootstrap import bootstrap
        from services.domain.errors import NotFound
        from services.settings import Settings

        settings = Settings.from_environment(os.environ)
        if state_dir is not None:
            settings = replace(settings, state_dir=state_dir)
        if settings.profile == "local" and not settings.state_dir.is_dir():
            raise NotFound(
                f"There is no state folder {settings.state_dir}; `spokesmodel serve` makes one.",
                code="state_dir_not_found",
            )
        yield bootstrap(settings)


def dead_letters(services: Services) -> DeadLetters:
    """The adapter of the services' profile."""
    if services.settings.profile == "aws":
        from services.adapters.aws.clients import Clients
        from services.adapters.aws.dead_letters import SqsDeadLetters
        from services.adapters.aws.step_queue import queue_urls

        return SqsDeadLetters(Clients(), urls=queue_urls(services.settings))
    from services.adapters.local.dead_letters import NoDeadLetters

    return NoDeadLetters()


class _Listing(Protocol[T]):
    def __call__(self, *, cursor: str | None, limit: int) -> Page[T]: ...


def first_of(listing: _Listing[T], limit: int) -> list[T]:
    """Up to ``limit`` of a listing that comes in slices."""
    found: list[T] = []
    cursor: str | None = None
    while len(found) < limit:
        page = listing(cursor=cursor, limit=min(100, limit - len(found)))
        found += page.items
        cursor = page.cursor
        if cursor is None:
            break
    return found


def moment(value: datetime | None) -> str:
    """RFC 3339 in seconds, or nothing."""
    return "" if value is None else value.isoformat(timespec="seconds").replace("+00:00", "Z")


def values_of(thing: Any) -> dict[str, Any]:
    """A row as JSON values."""
    from services.domain.wire import to_values

    return to_values(thing)


def confirm(question: str, *, yes: bool, ask: Callable[[str], bool] = typer.confirm) -> None:
    """Go on when the operator says so; without a terminal only with ``--yes``."""
    if not yes and not ask(question):
        raise typer.Exit(1)
