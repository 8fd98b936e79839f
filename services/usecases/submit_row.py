"""Make a job of a batch's row."""

from __future__ import annotations

from services.domain.allowance import Allowance
from services.domain.batch import Batch, BatchRow
from services.domain.engine import Failure
from services.domain.errors import SpokesmodelError
from services.usecases.creation import Creation
from services.usecases.row_states import job_id_of, refused, with_job


def submit_row(batch: Batch, row: BatchRow, *, creation: Creation, allowance: Allowance | None) -> BatchRow:
    """The row with its job, or failed when it cannot be accepted any more.

    Args:
        allowance: The tenant's month, if it is limited.

    Raises:
        SpokesmodelError: Not now: a retryable one, such as ``QuotaExceeded``.
    """
    try:
        creation.submit(
            row.request,
            job_id=job_id_of(batch, row),
            tenant_id=batch.tenant_id,
            batch_id=batch.id,
            allowance=allowance,
        )
    except SpokesmodelError as error:
        if error.retryable:
            raise
        return refused(row, Failure(code=error.code, detail=error.detail, param=error.param))
    except Exception as error:  # a bug, met by one row of many: the others go on
        detail = f"The row broke on our side ({type(error).__name__})."
        return refused(row, Failure(code="row_not_submitted", detail=detail))
    return with_job(batch, row)
