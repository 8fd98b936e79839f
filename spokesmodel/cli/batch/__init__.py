"""``spokesmodel batch``: many videos from one file. ``app`` holds the commands; their parts are in modules beside."""

from __future__ import annotations

import typer

from spokesmodel.cli.batch import commands

app = typer.Typer(help="Many videos from one CSV or JSONL file.", no_args_is_help=True)
app.command("run")(commands.run)
app.command("status")(commands.status)
app.command("retry")(commands.retry)
app.command("pause")(commands.pause)
app.command("resume")(commands.resume)
app.command("cancel")(commands.cancel)
