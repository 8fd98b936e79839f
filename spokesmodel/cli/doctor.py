"""``spokesmodel doctor``: what works here, and what to do about what does not."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from spokesmodel.cli.output import UNAVAILABLE, AsJson, print_json, told_errors

if TYPE_CHECKING:
    from spokesmodel.health import Finding

_MARKS: Final = {"ok": ("✓", "green"), "optional": ("–", "yellow"), "problem": ("✗", "red")}


def doctor(
    deep: Annotated[bool, typer.Option("--deep", help="Read every model file and compare its checksum.")] = False,
    state_dir: Annotated[
        Path, typer.Option("--state-dir", envvar="SPOKESMODEL_STATE_DIR", help="The folder to look at.")
    ] = Path(".spokesmodel"),
    as_json: AsJson = False,
) -> None:
    """Tell what is installed, which model files are here, and which engines can be used. Status 5 when one cannot."""
    with told_errors(as_json):
        from services.settings import Settings
        from spokesmodel.health import Status, examine

        Settings.from_environment(os.environ)  # a wrong variable is told first
        findings = examine(state_dir=state_dir, deep=deep)
        if as_json:
            print_json([asdict(finding) for finding in findings])
        else:
            _print(findings)
        if any(finding.status is Status.PROBLEM for finding in findings):
            raise typer.Exit(UNAVAILABLE)


def _print(findings: list[Finding]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(file=sys.stdout, soft_wrap=True, highlight=False)
    part = ""
    for finding in findings:
        if finding.part != part:
            part = finding.part
            console.print(Text(f"\n{part}" if part != findings[0].part else part, style="bold"))
        mark, color = _MARKS[finding.status]
        console.print(Text.assemble((f"  {mark} ", color), f"{finding.name:<28}", (finding.detail, "dim")))
        if finding.remedy:
            console.print(Text(f"    {finding.remedy}", style=color))
