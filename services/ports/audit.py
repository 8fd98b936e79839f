"""The audit log: who did what to which thing, when. Append-only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from services.ports.jobs import Page


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One act. ``details`` hold ids, codes and numbers only: no prompts, names of people, URLs or secrets.

    Attributes:
        actor: Id of the API key, or ``operator`` for the admin command, ``system`` for the reaper.
        action: ``consent.revoked``, ``key.issued``, ``job.deleted`` ...
        target: Id of what it was done to.
    """

    id: str
    tenant_id: str
    at: datetime
    actor: str
    action: str
    target: str
    details: Mapping[str, str] = field(default_factory=dict)


class AuditLog(Protocol):
    def add(self, entry: AuditEntry) -> None: ...

    def list(self, tenant_id: str, *, cursor: str | None = None, limit: int = 50) -> Page[AuditEntry]:
        """Newest first."""
        ...

    def forget(self, tenant_id: str) -> None:
        """Remove every entry of a tenant that has been deleted; on AWS for the operator only, no function may."""
        ...
