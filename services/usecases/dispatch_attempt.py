"""Hand a prepared job to the engine as a new attempt, when there is room for it."""

from __future__ import annotations

from datetime import timedelta

from services.domain.engine import EngineRequest, Failure
from services.domain.errors import Forbidden
from services.domain.job import DISPATCHED, Job, JobState, JobStep, Progress
from services.domain.outcome import finish
from services.ports.clock import Clock
from services.ports.consents import ConsentStore
from services.ports.engine import Engine
from services.ports.jobs import JobStore
from services.ports.objects import ObjectStore
from services.ports.tenants import TenantStore
from services.settings import Settings
from services.usecases.check_consent import check_still_allowed
from services.usecases.claim_step import max_outstanding
from services.usecases.revise import revise
from services.usecases.stop_attempt import stop_attempt


def dispatch_attempt(
    job_id: str,
    *,
    jobs: JobStore,
    engine: Engine,
    tenants: TenantStore,
    objects: ObjectStore,
    consents: ConsentStore,
    clock: Clock,
    settings: Settings,
) -> Job:
    """The job, processing as attempt ``n + 1``; or waiting on, while engine or tenant have no room.

    The engine is started before the row says so. After a crash between the two the step is served again and starts
    the same attempt again, which the engine port allows; the other order would leave a job that nothing runs until
    its deadline. An answer that overtakes the row is told to come again (``complete_attempt``). Two dispatchers at
    the same moment may exceed the admission by one each: it bounds a queue, it is no lock. A job whose consent ended
    while it waited fails by that name.

    Raises:
        NotFound: ``job_not_found``.
        Unavailable: ``engine_unavailable``; to be tried again until ``max_step_tries`` are used up.
    """
    job = jobs.get(job_id)
    if job.step not in DISPATCHED or job.storyboard_key is None:
        return job
    now = clock.now()
    if job.available_at > now:
        return job  # a message may come early
    if job.step_tries >= settings.max_step_tries:
        failure = Failure(code="dispatch_failed", detail=f"The engine took no work in {job.step_tries} tries.")
        return _revise(job, finish(job, JobState.FAILED, now=now, failure=failure), jobs)
    outstanding = jobs.outstanding_by_tenant(lane=job.kind.lane)
    has_room = sum(outstanding.values()) < engine.capacity(job.kind).max_outstanding
    if not has_room or outstanding.get(job.tenant_id, 0) >= max_outstanding(job.tenant_id, tenants=tenants):
        return _revise(job, job, jobs)  # ends a claim without counting a try; the job keeps its place
    try:
        check_still_allowed(job, consents=consents, clock=clock)
    except Forbidden as error:
        failure = Failure(code=error.code, detail=error.detail, param=error.param)
        return _revise(job, finish(job, JobState.FAILED, now=now, failure=failure), jobs)
    deadline_at = now + timedelta(seconds=settings.attempt_timeout_s)
    request = EngineRequest(
        kind=job.kind,
        tenant_id=job.tenant_id,
        job_id=job.id,
        attempt=job.attempt + 1,
        storyboard_key=job.storyboard_key,
        deadline_at=deadline_at,
        traceparent=job.traceparent,
    )
    engine.start(request)
    started = job.move(
        JobState.PROCESSING,
        step=JobStep.RUN,
        now=now,
        attempt=request.attempt,
        deadline_at=deadline_at,
        started_at=now,
        progress=Progress(stage="waiting"),
    )
    saved = _revise(job, started, jobs)
    if saved.attempt != request.attempt or saved.state.is_final:
        stop_attempt(job, request.attempt, objects=objects)  # canceled in between: the row never saw this attempt
    return saved


def _revise(job: Job, changed: Job, jobs: JobStore) -> Job:
    """Save ``changed`` unless the row moved on since ``job`` was read."""
    return revise(
        job.id, lambda present: changed if present.version == job.version else None, get=jobs.get, save=jobs.save
    )
