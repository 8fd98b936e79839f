"""Run a failed job once more, by the operator's will."""

from __future__ import annotations

from typing import Final

from services.domain.errors import Conflict
from services.domain.job import Job, JobState, JobStep
from services.domain.object_key import ObjectKey
from services.domain.outcome import reopen
from services.ports.audit import AuditLog
from services.ports.clock import Clock
from services.ports.jobs import JobStore
from services.ports.objects import ObjectStore
from services.usecases.record_act import OPERATOR, record_act
from services.usecases.revise import revise

# Given up by us, whatever the content: what prepares or dispatches was broken for as long as it was tried.
GIVEN_UP: Final = ("prepare_failed", "dispatch_failed")


def replay_job(
    job_id: str, *, force: bool = False, jobs: JobStore, objects: ObjectStore, audit: AuditLog, clock: Clock
) -> Job:
    """The failed job, queued again under its own id for one more attempt; its client sees it leave ``failed``.

    A success is charged once, as ever, and told as an event of its own (``job.succeeded`` after ``job.failed``, another
    event id). Prepared work is dispatched again while its storyboard is kept, else prepared anew.

    Args:
        force: Also when the failure was the content's: after a release that takes what was refused before.

    Raises:
        NotFound: ``job_not_found``.
        Conflict: ``job_not_replayable``: it has not failed, it failed for its content, or it is a row of a batch
            (``batch retry`` makes a new job of that row).
    """

    def reopened(job: Job) -> Job:
        _refuse_unless_replayable(job, force=force)
        return reopen(job, step=_step(job, objects), now=clock.now())

    before = jobs.get(job_id)
    after = revise(job_id, reopened, get=jobs.get, save=jobs.save)
    failure = "" if before.failure is None else before.failure.code
    details = {"failure": failure, "attempt": str(before.attempt)}
    record_act(
        "job.replayed", job_id, tenant_id=after.tenant_id, actor=OPERATOR, audit=audit, clock=clock, details=details
    )
    return after


def is_ours(job: Job) -> bool:
    """Whether the job failed by no fault of its content."""
    return job.failure is not None and (job.failure.retryable or job.failure.code in GIVEN_UP)


def _refuse_unless_replayable(job: Job, *, force: bool) -> None:
    if job.state is not JobState.FAILED:
        raise Conflict(f"Job {job.id} is {job.state}; only a failed one can be replayed.", code="job_not_replayable")
    if job.batch_id is not None:
        raise Conflict(
            f"Job {job.id} is a row of {job.batch_id}; retry the batch's failed rows instead.",
            code="job_not_replayable",
        )
    if not force and not is_ours(job):
        reason = job.failure.code if job.failure else "no reason given"
        raise Conflict(
            f"Job {job.id} failed for its content ({reason}) and would fail again; --force runs it all the same.",
            code="job_not_replayable",
        )


def _step(job: Job, objects: ObjectStore) -> JobStep:
    if job.storyboard_key is None or not objects.exists(ObjectKey.parse(job.storyboard_key)):
        return JobStep.PREPARE
    return job.dispatch_step
