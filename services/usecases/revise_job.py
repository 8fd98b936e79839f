"""Change a job row that others change too."""

from __future__ import annotations

from collections.abc import Callable

from services.domain.errors import Conflict
from services.domain.job import Job
from services.ports.jobs import JobStore


def revise_job(job_id: str, change: Callable[[Job], Job | None], *, jobs: JobStore) -> Job:
    """The job as ``change`` made it of its present state, saved; on a race ``change`` is asked again.

    Args:
        change: Pure; None leaves the job as it is.

    Raises:
        NotFound: ``job_not_found``.
        SpokesmodelError: whatever ``change`` raises.
    """
    while True:
        job = jobs.get(job_id)
        changed = change(job)
        if changed is None:
            return job
        try:
            return jobs.save(changed)
        except Conflict as conflict:
            if conflict.code != "stale_job":
                raise
