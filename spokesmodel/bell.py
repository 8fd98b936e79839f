"""Bells wake whoever waits for work: threads sleep on one and look again when it rings, or after a while.

The stores of the running process ring them: whoever changes a row, a handler or a worker's thread, need not know who
waits for it.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path

from services.adapters.local.batches import SqliteBatchStore
from services.adapters.local.engine import ClaimedAttempt, SqliteEngine
from services.adapters.local.jobs import SqliteJobStore
from services.domain.allowance import Allowance
from services.domain.batch import Batch
from services.domain.engine import EngineAnswer, EngineRequest
from services.domain.job import Job, JobStep
from services.ports.clock import Clock


class Bell:
    """Counts its rings, so that one that sounds between a look and a wait is not missed."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._rings = 0

    @property
    def rings(self) -> int:
        return self._rings

    def ring(self) -> None:
        """Wake everyone."""
        with self._condition:
            self._rings += 1
            self._condition.notify_all()

    def wait(self, seen: int, timeout_s: float) -> None:
        """Return when it has rung more than ``seen`` times, or after ``timeout_s``."""
        with self._condition:
            self._condition.wait_for(lambda: self._rings > seen, timeout_s)


@dataclass(frozen=True, slots=True)
class Bells:
    """One for each kind of work: jobs by their step, batches, attempts for the engine, answers and events from it."""

    steps: dict[JobStep, Bell] = field(default_factory=lambda: {step: Bell() for step in JobStep})
    batches: Bell = field(default_factory=Bell)
    attempts: Bell = field(default_factory=Bell)
    answers: Bell = field(default_factory=Bell)

    def ring_all(self) -> None:
        """Wake everyone, as at the end."""
        for bell in (*self.steps.values(), self.batches, self.attempts, self.answers):
            bell.ring()


class RingingJobStore(SqliteJobStore):
    """Rings for the step that a stored job waits for."""

    def __init__(self, path: Path, *, clock: Clock, bells: Bells) -> None:
        super().__init__(path, clock=clock)
        self._bells = bells

    def add(self, job: Job, *, allowance: Allowance | None = None) -> None:
        super().add(job, allowance=allowance)
        self._bells.steps[job.step].ring()

    def save(self, job: Job) -> Job:
        saved = super().save(job)
        self._bells.steps[saved.step].ring()
        if saved.step is not JobStep.RUN:
            self._bells.steps[saved.dispatch_step].ring()  # the engine may have room now
        return saved


class RingingBatchStore(SqliteBatchStore):
    """Rings when a batch was stored, which may be due."""

    def __init__(self, path: Path, *, clock: Clock, bells: Bells) -> None:
        super().__init__(path, clock=clock)
        self._bells = bells

    def add(self, batch: Batch) -> None:
        super().add(batch)
        self._bells.batches.ring()

    def save(self, batch: Batch) -> Batch:
        saved = super().save(batch)
        self._bells.batches.ring()
        return saved


class RingingEngine(SqliteEngine):
    """Rings for attempts that wait, and for answers."""

    def __init__(
        self,
        path: Path,
        *,
        clock: Clock,
        num_instances: int,
        bells: Bells,
        num_interactive_instances: int | None = None,
    ) -> None:
        super().__init__(
            path, clock=clock, num_instances=num_instances, num_interactive_instances=num_interactive_instances
        )
        self._bells = bells

    def start(self, request: EngineRequest) -> None:
        super().start(request)
        self._bells.attempts.ring()

    def give_back(self, claimed: ClaimedAttempt, *, delay_s: float = 0.0) -> bool:
        given = super().give_back(claimed, delay_s=delay_s)
        self._bells.attempts.ring()
        return given

    def answer(self, answer: EngineAnswer) -> bool:
        stored = super().answer(answer)
        self._bells.answers.ring()
        return stored
