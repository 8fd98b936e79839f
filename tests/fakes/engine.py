"""An engine that takes attempts and runs none."""

from __future__ import annotations

from services.domain.engine import EngineKind, EngineRequest
from services.domain.errors import Unavailable
from services.ports.engine import EngineCapacity


class FakeEngine:
    def __init__(self, *, num_instances: int = 4) -> None:
        self.num_instances = num_instances
        self.is_reachable = True
        self.started: list[EngineRequest] = []

    def start(self, request: EngineRequest) -> None:
        if not self.is_reachable:
            raise Unavailable("The engine does not answer.", code="engine_unavailable")
        self.started.append(request)

    def capacity(self, kind: EngineKind) -> EngineCapacity:
        return EngineCapacity(num_instances=self.num_instances, concurrency_per_instance=1)
