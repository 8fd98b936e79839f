"""``python -m benchmarks [NAME ...]``: run benchmark modules and write ``benchmarks/RESULTS.md``.

Without names every module runs. With names, the other modules' sections of ``RESULTS.md`` stay as they are.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import platform
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.measure import Row

HERE = Path(__file__).parent
RESULTS = HERE / "RESULTS.md"


def names() -> list[str]:
    """Modules of this folder that offer ``rows``, by their source, without importing them."""
    found = [module.name for module in pkgutil.iter_modules([str(HERE)])]
    return [name for name in found if "def rows(" in (HERE / f"{name}.py").read_text(encoding="utf-8")]


def section(name: str, rows: list[Row]) -> str:
    """One module's table."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    lines = [
        f"## {name}",
        "",
        f"`python -m benchmarks {name}`, {datetime.now(UTC):%Y-%m-%d}, commit {commit.stdout.strip() or 'unknown'}, "
        f"{machine()}.",
        "",
        "| figure | measured | aim | reached | note |",
        "| --- | --- | --- | --- | --- |",
    ]
    verdict = {None: "", True: "yes", False: "**no**"}
    lines += [f"| {row.what} | {row.value} | {row.target} | {verdict[row.reached]} | {row.note} |" for row in rows]
    return "\n".join(lines) + "\n"


def machine() -> str:
    """Processor, cores and Python of this machine."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file() and (found := re.search(r"model name\s*:\s*(.+)", cpuinfo.read_text(encoding="utf-8"))):
        model = found.group(1)
    return f"{os.cpu_count()} cores of {model}, {platform.system()}, Python {platform.python_version()}"


def main() -> int:
    """Run, print and write; 1 when an aim was missed."""
    chosen = sys.argv[1:] or names()
    old = RESULTS.read_text(encoding="utf-8") if RESULTS.is_file() else ""
    sections = {
        part.split("\n", 1)[0].removeprefix("## "): part for part in re.split(r"^(?=## )", old, flags=re.MULTILINE)[1:]
    }
    missed = False
    for name in chosen:
        rows: list[Row] = importlib.import_module(f"benchmarks.{name}").rows()
        sections[name] = section(name, rows)
        missed |= any(row.reached is False for row in rows)
        print(sections[name], flush=True)
        head = "# Measured\n\nWritten by `make bench`. Times are CPU-seconds unless said otherwise.\n\n"
        RESULTS.write_text(
            head + "\n".join(part.rstrip() + "\n" for _, part in sorted(sections.items())), encoding="utf-8"
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
