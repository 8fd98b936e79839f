"""End what outlives its deadline."""

from __future__ import annotations

from collections.abc import Sequence

from services.domain.engine import Failure
from services.domain.job import Job, JobStep
from services.domain.outcome import fail_or_retry
from services.ports.clock import Clock
from services.ports.jobs import JobStore
from services.ports.objects import ObjectStore
from services.settings import Settings
from services.usecases.revise import revise
from services.usecases.stop_attempt import stop_attempt


def reap_jobs(
    *, jobs: JobStore, objects: ObjectStore, clock: Clock, settings: Settings, limit: int = 100
) -> Sequence[Job]:
    """The jobs whose attempt was given up: waiting for the next attempt, or failed ``attempt_timed_out``.

    Steps other than ``run`` need no reaper: their claims are leases, and an expired one is served again, counted.
    """
    reaped = []
    for overdue in jobs.overdue(clock.now(), limit=limit):
        stop_attempt(overdue, overdue.attempt, objects=objects)

        def give_up(job: Job, attempt: int = overdue.attempt) -> Job | None:
            now = clock.now()
            if job.step is not JobStep.RUN or job.attempt != attempt:
                return None
            if job.deadline_at is None or job.deadline_at >= now:
                return None
            failure = Failure(
                code="attempt_timed_out",
                detail=f"Attempt {attempt} gave no answer within {settings.attempt_timeout_s:g} s.",
                retryable=True,
            )
            return fail_or_retry(job, failure, now=now, max_attempts=settings.max_attempts)

        reaped.append(revise(overdue.id, give_up, get=jobs.get, save=jobs.save))
    return reaped
