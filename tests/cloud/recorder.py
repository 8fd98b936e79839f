"""A module that stands before the handlers on the emulator and writes down what they are called with."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any, Final

HANDLER: Final = re.compile(
    r"^(  (\w+Function):\n(?:.*\n)*?      Handler: )lambdas\.(\w+)\.lambda_handler", re.MULTILINE
)
_SOURCE: Final = r"""
import importlib, json

FOLDER = {folder!r}


def __getattr__(name):
    def handler(event, context):
        with open(f"{{FOLDER}}/{{name}}.events", "a") as file:
            file.write(json.dumps(event, default=str) + "\n")
        return importlib.import_module(f"lambdas.{{name}}").lambda_handler(event, context)

    return handler
"""


class Recorder:
    """``functions`` is a copy of the staged folder with the recorder in it; ``rewrite`` puts it before the handlers."""

    def __init__(self, staged: Path, folder: Path) -> None:
        self.functions = folder / "functions"
        self._records = folder / "records"
        self._records.mkdir()
        shutil.copytree(staged, self.functions)
        (self.functions / "recorder.py").write_text(_SOURCE.format(folder=str(self._records)), encoding="utf-8")

    @staticmethod
    def rewrite(template: str) -> str:
        """The template with other handlers, once its own are known."""
        return HANDLER.sub(r"\1recorder.\3", template)

    def events(self, module: str) -> list[Any]:
        """What the handler of ``lambdas.module`` was called with."""
        path = self._records / f"{module}.events"
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
