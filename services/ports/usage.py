"""What was used, for the bill: one record a job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRecord:
    """Quantities by unit, as ``EngineAnswer.usage`` names them."""

    job_id: str
    tenant_id: str
    kind: str
    quantities: Mapping[str, float]
    at: datetime


class UsageStore(Protocol):
    def record(self, record: UsageRecord) -> bool:
        """Store it unless the job has one already; whether it was stored."""
        ...

    def list(self, tenant_id: str, *, since: datetime, until: datetime) -> Sequence[UsageRecord]: ...
