"""Leave a step that failed for another time."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Final

from services.domain.job import Job, JobStep
from services.domain.retry import backoff_s
from services.ports.clock import Clock
from services.ports.jobs import JobStore
from services.usecases.revise import revise

_LONGEST_S: Final = 300.0  # so that the tries of a job last through an hour without the service that it needs


def put_back(job_id: str, step: JobStep, *, jobs: JobStore, clock: Clock) -> Job:
    """The job, a try the poorer and due again later; as it is, when it is at another step by now.

    For functions that are called by messages. On one machine the holder of a claim releases it, which does the same.

    Raises:
        NotFound: ``job_not_found``.
    """

    def tried(job: Job) -> Job | None:
        if job.step is not step:
            return None
        delay_s = backoff_s(job.step_tries + 1, longest_s=_LONGEST_S)
        return replace(job, step_tries=job.step_tries + 1, available_at=clock.now() + timedelta(seconds=delay_s))

    return revise(job_id, tried, get=jobs.get, save=jobs.save)
