"""Which operators and kernels a step's time goes to, by torch.profiler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

_MOST_ROWS: Final = 24


class KernelTracer:
    """Traces from ``start`` to ``stop``; several times add up."""

    def __init__(self, *, on_gpu: bool) -> None:
        self._on_gpu = on_gpu
        self._trace: Any = None
        self._num_steps = 0
        self._rows: dict[str, list[float]] = {}  # calls, milliseconds
        self._span_ms = self._idle_ms = 0.0

    def start(self) -> None:
        """Begin to trace."""
        from torch.profiler import ProfilerActivity, profile

        activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if self._on_gpu else [])]
        self._trace = profile(activities=activities, acc_events=True)
        self._trace.start()

    def stop(self) -> None:
        """End, and keep the sums alone."""
        self._trace.stop()
        self._num_steps += 1
        for row in self._trace.key_averages():
            micros = row.self_device_time_total if self._on_gpu else row.self_cpu_time_total
            if micros > 0:
                kept = self._rows.setdefault(row.key, [0, 0.0])
                kept[0] += row.count
                kept[1] += micros / 1000
        if self._on_gpu:
            on_device = [event for event in self._trace.events() if "CUDA" in str(event.device_type)]
            span, idle = gaps([(event.time_range.start, event.time_range.end) for event in on_device])
            self._span_ms += span / 1000
            self._idle_ms += idle / 1000
        self._trace = None

    def summary(self) -> dict[str, Any] | None:
        """The dearest of all, in milliseconds of their own, and the device's gaps between kernels; None untraced."""
        if not self._num_steps:
            return None
        dearest = sorted(self._rows.items(), key=lambda row: (-row[1][1], row[0]))[:_MOST_ROWS]
        return {
            "num_steps": self._num_steps,
            "on": "gpu" if self._on_gpu else "cpu",
            "rows": [{"name": name, "calls": int(calls), "self_ms": ms} for name, (calls, ms) in dearest],
            "idle_between_kernels": self._idle_ms / self._span_ms if self._span_ms else None,
        }


def gaps(intervals: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """From the first begin to the last end, and how much of it lies in none of the intervals, which may overlap."""
    if not intervals:
        return 0.0, 0.0
    ordered = sorted(intervals)
    first, reached = ordered[0]
    idle = 0.0
    for begin, end in ordered[1:]:
        idle += max(0.0, begin - reached)
        reached = max(reached, end)
    return reached - first, idle
