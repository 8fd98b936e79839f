"""Bells that are kept, to be looked at or served."""

from __future__ import annotations

from dataclasses import dataclass

from services.domain.errors import Unavailable


@dataclass(frozen=True)
class Bell:
    """``item_id`` is empty for the step ``dispatch``, which is rung as a whole."""

    step: str
    item_id: str
    tenant_id: str
    delay_s: float


class FakeStepQueue:
    def __init__(self, *, is_used: bool = False) -> None:
        self.is_used = is_used
        self.is_reachable = True
        self.bells: list[Bell] = []
        self.put_offs: list[tuple[str, str, float]] = []

    def send(self, step: str, item_id: str, *, tenant_id: str, delay_s: float = 0.0) -> None:
        self._add(Bell(step, item_id, tenant_id, delay_s))

    def ring(self, *, tenant_id: str, delay_s: float = 0.0) -> None:
        self._add(Bell("dispatch", "", tenant_id, delay_s))

    def put_off(self, queue: str, receipt: str, *, delay_s: float) -> None:
        self.put_offs.append((queue, receipt, delay_s))

    def taken(self) -> list[Bell]:
        """The bells so far, which are gone then."""
        bells, self.bells = self.bells, []
        return bells

    def _add(self, bell: Bell) -> None:
        if not self.is_reachable:
            raise Unavailable("The queue does not answer.", code="queue_unavailable")
        self.bells.append(bell)
