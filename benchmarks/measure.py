"""What a figure is, and how CPU time and memory are taken."""

from __future__ import annotations

import resource
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from models.serving import cpu_time


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One figure.

    Attributes:
        what: What was measured, in words.
        value: The figure with its unit.
        target: What the product wants to reach, "" if nothing is promised.
        reached: None when there is no target.
        note: Repetitions, inputs, spread.
    """

    what: str
    value: str
    target: str = ""
    reached: bool | None = None
    note: str = ""


def cpu_seconds(work: Callable[[], object], *, repetitions: int = 5) -> tuple[float, float, float]:
    """Median, least and most CPU-seconds of ``work``, helper processes included, running or ended."""
    taken = []
    for _ in range(repetitions):
        before = cpu_time.cpu_seconds()
        work()
        taken.append(cpu_time.cpu_seconds() - before)
    return statistics.median(taken), min(taken), max(taken)


def peak_memory_mb() -> float:
    """Most memory that this process ever held, MB (10^6 bytes).

    Linux counts a parent's peak into ``ru_maxrss`` of the child that it forks; ``VmHWM`` starts anew with the program.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(fields["VmHWM"].split()[0]) * 1024 / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
