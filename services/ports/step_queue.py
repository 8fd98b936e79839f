"""Telling the function of a step that a row waits for it.

The rows are the outbox; a message is only a bell. On one machine nothing is sent: the runner's sources look at the
rows. On AWS the tables' streams ring (``lambdas/outbox``), and the reaper rings again for what stayed due.
"""

from __future__ import annotations

from typing import Protocol


class StepQueue(Protocol):
    @property
    def is_used(self) -> bool:
        """False on one machine, where a row that was claimed only to ring for it would lie for the whole lease."""
        ...

    def send(self, step: str, item_id: str, *, tenant_id: str, delay_s: float = 0.0) -> None:
        """Ring for ``step`` (``prepare``, ``notify`` or ``batch``) of the job or batch ``item_id``.

        A delay beyond what the queue can hold is cut: whoever serves the message finds the row not due, and the reaper
        rings again.

        Raises:
            Unavailable: ``queue_unavailable``.
        """
        ...

    def ring(self, *, tenant_id: str, delay_s: float = 0.0) -> None:
        """Ring for the step ``dispatch`` as a whole: it serves those whose turn it is, as many as there is room for.

        Raises:
            Unavailable: ``queue_unavailable``.
        """
        ...

    def put_off(self, queue: str, receipt: str, *, delay_s: float) -> None:
        """Let a message that was received and not finished come again in ``delay_s``; when that fails, it comes later.

        Args:
            queue: The queue that it was received from, by its ARN.
        """
        ...
