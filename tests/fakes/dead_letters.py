"""Dead letters that a test puts down, or a fake queue gives up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from services.domain.errors import Unavailable
from services.domain.notice import item_named
from services.ports.clock import Clock
from services.ports.dead_letters import DeadLetter


@dataclass(frozen=True)
class DeadMessage:
    step: str
    body: str
    group: str
    num_tries: int
    at: datetime


class FakeDeadLetters:
    """Args:
    send: Takes step, body and group of what is replayed.

    Attributes:
        messages: What waits, oldest first.
    """

    def __init__(self, clock: Clock, send: Callable[[str, str, str], None]) -> None:
        self._clock = clock
        self._send = send
        self.messages: list[DeadMessage] = []
        self.is_reachable = True

    def put(self, step: str, body: str, *, group: str = "", num_tries: int = 1) -> None:
        """Give a message up."""
        self.messages.append(DeadMessage(step, body, group, num_tries, self._clock.now()))

    def list(self, *, limit: int = 100) -> Sequence[DeadLetter]:
        self._check()
        return tuple(
            DeadLetter(
                queue=message.step,
                item_id=item_named(message.body),
                num_tries=message.num_tries,
                at=message.at,
                reason="undelivered",
            )
            for message in self.messages[:limit]
        )

    def replay(self, *, limit: int = 100) -> int:
        self._check()
        sent, self.messages = self.messages[:limit], self.messages[limit:]
        for message in sent:
            self._send(message.step, message.body, message.group)
        return len(sent)

    def _check(self) -> None:
        if not self.is_reachable:
            raise Unavailable("The queues do not answer.", code="queue_unavailable")
