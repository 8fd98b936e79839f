"""A page of the documentation whose code is run: its blocks, and the folder of a reader who follows it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from spokesmodel.runner import LocalSystem

ROOT: Final = Path(__file__).parents[2]
_BLOCK: Final = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Page:
    """A page of ``docs``."""

    name: str

    @property
    def text(self) -> str:
        return (ROOT / "docs" / self.name).read_text(encoding="utf-8")

    def blocks(self, language: str) -> list[str]:
        """Its code in one language, in order."""
        return [text for name, text in _BLOCK.findall(self.text) if name == language]

    def run_python(self) -> dict[str, Any]:
        """Run its Python from top to bottom as one program; the names that this has then."""
        names: dict[str, Any] = {}
        for number, text in enumerate(self.blocks("python"), 1):
            exec(compile(text, f"{self.name}, python block {number}", "exec"), names)
        return names

    def run_bash(self, *, timeout_s: float = 300, **environment: str) -> list[str]:
        """Run its commands, block by block; what each told on standard output."""
        told = []
        for command in self.blocks("bash"):
            run = subprocess.run(
                ["bash", "-euc", command],
                capture_output=True,
                text=True,
                check=False,
                env={**os.environ, **environment},
                timeout=timeout_s,
            )
            assert run.returncode == 0, run.stdout + run.stderr
            told.append(run.stdout)
        return told


def reader_in(folder: Path, system: LocalSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the reader ``folder``, a command called ``spokesmodel``, and the system's address and key."""
    command = folder / "bin" / "spokesmodel"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m spokesmodel "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{command.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("SPOKESMODEL_URL", system.url)
    monkeypatch.setenv("SPOKESMODEL_KEY", system.api_key)
    monkeypatch.chdir(folder)
