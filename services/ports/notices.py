"""Understanding what the engine's queue brings."""

from __future__ import annotations

from typing import Protocol

from services.domain.engine import EngineAnswer, EngineEvent


class NoticeReader(Protocol):
    def read(self, body: str) -> EngineAnswer | EngineEvent:
        """What an engine, or the service that runs it, said with this message.

        Raises:
            InvalidRequest: ``malformed_payload``.
            Unavailable: Where the answer lies cannot be read just now.
        """
        ...
