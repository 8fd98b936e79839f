"""Jobs that wait for an operator: given up by their step, or tried again and again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Final

from services.domain.job import DISPATCHED, Job, JobState, JobStep
from services.ports.clock import Clock
from services.ports.jobs import JobStore
from services.ports.tenants import TenantStore
from services.usecases.replay_job import GIVEN_UP
from services.usecases.revise import revise

MANY_TRIES: Final = 3
_SERVED: Final = (JobStep.PREPARE, *DISPATCHED)
_PAGE: Final = 200


def find_stuck_jobs(*, jobs: JobStore, tenants: TenantStore, limit: int = 100) -> tuple[Job, ...]:
    """Failed jobs that a step gave up, and queued ones whose step failed ``MANY_TRIES`` times or more."""
    return tuple(islice(_stuck(jobs, tenants), limit))


def serve_now(job_id: str, *, jobs: JobStore, clock: Clock) -> Job:
    """The queued job, its step due at once with all its tries before it; any other job as it is.

    Raises:
        NotFound: ``job_not_found``.
    """

    def due(job: Job) -> Job | None:
        if job.state is not JobState.QUEUED or job.step not in _SERVED:
            return None
        return replace(job, step_tries=0, available_at=clock.now(), updated_at=clock.now())

    return revise(job_id, due, get=jobs.get, save=jobs.save)


def _stuck(jobs: JobStore, tenants: TenantStore) -> Iterator[Job]:
    for tenant_id in _tenant_ids(tenants):
        for job in _jobs(jobs, tenant_id, JobState.FAILED):
            if job.failure is not None and job.failure.code in GIVEN_UP:
                yield job
        for job in _jobs(jobs, tenant_id, JobState.QUEUED):
            if job.step in _SERVED and job.step_tries >= MANY_TRIES:
                yield job


def _tenant_ids(tenants: TenantStore) -> Iterator[str]:
    cursor = None
    while True:
        page = tenants.list(cursor=cursor, limit=_PAGE)
        yield from (tenant.id for tenant in page.items)
        cursor = page.cursor
        if cursor is None:
            return


def _jobs(jobs: JobStore, tenant_id: str, state: JobState) -> Iterator[Job]:
    cursor = None
    while True:
        page = jobs.list(tenant_id, state=state, cursor=cursor, limit=_PAGE)
        yield from page.items
        cursor = page.cursor
        if cursor is None:
            return
