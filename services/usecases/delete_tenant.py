"""Delete everything of a tenant, in every store."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, Protocol, TypeVar

from services.domain.errors import Conflict, NotFound
from services.domain.job import JobStep
from services.domain.product import ProductKind
from services.ports.jobs import Page
from services.usecases.cancel_job import cancel_job
from services.usecases.record_act import OPERATOR, record_act
from services.usecases.stores import Stores

_ENGINES_STOP_WITHIN_S: Final = 5.0  # they look for the stop mark between frames


class _Identified(Protocol):
    @property
    def id(self) -> str: ...


T = TypeVar("T", bound=_Identified)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedTenant:
    """How much was deleted by this call."""

    num_jobs: int
    num_objects: int


def delete_tenant(tenant_id: str, *, stores: Stores, actor: str = OPERATOR) -> DeletedTenant:
    """Delete jobs, batches, catalogue, uploads, consents, answers, bill, objects, audit entries, keys and the tenant.

    Its keys are refused from the first moment on. The tenant's row goes last, so a call that was interrupted can be
    made again. What stays is one entry in the operator's own audit log that names the id; and log files, which hold
    ids until they are rotated.

    Raises:
        NotFound: ``tenant_not_found``.
    """
    tenant = stores.tenants.get(tenant_id)
    if tenant.deleting_since is None:
        stores.tenants.update(replace(tenant, deleting_since=stores.clock.now()))
    num_jobs = _delete_jobs(tenant_id, stores)
    for batch in _all(lambda cursor: stores.batches.list(tenant_id, cursor=cursor)):
        stores.deliveries.forget(batch.id)
        stores.batches.delete(batch.id)
    num_jobs += _delete_jobs(tenant_id, stores)  # of rows that a batch submitted meanwhile
    for avatar in _all(lambda cursor: stores.avatars.list(tenant_id, cursor=cursor)):
        if avatar.tenant_id is not None:
            stores.avatars.delete(tenant_id, avatar.id)
    for wig in _all(lambda cursor: stores.products.list(tenant_id, ProductKind.WIG, cursor=cursor)):
        stores.products.delete(tenant_id, wig.id)
    for garment in _all(lambda cursor: stores.products.list(tenant_id, ProductKind.GARMENT, cursor=cursor)):
        stores.products.delete(tenant_id, garment.id)
    for upload in _all(lambda cursor: stores.uploads.list(tenant_id, cursor=cursor)):
        stores.uploads.delete(tenant_id, upload.id)
    for consent in _all(lambda cursor: stores.consents.list(tenant_id, cursor=cursor)):
        stores.consents.delete(tenant_id, consent.id)
    stores.idempotency.forget(tenant_id)
    stores.usage.forget(tenant_id)
    stores.jobs.forget_holdings(tenant_id)
    num_objects = stores.objects.delete_tenant(tenant_id)
    stores.audit.forget(tenant_id)
    details = {"num_jobs": str(num_jobs), "num_objects": str(num_objects)}
    record_act(
        "tenant.deleted",
        tenant_id,
        tenant_id=OPERATOR,
        actor=actor,
        audit=stores.audit,
        clock=stores.clock,
        details=details,
    )
    stores.tenants.delete(tenant_id)
    if stores.erasure is not None:
        stores.erasure.finish()
    return DeletedTenant(num_jobs=num_jobs, num_objects=num_objects)


def _delete_jobs(tenant_id: str, stores: Stores) -> int:
    """Cancel what has not ended, let engines stop, then delete the rows."""
    jobs = _all(lambda cursor: stores.jobs.list(tenant_id, cursor=cursor))
    is_running = False
    for job in jobs:
        is_running |= job.step is JobStep.RUN
        with suppress(Conflict, NotFound):  # it has ended, or an earlier call deleted it
            cancel_job(job.id, tenant_id=tenant_id, jobs=stores.jobs, objects=stores.objects, clock=stores.clock)
    if is_running:
        stores.clock.sleep(_ENGINES_STOP_WITHIN_S)
    for job in jobs:
        stores.deliveries.forget(job.id)
        stores.jobs.delete(job.id)
    return len(jobs)


def _all(slice_behind: Callable[[str | None], Page[T]]) -> list[T]:
    found: list[T] = []
    cursor: str | None = None
    while True:
        page = slice_behind(cursor)
        found += page.items
        if page.cursor is None:
            return found
        cursor = page.cursor
