"""What was used, for the bill: one record a job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from services.domain.pricing import Cost


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRecord:
    """Quantities by unit, as ``EngineAnswer.usage`` names them, and the cost by the prices of that day.

    Attributes:
        cost: None for work without a price, and in records older than prices.
    """

    job_id: str
    tenant_id: str
    kind: str
    quantities: Mapping[str, float]
    at: datetime
    cost: Cost | None = None


class UsageStore(Protocol):
    def record(self, record: UsageRecord) -> bool:
        """Store it unless the job has one already; whether it was stored."""
        ...

    def list(self, tenant_id: str, *, since: datetime, until: datetime) -> Sequence[UsageRecord]: ...

    def forget(self, tenant_id: str) -> None:
        """Remove every record of a tenant that is being deleted."""
        ...
