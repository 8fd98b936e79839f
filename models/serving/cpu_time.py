"""CPU time of an engine with its helper processes, for the bill and for the speeds that are told."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def cpu_seconds() -> float:
    """CPU-seconds, user and system, of this process, its ended children, and on Linux its running ones."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    running = sum(_cpu_of(pid) for pid in _children())
    return time.process_time() + ended.ru_utime + ended.ru_stime + running


def _children() -> Iterator[int]:
    with suppress(OSError):  # not Linux
        for thread in Path("/proc/self/task").iterdir():
            with suppress(OSError):  # the thread has ended
                yield from map(int, (thread / "children").read_text().split())


def _cpu_of(pid: int) -> float:
    """Of a process and its own ended children (fields 14 to 17 of its stat, in clock ticks); 0 when it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
