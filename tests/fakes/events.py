"""A listener to an engine's progress."""

from __future__ import annotations

from services.domain.engine import EngineEvent


class FakeEventSink:
    """Attributes:
    events: All that was heard.
    """

    def __init__(self) -> None:
        self.events: list[EngineEvent] = []

    def emit(self, event: EngineEvent) -> None:
        self.events.append(event)
