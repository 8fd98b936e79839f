"""What the command line prints, for people or for programs, and the status it exits with."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from services.domain import errors

if TYPE_CHECKING:
    from collections.abc import Callable

OK: Final = 0
NOT_VERIFIED: Final = 1
USAGE: Final = 2
REJECTED: Final = 3
ENGINE_FAILED: Final = 4
UNAVAILABLE: Final = 5
CANCELED: Final = 6

EXIT_CODES_HELP: Final = (
    "Exit status: 0 done; 1 a file does not verify; 2 wrong usage; 3 content rejected (the file or text cannot be "
    "used as it is); 4 the engine failed; 5 a part is missing or not answering; 6 canceled. Errors tell their code on "
    "standard error."
)

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document for programs, and no progress.")]

# Failures that an engine reports travel by code, without their class.
_ENGINE_CODES: Final = frozenset(
    {
        "attempt_timed_out",
        "damaged_output",
        "deadline_exceeded",
        "dispatch_failed",
        "empty_output",
        "foreign_output",
        "memory_exceeded",
        "output_missing",
        "prepare_failed",
        "signing_failed",
    }
)
_UNAVAILABLE_CODES: Final = frozenset({"weights_missing", "voice_not_installed", "checkpoint_not_configured"})


def exit_status(error: errors.SpokesmodelError) -> int:
    """The status for an error, by its place in the tree; for a job's failure by its code."""
    if isinstance(error, errors.Canceled):
        return CANCELED
    if isinstance(error, errors.InvalidRequest):
        return USAGE
    if isinstance(error, errors.Unavailable | errors.QuotaExceeded):
        return UNAVAILABLE
    if isinstance(error, errors.EngineFailed):
        return ENGINE_FAILED
    return REJECTED


def error_of_failure(failure: Mapping[str, Any]) -> errors.SpokesmodelError:
    """A failed job's failure as the error that it was."""
    code, detail, param = str(failure["code"]), str(failure["detail"]), failure.get("param")
    branch: type[errors.SpokesmodelError] = errors.ContentRejected
    if code in _ENGINE_CODES or code.startswith("engine_"):
        branch = errors.EngineFailed
    if code in _UNAVAILABLE_CODES or code.endswith(("_not_installed", "_not_configured", "_unavailable")):
        branch = errors.Unavailable
    return branch(detail, code=code, param=param, retryable=bool(failure.get("retryable")))


@contextmanager
def told_errors(as_json: bool) -> Iterator[None]:
    """Print the product's errors with their code, and exit with their status."""
    try:
        yield
    except errors.SpokesmodelError as error:
        _tell(error, as_json=as_json)
        raise typer.Exit(exit_status(error)) from error
    except KeyboardInterrupt as error:
        _tell(errors.Canceled("Stopped by Ctrl-C."), as_json=as_json)
        raise typer.Exit(CANCELED) from error


def _tell(error: errors.SpokesmodelError, *, as_json: bool) -> None:
    if as_json:
        document = {"code": error.code, "detail": error.detail, "param": error.param, "retryable": error.retryable}
        sys.stderr.write(json.dumps({"error": document}, ensure_ascii=False) + "\n")
    else:
        where = f" ({error.param})" if error.param else ""
        sys.stderr.write(f"error: {error.detail}{where}\ncode: {error.code}\n")


def print_json(document: object) -> None:
    """One JSON document on standard output."""
    ascii_only = (sys.stdout.encoding or "").lower() != "utf-8"
    sys.stdout.write(json.dumps(document, ensure_ascii=ascii_only, indent=2) + "\n")


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table that fits the terminal; plain lines with tabs when it goes to a file or pipe."""
    if not sys.stdout.isatty():
        sys.stdout.writelines("\t".join(row) + "\n" for row in rows)
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*columns, box=None, header_style="bold", pad_edge=False)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console().print(table)


@contextmanager
def progress_bar(as_json: bool) -> Iterator[Callable[[str, float], None]]:
    """A bar on standard error that takes a stage and a fraction; silent for programs."""
    if as_json:
        yield lambda stage, fraction: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description:<12}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("starting", total=1.0)
        yield lambda stage, fraction: progress.update(task, description=stage, completed=fraction)
