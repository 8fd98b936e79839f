"""Model, not measurement: a bursty day of 100,000 jobs under four ways to scale the engine.

Measured input: CPU-seconds of a video, from RESULTS.md (`make bench`). Everything else is assumed and named below: the
day's shape, how long an instance takes to start, what an hour costs. ``ours`` scales by template.yaml's policies; its
``EngineConcurrency`` and ``MaxInstances`` are by default 1 and 4, here 4 and 16: with those no policy ends such a day.
"""

from __future__ import annotations

import math
import random
import re
import statistics
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import simpy

from benchmarks.__main__ import RESULTS
from benchmarks.measure import Row

NUM_JOBS = 100_000
DAY_S = 86_400.0
BURSTS = ((9.0, 0.5, 0.15), (13.0, 0.25, 0.20), (20.0, 1.0, 0.15))  # hour, hours it lasts, share of the day's jobs
CLIP_S = (20.0, 0.6)  # median and spread of a video's length, log-normal
CONCURRENCY = 4  # attempts at once on ml.c5.2xlarge: one for each of its four cores (docs/deploy.md)
MAX_INSTANCES = 16
START_S = 300.0  # until a new instance serves
PRICE_PER_HOUR = 0.408  # US dollars, on demand; look yours up
PERIOD_S, OUT_COOLDOWN_S, IN_COOLDOWN_S, IDLE_S = 60.0, 60.0, 600.0, 900.0
TARGET = 2 * CONCURRENCY  # jobs that one instance answers for


@dataclass(frozen=True)
class Policy:
    """``counts_running``: follows waiting and running jobs, and wakes on any; else it follows the waiting ones only."""

    name: str
    floor: int = 0
    counts_running: bool = False
    goes_only_idle: bool = False


class Fleet:
    """Instances that serve one queue."""

    def __init__(self, policy: Policy) -> None:
        self.policy, self.env = policy, simpy.Environment()
        self.queue = simpy.Store(self.env)
        self.instances: list[list[simpy.Process]] = []
        self.starting = self.running = self.num_lost = self.peak = 0
        self.waits_s: list[float] = []
        self.instance_s = 0.0

    def worker(self) -> Generator[Any, Any, None]:
        while True:
            request, job = self.queue.get(), None
            try:
                job = yield request
                started, self.running = self.env.now, self.running + 1
                try:
                    yield self.env.timeout(job[1])
                finally:
                    self.running -= 1
                self.waits_s.append(started - job[0])
            except simpy.Interrupt:  # its instance was taken away
                if job is None and not request.triggered:
                    request.cancel()
                else:
                    self.num_lost += 1
                    self.queue.put(job or request.value)
                return

    def add(self, number: int) -> Generator[Any, Any, None]:
        self.starting += number
        yield self.env.timeout(START_S)
        self.starting -= number
        for _ in range(number):
            self.instances.append([self.env.process(self.worker()) for _ in range(CONCURRENCY)])
        self.peak = max(self.peak, len(self.instances))

    def scale(self) -> Generator[Any, Any, None]:
        idle_s, out_at, in_at = 0.0, -math.inf, -math.inf
        while True:
            yield self.env.timeout(PERIOD_S)
            now, size = self.env.now, len(self.instances) + self.starting
            self.instance_s += PERIOD_S * size
            backlog = len(self.queue.items) + (self.running if self.policy.counts_running else 0)
            idle_s = 0.0 if backlog + self.running else idle_s + PERIOD_S
            wanted = math.ceil(backlog / TARGET)
            if size == 0 and not self.policy.counts_running and backlog <= TARGET:
                wanted = 0  # without HasBacklogWithoutCapacity a small backlog wakes nobody
            wanted = min(MAX_INSTANCES, max(self.policy.floor, wanted))
            if wanted > size and now - out_at >= OUT_COOLDOWN_S:
                out_at = now
                self.env.process(self.add(wanted - size))
            may_go = idle_s >= IDLE_S if self.policy.goes_only_idle else now - in_at >= IN_COOLDOWN_S
            if wanted < size and not self.starting and may_go:
                in_at = now
                for process in [process for _ in range(size - wanted) for process in self.instances.pop()]:
                    process.interrupt()


def arrivals(chance: random.Random) -> list[float]:
    """When the day's jobs come: in bursts, and the rest by daylight."""
    burst = [(hour, hours) for hour, hours, share in BURSTS for _ in range(int(share * NUM_JOBS))]
    times = [(hour + chance.random() * hours) * 3600 for hour, hours in burst]
    while len(times) < NUM_JOBS:
        moment = chance.random() * DAY_S
        if chance.random() < 0.5 - 0.5 * math.cos(2 * math.pi * moment / DAY_S):
            times.append(moment)
    return sorted(times)


def run(policy: Policy, cpu_per_output_s: float) -> Fleet:
    """The same day for every policy, and four hours to finish in."""
    chance, fleet = random.Random(1), Fleet(policy)

    def come() -> Generator[Any, Any, None]:
        for moment in arrivals(chance):
            yield fleet.env.timeout(moment - fleet.env.now)
            fleet.queue.put((moment, cpu_per_output_s * CLIP_S[0] * math.exp(chance.gauss(0, CLIP_S[1]))))

    for process in (come(), fleet.add(policy.floor), fleet.scale()):
        fleet.env.process(process)
    fleet.env.run(until=DAY_S + 4 * 3600)
    return fleet


def rows() -> list[Row]:
    """Wait and cost of each policy."""
    found = re.search(r"text to mp4.*?10 s clip \| ([\d.]+) CPU-s", RESULTS.read_text(encoding="utf-8"))
    if found is None:
        raise LookupError("RESULTS.md has no CPU time of a video; run `python -m benchmarks video`")
    ours = Policy("ours (floor 0, wake, waiting + running, down when idle)", counts_running=True, goes_only_idle=True)
    busy = Policy("ours with ScaleInWhileBusy", counts_running=True)
    shown = []
    for policy in (Policy("floor 0"), Policy("floor 1", floor=1), ours, busy):
        fleet = run(policy, float(found[1]) / 10)
        p50, p95 = (statistics.quantiles(fleet.waits_s, n=100)[share - 1] for share in (50, 95))
        hours, what = fleet.instance_s / 3600, f"model, not measurement: {policy.name}"
        note = f"p50 {p50:.0f} s; {len(fleet.waits_s)} served, {fleet.num_lost} attempts lost to scaling in"
        cost = f"{hours:.0f} instance-hours, at most {fleet.peak} instances"
        shown.append(Row(what=f"{what}: wait p95", value=f"{p95:.0f} s", note=note))
        shown.append(Row(what=f"{what}: cost", value=f"{hours * PRICE_PER_HOUR:.2f} USD", note=cost))
    return shown
