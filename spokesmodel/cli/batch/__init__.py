"""``spokesmodel batch``: many videos or pictures from one file. ``app`` holds the commands."""

from __future__ import annotations

import typer

from spokesmodel.cli.batch import commands

app = typer.Typer(
    help="Many videos, previews, images or catalogue entries from one CSV or JSONL file.", no_args_is_help=True
)
app.command("run")(commands.run)
app.command("status")(commands.status)
app.command("retry")(commands.retry)
app.command("pause")(commands.pause)
app.command("resume")(commands.resume)
app.command("cancel")(commands.cancel)
