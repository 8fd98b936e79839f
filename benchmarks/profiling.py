"""What the profiler costs a training loop: steps with it and without, in turns."""

from __future__ import annotations

import statistics
import time
from typing import Any

import torch

from benchmarks.measure import Row
from training.profiling.profiler import NullProfiler, Profiler, new_profiler

_ROUNDS = 7
_STEPS = 160  # of each kind a round
_INTERVAL_S = 1.0
_SAMPLES = 200


class _Loop:
    """Steps of some seven milliseconds, a thirtieth of what drawn-64's take on this CPU and less than any base's."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self._network = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.SiLU(), torch.nn.Linear(512, 256))
        self._optimizer = torch.optim.AdamW(self._network.parameters())

    def step(self, profiler: Any) -> float:
        """CPU-seconds of one step of this thread, with the calls that ``train_lora`` makes."""
        began = time.thread_time()
        with profiler.step():
            with profiler.phase("data_wait"):
                batch = torch.randn(320, 256)
            with profiler.phase("forward"):
                loss = (self._network(batch) - batch).square().mean()
            with profiler.phase("backward"):
                loss.backward()
            with profiler.phase("optimizer"):
                self._optimizer.step()
                self._optimizer.zero_grad()
        return time.thread_time() - began


def _in_turns(loop: _Loop, profiler: Profiler) -> tuple[float, float]:
    """Median CPU-seconds of a step without the profiler, and of what its neighbour with it takes more."""
    null, without, measured = NullProfiler(), [], []
    for number in range(_STEPS):
        if number % 2:
            without.append(loop.step(null))
            measured.append(loop.step(profiler))
        else:
            measured.append(loop.step(profiler))
            without.append(loop.step(null))
    more = [with_it - alone for with_it, alone in zip(measured, without, strict=True)]
    return statistics.median(without), statistics.median(more)


def _sample_s(profiler: Profiler) -> float:
    """CPU-seconds of one sample."""
    sampler = profiler._sampler
    assert sampler is not None
    taken = []
    for _ in range(_SAMPLES):
        began = time.thread_time()
        sampler.read()
        taken.append(time.thread_time() - began)
    return statistics.median(taken)


def rows() -> list[Row]:
    """The issue's figure: the calls by steps in turns, and the thread's samples by what one costs a second."""
    torch.set_num_threads(1)
    loop = _Loop()
    with new_profiler(title="overhead", interval_s=_INTERVAL_S) as profiler:
        _in_turns(loop, profiler)  # warm
        pairs = [_in_turns(loop, profiler) for _ in range(_ROUNDS)]
        sample_s = _sample_s(profiler)
    shares = [more / without for without, more in pairs]
    sampling = sample_s / _INTERVAL_S
    overhead = statistics.median(shares) + sampling
    step_ms = statistics.median(without for without, _ in pairs) * 1000
    return [
        Row(
            what="profiler's share of CPU time, calls and samples",
            value=f"{overhead:+.2%}",
            target="< 2 %",
            reached=overhead < 0.02,
            note=f"calls {min(shares):+.2%} to {max(shares):+.2%} in {_ROUNDS} rounds, each the median of {_STEPS} "
            f"pairs of neighbouring steps, with it and without in turns, a step {step_ms:.2f} CPU-ms; "
            f"samples {sampling:.3%}: {sample_s * 1000:.2f} CPU-ms a second; CPU, no GPU",
        )
    ]
