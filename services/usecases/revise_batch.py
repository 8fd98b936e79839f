"""Change a batch that others change too."""

from __future__ import annotations

from collections.abc import Callable

from services.domain.batch import Batch
from services.domain.errors import Conflict
from services.ports.batches import BatchStore


def revise_batch(batch_id: str, change: Callable[[Batch], Batch | None], *, batches: BatchStore) -> Batch:
    """The batch as ``change`` made it of its present state, saved; on a race ``change`` is asked again.

    Args:
        change: Pure; None leaves the batch as it is.

    Raises:
        NotFound: ``batch_not_found``.
        SpokesmodelError: whatever ``change`` raises.
    """
    while True:
        batch = batches.get(batch_id)
        changed = change(batch)
        if changed is None:
            return batch
        try:
            return batches.save(changed)
        except Conflict as conflict:
            if conflict.code != "stale_batch":
                raise
