"""One pass over a running batch: take in what has ended, submit the next rows.

The order of writes makes a pass harmless to repeat from anywhere. A row's job has an id that follows from batch, row
and try, and is stored before the row says so: when a crash comes between, the next pass finds the row pending, makes
the same id and meets the job that is there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from services.domain.allowance import Allowance
from services.domain.batch import Batch, BatchRow, BatchState, RowState
from services.domain.engine import Failure
from services.domain.errors import Conflict, NotFound, QuotaExceeded
from services.domain.job import Job
from services.ports.batches import BatchStore
from services.ports.clock import Clock
from services.ports.jobs import JobStore
from services.ports.objects import ObjectStore
from services.settings import Settings
from services.usecases.cancel_job import cancel_job
from services.usecases.creation import Creation
from services.usecases.row_states import again, ended, job_id_of, with_job
from services.usecases.submit_row import submit_row

_CHUNK: Final = 25  # rows between two writes
_LONGEST_WAIT_S: Final = 900.0  # a quota may be raised, or jobs canceled, before its time
_CHUNK_OF_MARKS: Final = 500  # rows that are only marked


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """What a pass did.

    Attributes:
        moved: Rows that changed, by the state that they came from (less) and went to (more).
        num_open: Rows whose jobs have not ended.
        is_over: No row is pending or submitted, as far as this pass has seen.
        wait_s: How long the next pass can wait.
        held_by: The quota that kept it from submitting more rows.
    """

    moved: Counter[str]
    num_open: int
    is_over: bool
    wait_s: float
    held_by: Failure | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Advance:
    """The parts that a pass works with.

    Attributes:
        check_quota: The month of the batch's tenant, where it is limited; raises ``QuotaExceeded`` while there may be
            no further job.
    """

    creation: Creation
    check_quota: Callable[[Batch], Allowance | None]
    batches: BatchStore
    jobs: JobStore
    objects: ObjectStore
    clock: Clock
    settings: Settings

    def make_pending(self, batch: Batch) -> Counter[str]:
        """Failed rows wait for another try; the pass after this one submits them."""
        moved: Counter[str] = Counter()
        for chunk in self._chunks(batch, RowState.FAILED):
            self._put(moved, chunk, [again(row) for row in chunk])
        return moved

    def run(self, batch: Batch) -> Pass:
        """One pass; of a paused batch it submits nothing, of a canceled one it ends what still runs."""
        moved: Counter[str] = Counter()
        is_canceled = batch.state is BatchState.CANCELED
        if is_canceled:
            self._cancel_pending(batch, moved)
        open_rows = self._take_in(batch, moved, cancel=is_canceled)
        wait_s, quota = self.settings.batch_poll_s, None
        if batch.state is BatchState.PROCESSING:
            num_submitted, quota = self._submit(batch, self.settings.batch_window - open_rows, moved)
            open_rows += num_submitted
        if quota is not None:
            wait_s = max(wait_s, min(quota.retry_after_s, _LONGEST_WAIT_S))
        is_over = not open_rows and not self.batches.rows(batch.id, state=RowState.PENDING, limit=1)
        held_by = None if quota is None else Failure(code=quota.code, detail=quota.detail, retryable=True)
        return Pass(moved=moved, num_open=open_rows, is_over=is_over, wait_s=wait_s, held_by=held_by)

    def _take_in(self, batch: Batch, moved: Counter[str], *, cancel: bool) -> int:
        """The number of rows whose jobs have not ended."""
        num_open = 0
        for rows in self._chunks(batch, RowState.SUBMITTED):
            found = self.jobs.get_many([row.job_id for row in rows if row.job_id is not None])
            over = []
            for row in rows:
                job = found.get(row.job_id or "")
                if cancel and job is not None and not job.state.is_final:
                    job = self._canceled(job)
                if job is not None and not job.state.is_final:
                    num_open += 1
                    continue
                over.append(ended(row, job))
            self._put(moved, [row for row in rows if row.number in {one.number for one in over}], over)
        return num_open

    def _submit(self, batch: Batch, room: int, moved: Counter[str]) -> tuple[int, QuotaExceeded | None]:
        """The number of rows submitted, and the quota that kept it from more."""
        num_submitted, quota = 0, None
        for rows in self._chunks(batch, RowState.PENDING, size=_CHUNK):
            if self.batches.get(batch.id).state is not BatchState.PROCESSING:
                break  # paused or canceled since the pass began
            taken: list[BatchRow] = []
            # Jobs that a crash hid are there, whatever the checks would say of their rows by now.
            hidden = self.jobs.get_many([job_id_of(batch, row) for row in rows])
            try:
                allowance = self.check_quota(batch)
                for row in rows[: max(0, room - num_submitted)]:
                    taken.append(
                        with_job(batch, row)
                        if job_id_of(batch, row) in hidden
                        else submit_row(batch, row, creation=self.creation, allowance=allowance)
                    )
                    num_submitted += taken[-1].state is RowState.SUBMITTED
            except QuotaExceeded as error:
                quota, room = error, 0
            finally:
                self._put(moved, rows[: len(taken)], taken)
            if num_submitted >= room:
                break
        return num_submitted, quota

    def _cancel_pending(self, batch: Batch, moved: Counter[str]) -> None:
        """Pending rows end; one whose job a crash hid is taken for submitted, and its job canceled with the others."""
        for rows in self._chunks(batch, RowState.PENDING):
            hidden = self.jobs.get_many([job_id_of(batch, row) for row in rows])
            marked = [
                with_job(batch, row) if job_id_of(batch, row) in hidden else replace(row, state=RowState.CANCELED)
                for row in rows
            ]
            self._put(moved, rows, marked)

    def _canceled(self, job: Job) -> Job:
        try:
            return cancel_job(job.id, tenant_id=job.tenant_id, jobs=self.jobs, objects=self.objects, clock=self.clock)
        except (Conflict, NotFound):  # it ended, or was deleted, at this very moment: the next pass sees how
            return job

    def _chunks(self, batch: Batch, state: RowState, *, size: int = _CHUNK_OF_MARKS) -> Iterator[Sequence[BatchRow]]:
        """The rows in ``state``, read on from the last number, so that a store's lagging index repeats none."""
        after = 0
        while rows := self.batches.rows(batch.id, state=state, after=after, limit=size):
            yield rows
            after = rows[-1].number

    def _put(self, moved: Counter[str], before: Sequence[BatchRow], after: Sequence[BatchRow]) -> None:
        self.batches.put_rows(after)
        moved.subtract(row.state for row in before)
        moved.update(row.state for row in after)
