"""Write an act into the audit log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from services.domain.ids import new_id
from services.ports.audit import AuditEntry, AuditLog
from services.ports.clock import Clock

OPERATOR: Final = "operator"  # the actor of admin commands, and the tenant of what outlives a tenant
SYSTEM: Final = "system"


def record_act(
    action: str,
    target: str,
    *,
    tenant_id: str,
    actor: str,
    audit: AuditLog,
    clock: Clock,
    details: Mapping[str, str] | None = None,
) -> None:
    """One entry; ``details`` hold ids, codes and numbers only.

    Args:
        action: What was done, as ``noun.verb``: ``key.issued``, ``consent.revoked``.
        target: Id of what it was done to.
        actor: Id of the API key, ``OPERATOR``, or ``SYSTEM``.
    """
    audit.add(
        AuditEntry(
            id=new_id("audit"),
            tenant_id=tenant_id,
            at=clock.now(),
            actor=actor,
            action=action,
            target=target,
            details=details or {},
        )
    )
