"""Where job rows live."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Protocol, TypeVar

from services.domain.allowance import Allowance, Holdings
from services.domain.engine import EngineKind, Lane
from services.domain.job import Job, JobState, JobStep

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T]):
    """A slice of a listing, newest first; ``cursor`` fetches the next one, None ends it."""

    items: tuple[T, ...]
    cursor: str | None = None


class JobStore(Protocol):
    """Job rows with optimistic concurrency, and claims of due steps with leases.

    A job with ``held_s`` holds that much of its tenant's month from its ``add`` until it is saved as ended: the sum
    (``holdings``) changes in the same write as the row, so that nothing leaks and nothing is let go twice.
    """

    def add(self, job: Job, *, allowance: Allowance | None = None) -> None:
        """Store a new job durably, if its ``held_s`` fits into ``allowance`` beside what is held already.

        However many are added at once, no more than fit are.

        Raises:
            Conflict: ``job_exists``.
            QuotaExceeded, ContentRejected: What ``Allowance.check`` says.
        """
        ...

    def holdings(self, tenant_id: str) -> Holdings:
        """What the tenant's jobs with ``held_s`` hold and have made."""
        ...

    def forget_holdings(self, tenant_id: str) -> None:
        """Remove a deleted tenant's holdings."""
        ...

    def get(self, job_id: str) -> Job:
        """Raises:
        NotFound: ``job_not_found``.
        """
        ...

    def get_many(self, job_ids: Collection[str]) -> Mapping[str, Job]:
        """The jobs there are among ``job_ids``, by id; the others are absent."""
        ...

    def save(self, job: Job) -> Job:
        """Store ``job`` if the stored version is ``job.version``; the answer carries the new version.

        Saving also ends any claim on the row.

        Raises:
            Conflict: ``stale_job`` when another writer came first.
            NotFound: ``job_not_found``.
        """
        ...

    def delete(self, job_id: str) -> None:
        """Remove the row; removing what is not there is no error."""
        ...

    def list(
        self,
        tenant_id: str,
        *,
        state: JobState | None = None,
        kind: EngineKind | None = None,
        cursor: str | None = None,
        limit: int = 50,
    ) -> Page[Job]:
        """A tenant's jobs, newest first.

        Raises:
            InvalidRequest: ``malformed_cursor``.
        """
        ...

    def claim(
        self,
        step: JobStep,
        *,
        limit: int,
        lease_s: float,
        room_of: Callable[[str], int] | None = None,
        due_for_s: float = 0.0,
    ) -> Sequence[Job]:
        """Up to ``limit`` jobs whose ``step`` is due and unclaimed, taken turn about between tenants.

        A claim lasts until the job is saved, released, or the lease expires; an expired one counts as a failed try.
        ``services.usecases.claim_step`` claims with admission in mind.

        Args:
            room_of: How many jobs of a tenant may be claimed; None sets no bound. Asked once for each tenant in turn.
            due_for_s: Only what has been due for so long: what others should have served by now.
        """
        ...

    def release(self, job_id: str, *, delay_s: float) -> None:
        """End a claim after a failed try: count the try and make the step due again in ``delay_s``.

        No error, and no effect, when there is no claim (any more).
        """
        ...

    def overdue(self, now: datetime, *, limit: int) -> Sequence[Job]:
        """Jobs whose engine attempt has outlived its deadline."""
        ...

    def finished_before(self, moment: datetime, *, limit: int) -> Sequence[Job]:
        """Final jobs that ended before ``moment``, oldest first; none where the store lets rows expire by itself."""
        ...

    def count_open(self, tenant_id: str, *, at_most: int) -> int:
        """Number of the tenant's jobs in no final state; counting stops at ``at_most``."""
        ...

    def count_waiting(self, step: JobStep, *, at_most: int) -> int:
        """Number of jobs at ``step``, claimed or not, of all tenants; counting stops somewhere beyond ``at_most``."""
        ...

    def outstanding(self, *, tenant_id: str | None = None, lane: Lane | None = None) -> int:
        """Number of jobs that engines hold (step ``run``), of one tenant or of all, in one lane or in all."""
        ...

    def outstanding_by_tenant(self, *, lane: Lane | None = None) -> Mapping[str, int]:
        """``outstanding`` of each tenant that has any."""
        ...
