"""The files under version control."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("services", "lambdas", "models", "training", "spokesmodel")


@cache
def tracked_files() -> tuple[Path, ...]:
    """Committed and new files that are not ignored; from a source archive without git, every file outside .venv."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if done.returncode == 0:
        names = [name for name in done.stdout.decode().split("\0") if name]
        return tuple(path for path in (ROOT / name for name in names) if path.is_file())
    hidden = {".venv", ".git", "__pycache__"}
    return tuple(path for path in ROOT.rglob("*") if path.is_file() and not hidden & set(path.parts))


def python_files(*packages: str) -> list[Path]:
    """Tracked modules of the packages, or of all that the product ships."""
    wanted = packages or PACKAGES
    return [path for path in tracked_files() if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in wanted]
