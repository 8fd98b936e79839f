"""``spokesmodel serve``: the whole backend on this machine."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Annotated, Final

import typer

from spokesmodel.cli.output import AsJson, print_json, told_errors

_LOOK_S: Final = 0.1


def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 takes a free one.")] = 8000,
    workers: Annotated[
        int | None, typer.Option(help="Engine processes. [default: SPOKESMODEL_NUM_WORKERS or 1]")
    ] = None,
    engines: Annotated[
        str | None, typer.Option(help="Kinds of work the engines do, separated by commas. [default: all there are]")
    ] = None,
    state_dir: Annotated[
        Path, typer.Option("--state-dir", envvar="SPOKESMODEL_STATE_DIR", help="Where everything is kept.")
    ] = Path(".spokesmodel"),
    as_json: AsJson = False,
) -> None:
    """Run API, workers and everything else until Ctrl-C or SIGTERM."""
    from dataclasses import replace

    with told_errors(as_json):
        from models.serving.tasks import SERVED
        from services.domain.engine import EngineKind
        from services.domain.errors import InvalidRequest
        from services.settings import Settings
        from spokesmodel.runner import LocalSystem

        settings = replace(Settings.from_environment(os.environ), state_dir=state_dir)
        if workers is not None:
            if workers < 1:
                raise InvalidRequest(f"--workers is {workers}; 1 or more.", code="out_of_range", param="workers")
            settings = replace(settings, num_workers=workers)
        try:
            kinds = SERVED if engines is None else tuple(EngineKind(name) for name in engines.split(","))
        except ValueError as error:
            raise InvalidRequest(str(error), code="engine_kind_unknown", param="engines") from error
        told: list[int] = []  # an Event would do the same, and block for good if its own wait is interrupted
        for signum in (signal.SIGINT, signal.SIGTERM):
            signal.signal(signum, lambda number, _: told.append(number))
        with LocalSystem(settings, host=host, port=port, engines=kinds) as system:
            _tell(system.url, system.api_key, system.is_new, state_dir, as_json=as_json)
            if system.is_open:
                sys.stderr.write(
                    f"note: other users of this machine may list {state_dir}, though not read what is kept in it; "
                    f"`chmod 700 {state_dir}` ends that\n"
                )
            while not told and system.is_alive:
                time.sleep(_LOOK_S)
            if not told:
                raise typer.Exit(1)
            sys.stderr.write("stopping\n")
        # A handler that still holds a waiting request must not keep the process, whose exit would join its thread.
        sys.stdout.flush()
        os._exit(0)


def _tell(url: str, api_key: str, is_new: bool, state_dir: Path, *, as_json: bool) -> None:
    if as_json:
        print_json({"url": url, "api_key_file": str(state_dir / "api_key"), "pid": os.getpid()})
    else:
        typer.echo(f"Spokesmodel at {url} (docs: {url}/docs)")
        if is_new:
            typer.echo(f"Your API key, also kept in {state_dir / 'api_key'}: {api_key}")
        else:
            typer.echo(f"Your API key is in {state_dir / 'api_key'}")
        typer.echo(f'Try: curl -H "Authorization: Bearer $(cat {state_dir / "api_key"})" {url}/v1/avatars')
        typer.echo("Ctrl-C stops it.")
    sys.stdout.flush()
