"""Claim jobs for a step, of those to be dispatched only as many as the engine may be given."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from services.domain.engine import EngineKind
from services.domain.errors import NotFound
from services.domain.job import DISPATCHED, Job, JobStep
from services.ports.engine import Engine
from services.ports.jobs import JobStore
from services.ports.tenants import TenantStore

DEFAULT_MAX_OUTSTANDING = 8  # of a tenant without a row


def claim_step(
    step: JobStep,
    *,
    limit: int,
    lease_s: float,
    jobs: JobStore,
    engine: Engine,
    tenants: TenantStore,
    share_of: Callable[[str], int] | None = None,
) -> Sequence[Job]:
    """Up to ``limit`` claimed jobs, turn about between tenants.

    Waiting jobs are left alone while the engine or their tenant's share is full: claiming them only to put them
    back would cost a write for each, again and again, and lose their order. ``dispatch_attempt`` still checks.

    Args:
        share_of: How many more jobs of a tenant whoever claims will serve now; for steps that need no engine.
    """
    if step not in DISPATCHED:
        return jobs.claim(step, limit=limit, lease_s=lease_s, room_of=share_of)
    kind = EngineKind.IMAGE if step is JobStep.DISPATCH_NOW else EngineKind.VIDEO  # one pool serves a lane's kinds
    outstanding = jobs.outstanding_by_tenant(lane=kind.lane)
    room = engine.capacity(kind).max_outstanding - sum(outstanding.values())
    if room < 1:
        return ()

    def room_of(tenant_id: str) -> int:
        return max_outstanding(tenant_id, tenants=tenants) - outstanding.get(tenant_id, 0)

    return jobs.claim(step, limit=min(limit, room), lease_s=lease_s, room_of=room_of)


def max_outstanding(tenant_id: str, *, tenants: TenantStore) -> int:
    """How many of the tenant's jobs an engine may hold at once."""
    try:
        return tenants.get(tenant_id).max_outstanding
    except NotFound:
        return DEFAULT_MAX_OUTSTANDING
