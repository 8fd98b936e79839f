"""Which tenants have jobs at a step, and whose turn it is.

An index cannot say which of its partitions hold anything, so each tenant that gets a job at a step is noted here first.
An item outlives its jobs, and that is found out late on purpose: an index may lag behind its table, and a tenant struck
off too early would wait for ever. So a tenant found without jobs is looked at ever so often for an hour, and then
forgotten.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from services.adapters.aws.clients import Clients
from services.adapters.aws.table import ConditionFailed, Table
from services.domain.job import JobStep
from services.ports.clock import Clock

_NOTED_MS: Final = 10_000  # a process that has just noted a tenant need not do so again
_SETTLED_MS: Final = 60_000  # an index is believed about what was noted longer ago than this; far more than _NOTED_MS
_LOOK_AGAIN_MS: Final = 120_000
_FORGET_S: Final = 3600
_MAX_NOTED: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """``number`` of the claim that last served the tenant; 0 for none. ``noted_at``: milliseconds since 1970."""

    tenant_id: str
    number: int
    noted_at: int


class Turns:
    """The table of turns; threads may share it. Every method raises ``Unavailable``."""

    def __init__(self, clients: Clients, *, name: str, clock: Clock) -> None:
        self._table = Table(clients, name)
        self._clock = clock
        self._noted: dict[tuple[JobStep, str], int] = {}

    def note(self, step: JobStep, tenant_id: str) -> None:
        """Remember that the tenant has a job at ``step``; to be called before the job is written there."""
        now = self._now_ms()
        if now - self._noted.get((step, tenant_id), 0) < _NOTED_MS:
            return
        self._update(step, tenant_id, "#noted_at = :now REMOVE #look_at, #expires_at", now=now)
        if len(self._noted) >= _MAX_NOTED:
            self._noted.clear()
        self._noted[step, tenant_id] = now

    def waiting(self, step: JobStep) -> Sequence[Turn]:
        """The tenants that may have jobs at ``step``, least recently served first."""
        now = self._now_ms()
        items = self._table.query("#step = :step", {"step": step}, consistent=True)
        turns = [
            Turn(tenant_id=item["tenant_id"], number=item.get("turn", 0), noted_at=item.get("noted_at", 0))
            for item in items
            if item.get("look_at", 0) <= now
        ]
        return sorted(turns, key=lambda turn: (turn.number, turn.tenant_id))

    def serve(self, step: JobStep, tenant_id: str, number: int) -> None:
        """Remember that the tenant was served; who waited meanwhile comes first."""
        assignments = "#turn = :turn, #noted_at = if_not_exists(#noted_at, :now)"
        self._update(step, tenant_id, assignments, turn=number, now=self._now_ms())

    def rest(self, step: JobStep, turn: Turn) -> None:
        """Look less often at a tenant that has no job at ``step``, unless one was noted lately."""
        now = self._now_ms()
        if now - turn.noted_at < _SETTLED_MS:
            return
        with suppress(ConditionFailed):  # a job came
            self._update(
                step,
                turn.tenant_id,
                "#look_at = :look_at, #expires_at = if_not_exists(#expires_at, :expires_at)",
                condition="#noted_at = :noted_at",
                look_at=now + _LOOK_AGAIN_MS,
                expires_at=now // 1000 + _FORGET_S,
                noted_at=turn.noted_at,
            )

    def _update(
        self, step: JobStep, tenant_id: str, assignments: str, *, condition: str | None = None, **values: int
    ) -> None:
        key = {"step": step, "tenant_id": tenant_id}
        self._table.update(key, assignments, condition=condition, values=values)

    def _now_ms(self) -> int:
        return int(self._clock.now().timestamp() * 1000)
