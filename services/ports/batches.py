"""Where batches and their rows live."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from services.domain.batch import Batch, BatchRow, RowState
from services.ports.jobs import Page


class BatchStore(Protocol):
    """Batches with optimistic concurrency and leases, as ``JobStore`` has them; rows by number."""

    def add(self, batch: Batch) -> None:
        """Raises:
        Conflict: ``batch_exists``.
        """
        ...

    def get(self, batch_id: str) -> Batch:
        """Raises:
        NotFound: ``batch_not_found``.
        """
        ...

    def save(self, batch: Batch) -> Batch:
        """Store ``batch`` if the stored version is ``batch.version``; ends any claim on it.

        Raises:
            Conflict: ``stale_batch``.
            NotFound: ``batch_not_found``.
        """
        ...

    def delete(self, batch_id: str) -> None:
        """Remove the batch and its rows; removing what is not there is no error."""
        ...

    def delete_rows(self, batch_id: str, *, limit: int) -> int:
        """Remove up to ``limit`` of the batch's rows; how many, so 0 once none is left."""
        ...

    def list(self, tenant_id: str, *, cursor: str | None = None, limit: int = 50) -> Page[Batch]:
        """Newest first.

        Raises:
            InvalidRequest: ``malformed_cursor``.
        """
        ...

    def claim(self, *, limit: int, lease_s: float, due_for_s: float = 0.0) -> Sequence[Batch]:
        """Batches whose step has been due for ``due_for_s`` and is unclaimed; an expired claim counts as a try.

        Where claims are how batches come to be served, tenants take turns: the one whose last turn is longest ago
        comes first, with the batch that has been due for longest. On AWS the queue is fair, and claims only find what
        was left lying.
        """
        ...

    def release(self, batch_id: str, *, delay_s: float) -> None:
        """End a claim after a failed try; no effect when there is none."""
        ...

    def finished_before(self, moment: datetime, *, limit: int) -> Sequence[Batch]:
        """Batches that ended before ``moment``, oldest first; none where the store lets rows expire by itself."""
        ...

    def put_rows(self, rows: Sequence[BatchRow]) -> None:
        """Write rows, in place of those with the same batch and number."""
        ...

    def rows(
        self, batch_id: str, *, state: RowState | None = None, after: int = 0, limit: int = 100
    ) -> Sequence[BatchRow]:
        """Rows in order of number, behind number ``after`` only."""
        ...

    def count_rows(self, batch_id: str) -> Mapping[RowState, int]:
        """Exact number of rows by state; states without rows are left out. Reads every row: not for each pass."""
        ...
