"""The command line: one module a command. Nothing heavy is imported before a command needs it."""

from __future__ import annotations


def main() -> None:
    """Run the command line."""
    import sys

    from spokesmodel.cli.app import app

    # A file's name may be any bytes; to tell it must not break what was done.
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    app()
