"""End a job before its result."""

from __future__ import annotations

from services.domain.errors import Conflict
from services.domain.job import Job, JobState, JobStep
from services.domain.outcome import finish
from services.ports.clock import Clock
from services.ports.jobs import JobStore
from services.ports.objects import ObjectStore
from services.usecases.get_job import get_job
from services.usecases.revise import revise
from services.usecases.stop_attempt import stop_attempt


def cancel_job(job_id: str, *, tenant_id: str, jobs: JobStore, objects: ObjectStore, clock: Clock) -> Job:
    """The job, canceled at once, whether an engine runs it or not.

    The client need not wait for the engine: it is told to stop and does so within a second, and whatever it still
    answers is ignored, so a canceled job has no result and costs nothing. The stop mark is written before the row:
    should this process die between the two, the engine answers "canceled" and completion ends the job.
    Canceling a canceled job changes nothing.

    Raises:
        NotFound: ``job_not_found``.
        Conflict: ``job_is_final``, when it succeeded or failed.
    """
    job = get_job(job_id, tenant_id=tenant_id, jobs=jobs)

    def cancel(job: Job) -> Job | None:
        if job.state is JobState.CANCELED:
            return None
        if job.state.is_final:
            raise Conflict(f"Job {job.id} has {job.state} already.", code="job_is_final")
        if job.step is JobStep.RUN:
            stop_attempt(job, job.attempt, objects=objects)
        return finish(job, JobState.CANCELED, now=clock.now())

    return revise(job.id, cancel, get=jobs.get, save=jobs.save)
