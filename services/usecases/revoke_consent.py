"""Take a person's permission back, and end what is being made under it."""

from __future__ import annotations

from typing import Final

from services.domain.consent import Consent
from services.domain.engine import Failure
from services.domain.errors import NotFound
from services.domain.job import Job, JobState, JobStep
from services.domain.outcome import finish
from services.ports.audit import AuditLog
from services.ports.clock import Clock
from services.ports.consents import ConsentStore
from services.ports.jobs import JobStore
from services.ports.objects import ObjectStore
from services.usecases.check_consent import consents_named
from services.usecases.record_act import record_act
from services.usecases.revise import revise
from services.usecases.stop_attempt import stop_attempt

_AT_ONCE: Final = 100


def revoke_consent(
    consent_id: str,
    *,
    tenant_id: str,
    actor: str,
    consents: ConsentStore,
    jobs: JobStore,
    objects: ObjectStore,
    audit: AuditLog,
    clock: Clock,
) -> Consent:
    """The consent, which from now on permits nothing; every unfinished job that was noted under it has failed.

    Such a job costs nothing: its engine is told to stop, and what it still answers is ignored. The consent is revoked
    first: a job that is dispatched meanwhile either sees that, or finds its row ended and stops its own attempt. A
    call that was interrupted can be made again and ends the rest.

    Raises:
        NotFound: ``consent_not_found``.
    """
    was_revoked = consents.get(tenant_id, consent_id).revoked_at is not None
    consent = consents.revoke(tenant_id, consent_id, clock.now())
    if not was_revoked:
        record_act("consent.revoked", consent_id, tenant_id=tenant_id, actor=actor, audit=audit, clock=clock)
    job_ids = [used_by for used_by in consents.uses(consent_id) if used_by.startswith("job_")]
    for first in range(0, len(job_ids), _AT_ONCE):
        for job in jobs.get_many(job_ids[first : first + _AT_ONCE]).values():
            if not job.state.is_final:
                _end(job.id, consent_id, jobs=jobs, objects=objects, clock=clock)
    return consent


def _end(job_id: str, consent_id: str, *, jobs: JobStore, objects: ObjectStore, clock: Clock) -> None:
    def fail(job: Job) -> Job | None:
        if job.state.is_final:
            return None
        if job.step is JobStep.RUN:
            stop_attempt(job, job.attempt, objects=objects)
        param = next((param for param, one in consents_named(job.request).items() if one == consent_id), None)
        failure = Failure(code="consent_revoked", detail=f"Consent {consent_id} was revoked.", param=param)
        return finish(job, JobState.FAILED, now=clock.now(), failure=failure)

    try:
        revise(job_id, fail, get=jobs.get, save=jobs.save)
    except NotFound as error:  # deleted meanwhile
        if error.code != "job_not_found":
            raise
