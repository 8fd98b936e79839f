"""The public surface: what programs outside and other parts inside may rely on.

``python -m tests.architecture.surface`` writes ``surface.txt``; a test compares it with the code, so that nothing
public changes unnoticed.
"""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

import typer.main

from lambdas.api.openapi import document
from services.domain import errors
from spokesmodel.cli.app import app
from tests.architecture.repository import ROOT

TARGET = Path(__file__).with_name("surface.txt")


def surface() -> list[str]:
    """Routes, commands with their options, error branches, port methods; one a line."""
    return [*_routes(), *_commands(), *_errors(), *_ports()]


def _routes() -> list[str]:
    spec: dict[str, Any] = document()
    return sorted(
        f"route {method.upper()} {path} {operation.get('operationId', '')}".rstrip()
        for path, methods in spec["paths"].items()
        for method, operation in methods.items()
        if method in {"get", "post", "put", "delete", "patch"}
    )


def _commands() -> list[str]:
    return sorted(_commands_below(typer.main.get_command(app), ""))


def _commands_below(command: Any, path: str) -> list[str]:
    if hasattr(command, "commands"):
        return [line for name, one in command.commands.items() for line in _commands_below(one, f"{path} {name}")]
    return [f"command{path} {' '.join(sorted(option for param in command.params for option in param.opts))}"]


def _errors() -> list[str]:
    found = inspect.getmembers(errors, inspect.isclass)
    return sorted(f"error {name} {cls.default_code}" for name, cls in found if issubclass(cls, errors.SpokesmodelError))


def _ports() -> list[str]:
    lines = []
    for path in sorted((ROOT / "services" / "ports").glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and any(ast.unparse(base) == "Protocol" for base in node.bases):
                lines += [
                    f"port {node.name}.{method.name}({ast.unparse(method.args)})"
                    for method in node.body
                    if isinstance(method, ast.FunctionDef)
                ]
    return lines


if __name__ == "__main__":
    TARGET.write_text("\n".join(surface()) + "\n", encoding="utf-8")
