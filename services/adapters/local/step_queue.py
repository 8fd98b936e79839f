"""No queues: on one machine the rows are looked at."""

from __future__ import annotations


class NoStepQueue:
    """``services.ports.step_queue.StepQueue`` that sends nothing."""

    is_used = False

    def send(self, step: str, item_id: str, *, tenant_id: str, delay_s: float = 0.0) -> None:
        """Nothing."""

    def ring(self, *, tenant_id: str, delay_s: float = 0.0) -> None:
        """Nothing."""

    def put_off(self, queue: str, receipt: str, *, delay_s: float) -> None:
        """Nothing: the runner releases the row's claim with a delay of its own."""
