"""An engine for each lane of work, as one."""

from __future__ import annotations

from collections.abc import Mapping

from services.domain.engine import EngineKind, EngineRequest, Lane
from services.ports.engine import Engine, EngineCapacity


class LaneEngines:
    """``services.ports.engine.Engine`` that leaves work to its lane's own."""

    def __init__(self, engines: Mapping[Lane, Engine]) -> None:
        self._engines = engines

    def start(self, request: EngineRequest) -> None:
        self._engines[request.kind.lane].start(request)

    def capacity(self, kind: EngineKind) -> EngineCapacity:
        return self._engines[kind.lane].capacity(kind)
