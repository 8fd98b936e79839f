"""How much work there is for how many instances: what scaling follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from services.domain.engine import EngineKind, Lane
from services.domain.job import JobStep
from services.ports.engine import Engine
from services.ports.jobs import JobStore

_ENOUGH: Final = 10_000  # no ceiling asks for more; counting all of a large batch every minute would cost


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    num_waiting: int
    num_running: int
    num_instances: int

    @property
    def num_jobs(self) -> int:
        """Waiting for the engine or with it."""
        return self.num_waiting + self.num_running

    @property
    def per_instance(self) -> float:
        """``num_jobs`` for each instance; none counts as one, which is what waking brings."""
        return self.num_jobs / max(1, self.num_instances)


def measure_backlog(*, jobs: JobStore, engine: Engine) -> Backlog:
    """What waits for the engine of videos, what it holds, and how many instances it has now.

    Raises:
        Unavailable: Nobody knows. The caller reports nothing then: silence is taken for "busy", and no instance that
            may be at work is taken away.
    """
    return Backlog(
        num_waiting=jobs.count_waiting(JobStep.DISPATCH, at_most=_ENOUGH),
        num_running=jobs.outstanding(lane=Lane.LONG),
        num_instances=engine.capacity(EngineKind.VIDEO).num_instances,
    )
