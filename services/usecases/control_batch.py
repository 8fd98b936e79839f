"""What its owner does to a batch under way: pause, resume, cancel, retry, delete."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from services.domain.batch import Batch, BatchState, BatchStep, RowState
from services.domain.errors import Conflict
from services.ports.batches import BatchStore
from services.ports.clock import Clock
from services.usecases.find_batch import own_batch
from services.usecases.revise import revise


def pause_batch(batch_id: str, *, tenant_id: str, batches: BatchStore, clock: Clock) -> Batch:
    """The batch, which submits no further rows; what runs, runs on. Pausing a paused batch changes nothing.

    Raises:
        NotFound: ``batch_not_found``.
        Conflict: ``batch_is_final``.
    """

    def pause(batch: Batch) -> Batch | None:
        _refuse_final(batch)
        if batch.state is BatchState.PAUSED:
            return None
        return replace(batch, state=BatchState.PAUSED, held_by=None, updated_at=clock.now())

    return _revise(batch_id, tenant_id, pause, batches)


def resume_batch(batch_id: str, *, tenant_id: str, batches: BatchStore, clock: Clock) -> Batch:
    """The batch, which submits rows again. Resuming one that runs changes nothing.

    Raises:
        NotFound: ``batch_not_found``.
        Conflict: ``batch_is_final``.
    """

    def resume(batch: Batch) -> Batch | None:
        _refuse_final(batch)
        if batch.state is not BatchState.PAUSED:
            return None
        if batch.step is BatchStep.VALIDATE:  # it was paused before its file was read
            return replace(batch, state=BatchState.QUEUED, updated_at=clock.now())
        return _at_once(replace(batch, state=BatchState.PROCESSING), clock)

    return _revise(batch_id, tenant_id, resume, batches)


def cancel_batch(batch_id: str, *, tenant_id: str, batches: BatchStore, clock: Clock) -> Batch:
    """The batch, canceled at once; its rows end with the next pass, and their jobs with them. Ended rows stay.

    A file that has not been read is not read any more; of one half read there are the rows that were.

    Raises:
        NotFound: ``batch_not_found``.
        Conflict: ``batch_is_final``, when it succeeded or failed.
    """

    def cancel(batch: Batch) -> Batch | None:
        if batch.state is BatchState.CANCELED:
            return None
        _refuse_final(batch)
        return _at_once(replace(batch, state=BatchState.CANCELED, held_by=None, retry_asked=False), clock)

    return _revise(batch_id, tenant_id, cancel, batches)


def retry_batch(batch_id: str, *, tenant_id: str, batches: BatchStore, clock: Clock) -> Batch:
    """The batch, whose failed rows will be tried again, each as a new job; rows that succeeded are not touched.

    Raises:
        NotFound: ``batch_not_found``.
        Conflict: ``nothing_to_retry``: no row has failed; ``batch_is_final``, when it was canceled.
    """

    def retry(batch: Batch) -> Batch | None:
        if batch.state is BatchState.CANCELED:
            raise Conflict(f"Batch {batch.id} was canceled; its rows stay as they are.", code="batch_is_final")
        if batch.retry_asked:
            return None
        if not batches.rows(batch.id, state=RowState.FAILED, limit=1):
            raise Conflict(
                f"Batch {batch.id} has no failed rows. Invalid rows are corrected in the file and sent as a new batch.",
                code="nothing_to_retry",
            )
        state = BatchState.PROCESSING if batch.state.is_final else batch.state
        return _at_once(replace(batch, state=state, retry_asked=True, finished_at=None), clock)

    return _revise(batch_id, tenant_id, retry, batches)


def delete_batch(batch_id: str, *, tenant_id: str, batches: BatchStore, clock: Clock) -> None:
    """From now on there is no such batch; file, rows, report and tables are removed soon after (``remove_batch``).

    Its jobs stay: they are jobs.

    Raises:
        NotFound: ``batch_not_found``.
        Conflict: ``batch_active``.
    """

    def mark(batch: Batch) -> Batch:
        if batch.finished_at is None:
            raise Conflict(f"Batch {batch.id} has not ended; cancel it before deleting it.", code="batch_active")
        return _at_once(batch, clock, step=BatchStep.DELETE)

    _revise(batch_id, tenant_id, mark, batches)


def _at_once(batch: Batch, clock: Clock, *, step: BatchStep = BatchStep.FAN_OUT) -> Batch:
    """``batch`` with ``step`` due now; what is under way keeps it to its end, and sees the change there."""
    now = clock.now()
    available_at = batch.available_at if batch.is_in_pass else now
    return replace(batch, step=step, step_tries=0, updated_at=now, available_at=available_at)


def _refuse_final(batch: Batch) -> None:
    if batch.state.is_final:
        raise Conflict(f"Batch {batch.id} has {batch.state} already.", code="batch_is_final")


def _revise(batch_id: str, tenant_id: str, change: Callable[[Batch], Batch | None], batches: BatchStore) -> Batch:
    """The batch after ``change``, if it is the tenant's; looked at again before each try."""

    def own(batch: Batch) -> Batch | None:
        return change(own_batch(batch, tenant_id))

    return revise(batch_id, own, get=batches.get, save=batches.save)
