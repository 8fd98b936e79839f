"""Accept a video: check it, note by what right the presenter is shown, then store the job."""

from __future__ import annotations

from dataclasses import replace

from services.domain import wire
from services.domain.allowance import Allowance
from services.domain.consent import Likeness
from services.domain.engine import EngineKind
from services.domain.errors import Conflict, SpokesmodelError
from services.domain.job import Job
from services.domain.video import VideoRequest
from services.ports.audit import AuditLog
from services.ports.catalogue import AvatarCatalogue, VoiceCatalogue
from services.ports.clock import Clock
from services.ports.consents import ConsentStore
from services.ports.jobs import JobStore
from services.ports.objects import ObjectStore
from services.ports.uploads import UploadStore
from services.settings import Settings
from services.usecases.check_consent import note_claim
from services.usecases.check_submission import check_submission
from services.usecases.hold_output import held_seconds
from services.usecases.record_act import record_act


def submit_video(
    request: VideoRequest,
    *,
    job_id: str,
    tenant_id: str,
    jobs: JobStore,
    uploads: UploadStore,
    avatars: AvatarCatalogue,
    voices: VoiceCatalogue,
    objects: ObjectStore,
    consents: ConsentStore,
    audit: AuditLog,
    clock: Clock,
    settings: Settings,
    actor: str,
    callback_url: str | None = None,
    callback_id: str | None = None,
    has_language_model: bool = False,
    batch_id: str | None = None,
    traceparent: str | None = None,
    allowance: Allowance | None = None,
) -> Job:
    """The job, stored durably and queued. Asked again with the same ``job_id``, the answer is the job there is.

    Args:
        actor: Whose act it is, for the audit log: an API key's id, a batch's.
        allowance: The tenant's month, of which the job holds what it is expected to make (``held_seconds``).

    Raises:
        InvalidRequest, ContentRejected, Forbidden: What ``check_submission`` says.
        QuotaExceeded, ContentRejected: What ``Allowance.check`` says.
    """
    claim = check_submission(
        request,
        tenant_id=tenant_id,
        uploads=uploads,
        avatars=avatars,
        voices=voices,
        objects=objects,
        consents=consents,
        clock=clock,
        settings=settings,
        callback_url=callback_url,
        callback_id=callback_id,
        has_language_model=has_language_model,
    )
    held_s = None
    if allowance is not None:
        held_s = held_seconds(
            request,
            tenant_id=tenant_id,
            voices=voices,
            uploads=uploads,
            objects=objects,
            settings=settings,
            most_s=allowance.output_s,
            has_language_model=has_language_model,
        )
        _check_room(job_id, held_s, tenant_id=tenant_id, allowance=allowance, jobs=jobs)
    if claim is not None:
        request = replace(request, presenter=replace(request.presenter, consent_id=claim.consent_id))
        used_by = [one for one in (job_id, request.presenter.upload_id) if one is not None]
        note_claim(
            claim,
            Likeness.FACE,
            *used_by,
            tenant_id=tenant_id,
            actor=actor,
            consents=consents,
            audit=audit,
            clock=clock,
        )
    if not request.disclosure.visible_label:
        record_act("label.turned_off", job_id, tenant_id=tenant_id, actor=actor, audit=audit, clock=clock)
    now = clock.now()
    job = Job(
        id=job_id,
        tenant_id=tenant_id,
        kind=EngineKind.VIDEO,
        request=wire.to_values(request),
        created_at=now,
        updated_at=now,
        available_at=now,
        callback_url=callback_url,
        callback_id=callback_id,
        batch_id=batch_id,
        traceparent=traceparent,
        held_s=held_s,
    )
    return add_job(job, jobs=jobs, allowance=allowance)


def _check_room(job_id: str, held_s: float, *, tenant_id: str, allowance: Allowance, jobs: JobStore) -> None:
    """Refuse before anything is noted; adding the job decides. A job that is there already has its room."""
    try:
        allowance.check(jobs.holdings(tenant_id), held_s)
    except SpokesmodelError:
        if not jobs.get_many([job_id]):
            raise


def add_job(job: Job, *, jobs: JobStore, allowance: Allowance | None = None) -> Job:
    """Store a new job; when its id is there already and the tenant's, that one."""
    try:
        jobs.add(job, allowance=allowance)
    except Conflict:
        present = jobs.get(job.id)
        if present.tenant_id != job.tenant_id:
            raise
        return present
    return job
