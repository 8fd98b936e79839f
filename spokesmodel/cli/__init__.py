"""The command line: one module a command. Nothing heavy is imported before a command needs it."""

from __future__ import annotations


def main() -> None:
    """Run the command line."""
    from spokesmodel.cli.app import app

    app()
