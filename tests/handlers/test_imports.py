"""Handlers start fast: what they import stays small."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HANDLERS = ("api", "batch", "outbox", "prepare", "dispatch", "complete", "webhooks", "reaper")
HEAVY = ("torch", "cv2", "numpy", "scipy", "av", "ai_edge_litert", "PIL", "onnxruntime", "boto3", "sqlite3")


@pytest.mark.parametrize("handler", HANDLERS)
def test_importing_a_handler_loads_nothing_heavy_and_builds_nothing(handler, tmp_path):
    script = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); import lambdas.{handler}; from lambdas import runtime;"
        f"print([name for name in {HEAVY!r} if name in sys.modules], runtime._services)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] None"
    assert not list(tmp_path.iterdir()), "importing writes nothing"


def test_every_handler_of_the_folder_is_held_to_it():
    folder = ROOT / "lambdas"
    found = {path.stem for path in folder.glob("*.py")} | {path.parent.name for path in folder.glob("*/__init__.py")}
    assert found - {"__init__", "metrics", "runtime"} == set(HANDLERS)
