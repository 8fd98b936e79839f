"""How a job ends, or goes back to wait for another attempt."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from services.domain.engine import Failure
from services.domain.errors import Conflict
from services.domain.job import Job, JobState, JobStep, Progress
from services.domain.retry import backoff_s


def finish(job: Job, state: JobState, *, now: datetime, **changes: Any) -> Job:
    """``job`` in the final ``state``; its client is called back when it asked for that.

    Raises:
        Conflict: ``illegal_transition``.
    """
    step = JobStep.NONE if job.callback_url is None else JobStep.NOTIFY
    if state is JobState.SUCCEEDED:
        changes = {"progress": replace(job.progress, stage="done", fraction=1.0), **changes}
    return job.move(state, step=step, now=now, deadline_at=None, **changes)


def fail_or_retry(job: Job, failure: Failure, *, now: datetime, max_attempts: int) -> Job:
    """``job`` after its running attempt failed: waiting for the next one while there is one, else failed."""
    if not failure.retryable or job.attempt >= max_attempts:
        return finish(job, JobState.FAILED, now=now, failure=failure)
    return job.move(
        JobState.QUEUED,
        step=job.dispatch_step,
        now=now,
        available_at=now + timedelta(seconds=backoff_s(job.attempt)),
        deadline_at=None,
        progress=Progress(),
    )


def reopen(job: Job, *, step: JobStep, now: datetime) -> Job:
    """A failed ``job`` waiting again, by an operator's act: the one way out of a final state.

    Raises:
        Conflict: ``illegal_transition``.
    """
    if job.state is not JobState.FAILED:
        raise Conflict(f"Job {job.id} is {job.state} and cannot be reopened.", code="illegal_transition")
    return replace(
        job,
        state=JobState.QUEUED,
        step=step,
        step_tries=0,
        updated_at=now,
        available_at=now,
        finished_at=None,
        failure=None,
        deadline_at=None,
        progress=Progress(),
    )
