"""Find a tenant's batches; one that its owner deleted is not found, even while it is being removed."""

from __future__ import annotations

from services.domain.batch import Batch, BatchStep
from services.domain.errors import NotFound
from services.ports.batches import BatchStore
from services.ports.jobs import Page


def get_batch(batch_id: str, *, tenant_id: str, batches: BatchStore) -> Batch:
    """The batch, if it is the tenant's.

    Raises:
        NotFound: ``batch_not_found``, for another tenant's too.
    """
    return own_batch(batches.get(batch_id), tenant_id)


def own_batch(batch: Batch, tenant_id: str) -> Batch:
    """``batch``, if it is the tenant's and not being removed.

    Raises:
        NotFound: ``batch_not_found``.
    """
    if batch.tenant_id != tenant_id or batch.step is BatchStep.DELETE:
        raise NotFound(f"There is no batch {batch.id}.", code="batch_not_found")
    return batch


def list_batches(tenant_id: str, *, cursor: str | None, limit: int, batches: BatchStore) -> Page[Batch]:
    """Newest first, without those that are being removed; a slice may be short of ``limit``, empty only at the end.

    Raises:
        InvalidRequest: ``malformed_cursor``.
    """
    while True:
        page = batches.list(tenant_id, cursor=cursor, limit=limit)
        kept = tuple(batch for batch in page.items if batch.step is not BatchStep.DELETE)
        if kept or page.cursor is None:
            return Page(items=kept, cursor=page.cursor)
        cursor = page.cursor
