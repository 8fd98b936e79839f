"""Remove a batch that its owner deleted: what it holds may be more than one request has time for."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from services.domain.batch import Batch
from services.ports.batches import BatchStore
from services.ports.clock import Clock
from services.ports.objects import ObjectStore
from services.ports.webhooks import DeliveryLog
from services.settings import Settings

_CHUNK: Final = 500


def remove_batch(
    batch: Batch,
    *,
    batches: BatchStore,
    objects: ObjectStore,
    deliveries: DeliveryLog,
    clock: Clock,
    settings: Settings,
) -> bool:
    """Whether all is gone: file, report, tables, log of deliveries, rows, and last the batch itself.

    After ``batch_slice_s`` it is another's turn, and the next call goes on; so does one after a crash.

    Raises:
        Unavailable: A store does not answer; to be tried again.
    """
    ends_at = clock.now() + timedelta(seconds=settings.batch_slice_s)
    objects.delete_owner(batch.tenant_id, batch.id)
    while batches.delete_rows(batch.id, limit=_CHUNK):
        if clock.now() >= ends_at:
            return False
    objects.delete_owner(batch.tenant_id, batch.id)  # a table of results that a request wrote meanwhile
    deliveries.forget(batch.id)
    batches.delete(batch.id)
    return True
