"""What could not be served however often it was tried, and waits for an operator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """One message or row.

    Attributes:
        queue: The step it is of: ``prepare``, ``dispatch``, ``notify``, ``batch``, ``engine``, ``work``.
        item_id: The job or batch that it is about; "" when the message cannot be read.
        num_tries: How often it was served in vain.
        at: When it was sent first, or when its job was last changed.
        reason: An error code, or ``undelivered`` for a message of which only the logs know more.
    """

    queue: str
    item_id: str
    num_tries: int
    at: datetime
    reason: str


class DeadLetters(Protocol):
    """On AWS the dead-letter queues. On one machine there are none: the rows themselves wait."""

    def list(self, *, limit: int = 100) -> Sequence[DeadLetter]:
        """Some of them, up to ``limit``; looking takes nothing away, and hides a message for seconds only.

        Raises:
            Unavailable: ``queue_unavailable``.
        """
        ...

    def replay(self, *, limit: int = 100) -> int:
        """Send up to ``limit`` back to the queues they came from; how many.

        A crash on the way may leave a message in both: every step may be served twice.

        Raises:
            Unavailable: ``queue_unavailable``.
        """
        ...
