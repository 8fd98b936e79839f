"""Read a tenant's job, now or once it is final."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from services.domain.errors import NotFound
from services.domain.job import Job
from services.ports.clock import Clock
from services.ports.jobs import JobStore

_FIRST_PAUSE_S: Final = 0.02
_LONGEST_PAUSE_S: Final = 0.5


def get_job(job_id: str, *, tenant_id: str, jobs: JobStore) -> Job:
    """The job, if it is the tenant's.

    Raises:
        NotFound: ``job_not_found``, for another tenant's too.
    """
    job = jobs.get(job_id)
    if job.tenant_id != tenant_id:
        raise NotFound(f"There is no job {job_id}.", code="job_not_found")
    return job


def wait_for_job(job_id: str, *, tenant_id: str, wait_s: float, jobs: JobStore, clock: Clock) -> Job:
    """The job as soon as it is final, or as it is after ``wait_s``.

    Raises:
        NotFound: ``job_not_found``.
    """
    give_up_at = clock.now() + timedelta(seconds=wait_s)
    pause_s = _FIRST_PAUSE_S
    while True:
        job = get_job(job_id, tenant_id=tenant_id, jobs=jobs)
        left_s = (give_up_at - clock.now()).total_seconds()
        if job.state.is_final or left_s <= 0:
            return job
        clock.sleep(min(pause_s, left_s))
        pause_s = min(pause_s * 1.5, _LONGEST_PAUSE_S)
