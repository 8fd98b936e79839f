"""The profiler that a training loop calls: contexts for its steps and for the phases of a step."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Protocol

from training.profiling.figures import Figures, Recorded, Step, figures_of
from training.profiling.report import write_report
from training.profiling.sampling import Sampler

OTHER: Final = "other"  # a step's time outside its phases
DATA_WAIT: Final = "data_wait"
_NOTHING: Final = nullcontext()


class Tracer(Protocol):
    """Traces the kernels of steps, such as ``training.profiling.kernels.KernelTracer``."""

    def start(self) -> None: ...
    def stop(self) -> None: ...
    def summary(self) -> dict[str, Any] | None: ...


class NullProfiler:
    """Measures nothing and costs nothing; a loop's default."""

    def step(self) -> AbstractContextManager[Any]:
        return _NOTHING

    def phase(self, _name: str) -> AbstractContextManager[Any]:
        return _NOTHING

    def watch(self, _part: str) -> AbstractContextManager[Any]:
        return _NOTHING


class Profiler:
    """Charges every moment between ``start`` and ``stop`` to exactly one phase, so that phases add up to the whole.

    A phase inside of a phase is charged to the inner one alone. Called from the loop's thread only.

    Args:
        sampler: Reads devices and machine at a low rate in a thread of its own; None: only phases are measured.
        kernel_steps: Steps, counted from 0, whose kernels ``tracer`` traces; being slower, they are left out of the
            figures of time.
        synchronize: Waits for the device at each boundary of a phase (``torch.cuda.synchronize``): kernels run behind
            the program, and without it their time is charged to whoever waits for them next.
        num_threads: Threads that compute on the CPU: a step that keeps them all busy is not idle.
        clock: Seconds of wall time; ``cpu_clock`` those of this process's threads, its child processes not counted.
    """

    def __init__(
        self,
        *,
        title: str = "training run",
        sampler: Sampler | None = None,
        kernel_steps: Collection[int] = (),
        tracer: Tracer | None = None,
        synchronize: Callable[[], None] | None = None,
        num_threads: int = 1,
        clock: Callable[[], float] = time.perf_counter,
        cpu_clock: Callable[[], float] = time.process_time,
    ) -> None:
        self._title, self._sampler, self._tracer = title, sampler, tracer
        self._kernel_steps = frozenset(kernel_steps) if tracer is not None else frozenset()
        self._synchronize, self._num_threads = synchronize, num_threads
        self._clock, self._cpu_clock = clock, cpu_clock
        self._names: list[str] = [OTHER]
        self._phases: dict[str, _Phase] = {}
        self._between: list[float] = [0.0]  # seconds a phase, outside of steps
        self._row = self._between
        self._stack: list[int] = [0]
        self._steps: list[Step] = []
        self._step = _StepContext(self)
        self._mark = self._began = self._step_began = self._step_cpu = 0.0
        self._wall_s = 0.0
        self._open = self._moved = self._tracing = self._running = False

    def __enter__(self) -> Profiler:
        self.start()
        return self

    def __exit__(self, *_raised: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin to measure, and to sample where there is a sampler."""
        if self._sampler is not None:
            self._sampler.start()
        self._running = True
        self._began = self._mark = self._clock()

    def stop(self) -> None:
        """Close an open step and end the sampling; again is nothing."""
        if not self._running:
            return
        if self._open:
            self.end_step()
        now = self._clock()
        self._charge(now)
        self._wall_s = now - self._began
        self._running = False
        if self._sampler is not None:
            self._sampler.stop()

    def step(self) -> AbstractContextManager[Any]:
        """The context of one step of the loop."""
        return self._step

    def phase(self, name: str) -> AbstractContextManager[Any]:
        """The context of a part of a step; any name, the known ones are ``figures.PHASES``."""
        found = self._phases.get(name)
        if found is None:
            self._names.append(name)
            found = self._phases[name] = _Phase(self, len(self._names) - 1)
        return found

    def watch(self, part: str) -> AbstractContextManager[Any]:
        """``phase`` for ``train_lora(watch=...)``: tells steps apart by themselves, each from its data to the next's.

        Validation, samples and checkpoint after a step belong to it; before the first step they lie between steps.
        """
        if part == "data":
            if self._moved and self._open:
                self.end_step()
            if not self._open:
                self.begin_step()
            part = DATA_WAIT
        elif part == "optimizer":
            self._moved = True
        return self.phase(part)

    def begin_step(self) -> None:
        """Open a step; ``step`` does it."""
        if len(self._steps) in self._kernel_steps and self._tracer is not None:
            self._tracer.start()
            self._tracing = True
        now = self._now()
        self._charge(now)
        self._row = [0.0] * len(self._names)
        self._step_began, self._step_cpu = now, self._cpu_clock()
        self._open, self._moved = True, False

    def end_step(self) -> None:
        """Close the open step; ``step`` does it."""
        now = self._now()
        self._charge(now)
        self._steps.append(
            Step(
                began_s=self._step_began - self._began,
                wall_s=now - self._step_began,
                cpu_s=self._cpu_clock() - self._step_cpu,
                phases_s=tuple(self._row),
                traced=self._tracing,
            )
        )
        self._row, self._open = self._between, False
        if self._tracing and self._tracer is not None:
            self._tracer.stop()
            self._tracing = False

    def figures(self) -> Figures:
        """What was measured, from the beginning to ``stop``, as the report's JSON."""
        return figures_of(
            Recorded(
                title=self._title,
                names=tuple(self._names),
                steps=self._steps,
                between_s=tuple(self._between),
                wall_s=self._wall_s,
                num_threads=self._num_threads,
                samples=[] if self._sampler is None else self._sampler.samples,
                kernels=None if self._tracer is None else self._tracer.summary(),
            )
        )

    def write(self, folder: Path) -> Path:
        """Write ``profile.html`` and ``profile.json``; the page's path."""
        return write_report(self.figures(), folder)

    def _now(self) -> float:
        if self._synchronize is not None:
            self._synchronize()
        return self._clock()

    def _charge(self, now: float) -> None:
        phase = self._stack[-1]
        if phase >= len(self._row):
            self._row.extend([0.0] * (phase + 1 - len(self._row)))
        self._row[phase] += now - self._mark
        self._mark = now

    def _enter(self, phase: int) -> None:
        self._charge(self._now())
        self._stack.append(phase)

    def _leave(self) -> None:
        self._charge(self._now())
        self._stack.pop()


class _Phase:
    """Entered and left again and again: it holds nothing of its own."""

    __slots__ = ("_number", "_profiler")

    def __init__(self, profiler: Profiler, number: int) -> None:
        self._profiler, self._number = profiler, number

    def __enter__(self) -> None:
        self._profiler._enter(self._number)

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._profiler._leave()


class _StepContext:
    __slots__ = ("_profiler",)

    def __init__(self, profiler: Profiler) -> None:
        self._profiler = profiler

    def __enter__(self) -> None:
        self._profiler.begin_step()

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._profiler.end_step()


def new_profiler(
    *, title: str, device: str = "cpu", interval_s: float = 1.0, kernel_steps: Collection[int] = ()
) -> Profiler:
    """A profiler of this machine, for a loop that computes on ``device``.

    Args:
        interval_s: Seconds between two samples of devices and machine.
        kernel_steps: Steps whose kernels are traced.
    """
    import torch

    from training.profiling.devices import NvidiaDevices
    from training.profiling.kernels import KernelTracer
    from training.profiling.machine import Machine

    on_gpu = device.startswith("cuda")
    return Profiler(
        title=title,
        sampler=Sampler(Machine.of_this(), NvidiaDevices.of_this(), interval_s=interval_s),
        kernel_steps=kernel_steps,
        tracer=KernelTracer(on_gpu=on_gpu) if kernel_steps else None,
        synchronize=torch.cuda.synchronize if on_gpu else None,
        num_threads=torch.get_num_threads(),
    )
