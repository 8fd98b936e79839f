"""Telling the function of a step that a row waits for it.

The rows are the outbox; a message is only a bell. On one machine nothing is sent: the runner's sources look at the
rows. On AWS the table's stream sends them and the reaper sends again what stayed due.
"""

from __future__ import annotations

from typing import Protocol


class StepQueue(Protocol):
    def send(self, step: str, item_id: str, *, tenant_id: str, delay_s: float = 0.0) -> None:
        """Ring for ``step`` (a ``JobStep``, or ``batch``) of the job or batch ``item_id``.

        A delay beyond what the queue can hold is cut: whoever serves the message finds the row not due, and the reaper
        rings again.

        Raises:
            Unavailable: ``queue_unavailable``.
        """
        ...
