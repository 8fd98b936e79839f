"""Dead letters of one machine: none, since no message carries anything."""

from __future__ import annotations

from collections.abc import Sequence

from services.ports.dead_letters import DeadLetter


class NoDeadLetters:
    """``services.ports.dead_letters.DeadLetters`` where rows are claimed and no message is sent."""

    def list(self, *, limit: int = 100) -> Sequence[DeadLetter]:
        return ()

    def replay(self, *, limit: int = 100) -> int:
        return 0
