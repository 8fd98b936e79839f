"""How a batch's row goes from state to state, and the id of its job."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from services.domain.batch import Batch, BatchRow, RowState
from services.domain.engine import Failure
from services.domain.ids import derived_id
from services.domain.job import Job, JobState

_ENDS: Final = {
    JobState.SUCCEEDED: RowState.SUCCEEDED,
    JobState.FAILED: RowState.FAILED,
    JobState.CANCELED: RowState.CANCELED,
}


def job_id_of(batch: Batch, row: BatchRow) -> str:
    """The id of the job of the row's next try."""
    return derived_id("job", batch.created_at, (batch.id, row.number, row.tries + 1))


def with_job(batch: Batch, row: BatchRow) -> BatchRow:
    """The row, whose next try is a job now."""
    return replace(row, state=RowState.SUBMITTED, tries=row.tries + 1, job_id=job_id_of(batch, row), failure=None)


def refused(row: BatchRow, failure: Failure) -> BatchRow:
    """The row, whose next try could not become a job."""
    return replace(row, state=RowState.FAILED, tries=row.tries + 1, job_id=None, failure=failure)


def again(row: BatchRow) -> BatchRow:
    """The row, waiting for another try."""
    return replace(row, state=RowState.PENDING, job_id=None, failure=None)


def ended(row: BatchRow, job: Job | None) -> BatchRow:
    """The row as its job ended, which may have been deleted since."""
    if job is None:
        failure = Failure(code="job_deleted", detail="The row's job was deleted before the batch saw how it ended.")
        return replace(row, state=RowState.FAILED, failure=failure)
    return replace(row, state=_ENDS[job.state], failure=job.failure)
