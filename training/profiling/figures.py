"""From what was recorded to the report's figures."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from training.profiling.advice import advice_on
from training.profiling.sampling import Sample

PHASES: Final = ("data_wait", "forward", "backward", "optimizer", "validation", "samples", "checkpoint", "other")
_MOST_COLUMNS: Final = 80
_MOST_POINTS: Final = 240

Figures = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step.

    Attributes:
        cpu_s: Seconds of CPU time of all threads of the process.
        phases_s: By the numbers of ``Recorded.names``; shorter where later phases did not occur yet.
        traced: Its kernels were traced, which slows it.
    """

    began_s: float
    wall_s: float
    cpu_s: float
    phases_s: tuple[float, ...]
    traced: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What a profiler holds at its end; the first of ``names`` is the time outside of phases."""

    title: str
    names: tuple[str, ...]
    steps: Sequence[Step]
    between_s: tuple[float, ...]
    wall_s: float
    num_threads: int
    samples: Sequence[Sample]
    kernels: dict[str, Any] | None


def figures_of(recorded: Recorded) -> Figures:
    """All figures, as JSON: seconds with ``_s``, shares of one without a unit, bytes with ``_bytes``."""
    steps = [step for step in recorded.steps if not step.traced]
    walls = sorted(step.wall_s for step in steps)
    in_steps_s = sum(walls)
    figures: Figures = {
        "title": recorded.title,
        "num_steps": len(recorded.steps),
        "num_traced": len(recorded.steps) - len(steps),
        "wall_s": recorded.wall_s,
        "steps_s": in_steps_s,
        "step_median_s": statistics.median(walls) if walls else None,
        "step_p90_s": walls[int(0.9 * (len(walls) - 1))] if walls else None,
        "phases": _phases(recorded, steps, in_steps_s),
        "between": {name: _at(recorded.between_s, number) for number, name in enumerate(recorded.names)},
        "columns": _columns(recorded.names, steps),
        "devices": [_cpu(recorded, steps, in_steps_s), *_gpus(recorded.samples)],
        "machine": _machine(recorded.samples),
        "kernels": recorded.kernels,
    }
    figures["advice"] = advice_on(figures)
    return figures


def _at(row: Sequence[float], number: int) -> float:
    return row[number] if number < len(row) else 0.0


def _phases(recorded: Recorded, steps: Sequence[Step], in_steps_s: float) -> list[Figures]:
    rows = []
    for name in _in_order(recorded.names):
        number = recorded.names.index(name)
        taken = [_at(step.phases_s, number) for step in steps]
        total = sum(taken)
        rows.append(
            {
                "name": name,
                "total_s": total,
                "share": total / in_steps_s if in_steps_s else 0.0,
                "median_s": statistics.median(taken) if taken else 0.0,
            }
        )
    return rows


def _in_order(names: Sequence[str]) -> list[str]:
    """Known phases in the order of a step, then others."""
    return [name for name in PHASES if name in names] + [name for name in names if name not in PHASES]


def _columns(names: Sequence[str], steps: Sequence[Step]) -> Figures:
    """Mean seconds of each phase, neighbouring steps sharing a column when there are many."""
    size = max(1, -(-len(steps) // _MOST_COLUMNS))
    groups = [steps[at : at + size] for at in range(0, len(steps), size)]
    return {
        "steps_each": size,
        "seconds": {
            name: [sum(_at(step.phases_s, names.index(name)) for step in group) / len(group) for group in groups]
            for name in _in_order(names)
        },
    }


def _cpu(recorded: Recorded, steps: Sequence[Step], in_steps_s: float) -> Figures:
    """The CPU's threads as a device: idle is what of a step's wall time they did not compute."""
    threads = max(1, recorded.num_threads)
    idle_s = sum(max(0.0, step.wall_s - step.cpu_s / threads) for step in steps)
    machines = [sample.machine for sample in recorded.samples if sample.machine is not None]
    return {
        "name": f"CPU, {threads} {'thread' if threads == 1 else 'threads'}",
        "kind": "cpu",
        "utilisation": sum(step.cpu_s for step in steps) / (threads * in_steps_s) if in_steps_s else None,
        "idle_s": idle_s if in_steps_s else None,
        "idle": idle_s / in_steps_s if in_steps_s else None,
        "memory_peak_bytes": max((one.process_bytes for one in machines), default=None),
        "memory_total_bytes": machines[0].memory_total_bytes if machines else None,
        "series": {
            "time_s": [step.began_s for step in _thinned(steps)],
            "utilisation": [
                step.cpu_s / (threads * step.wall_s) if step.wall_s else 0.0 for step in _thinned(steps)
            ],
        },
    }  # fmt: skip


def _gpus(samples: Sequence[Sample]) -> list[Figures]:
    """Each GPU: a reading of utilisation stands for the time since the reading before."""
    rows = []
    for number in range(max((len(sample.devices) for sample in samples), default=0)):
        readings = [(sample.time_s, sample.devices[number]) for sample in samples if number < len(sample.devices)]
        busy_s = told_s = 0.0
        for (before, _), (now, reading) in pairwise(readings):
            if reading.utilisation is not None:
                told_s += now - before
                busy_s += (now - before) * reading.utilisation
        totals = [one.memory_total_bytes for _, one in readings if one.memory_total_bytes is not None]
        shown = [(at, one) for at, one in _thinned(readings) if one.utilisation is not None]
        rows.append(
            {
                "name": readings[0][1].name,
                "kind": "gpu",
                "utilisation": busy_s / told_s if told_s else None,
                "idle_s": told_s - busy_s if told_s else None,
                "idle": 1 - busy_s / told_s if told_s else None,
                "memory_peak_bytes": max(
                    (one.memory_bytes for _, one in readings if one.memory_bytes is not None), default=None
                ),
                "memory_total_bytes": totals[0] if totals else None,
                "series": {"time_s": [at for at, _ in shown], "utilisation": [one.utilisation for _, one in shown]},
            }
        )
    return rows


def _machine(samples: Sequence[Sample]) -> Figures | None:
    read = [(sample.time_s, sample.machine) for sample in samples if sample.machine is not None]
    if len(read) < 2:
        return None
    first, last = read[0], read[-1]
    lasted = max(last[0] - first[0], 1e-9)
    points = _thinned(read)
    moved = ("disk_read", "disk_written", "received", "sent")

    def rates(count: Callable[[Any], int]) -> list[float]:
        return [
            max(0, count(now) - count(before)) / max(at - earlier, 1e-9)  # counters may start anew
            for (earlier, before), (at, now) in pairwise(points)
        ]

    # Each reading is the mean since the one before; the first has none before it.
    waited = [(at - earlier, now.cpu) for (earlier, _), (at, now) in pairwise(read)]
    return {
        "cpu": sum(pause * cpu for pause, cpu in waited) / lasted,
        "memory_peak_bytes": max(one.memory_bytes for _, one in read),
        "memory_total_bytes": first[1].memory_total_bytes,
        **{
            f"{name}_bytes": max(0, getattr(last[1], f"{name}_bytes") - getattr(first[1], f"{name}_bytes"))
            for name in moved
        },
        "series": {
            "time_s": [at for at, _ in points[1:]],
            "cpu": [one.cpu for _, one in points[1:]],
            "memory": [one.memory_bytes / one.memory_total_bytes for _, one in points[1:]],
            **{f"{name}_bytes_s": rates(lambda one, name=name: int(getattr(one, f"{name}_bytes"))) for name in moved},  # type: ignore[misc]
        },
    }


def _thinned(things: Sequence[Any]) -> list[Any]:
    """At most ``_MOST_POINTS`` of them, evenly."""
    if len(things) <= _MOST_POINTS:
        return list(things)
    return [things[index * len(things) // _MOST_POINTS] for index in range(_MOST_POINTS)]
