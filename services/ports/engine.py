"""Where model runs happen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from services.domain.engine import EngineEvent, EngineKind, EngineRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineCapacity:
    num_instances: int
    concurrency_per_instance: int

    @property
    def max_outstanding(self) -> int:
        """Admission: twice what can run at once; one when scaled to zero, to wake the endpoint."""
        return max(1, 2 * self.num_instances * self.concurrency_per_instance)


class Engine(Protocol):
    """Submit, then be notified: nothing here waits for a result."""

    def start(self, request: EngineRequest) -> None:
        """Hand an attempt over. Starting the same attempt twice runs it once or twice, and is heard once.

        Raises:
            Unavailable: ``engine_unavailable``; the attempt was not taken.
        """
        ...

    def capacity(self, kind: EngineKind) -> EngineCapacity: ...


class EventSink(Protocol):
    """Where an engine's progress goes. Losing an event is allowed; raising is not."""

    def emit(self, event: EngineEvent) -> None: ...
