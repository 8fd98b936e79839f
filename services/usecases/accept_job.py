"""Store a job whose request has been checked: its claims are noted first, so that nothing exists unnoticed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from services.domain import wire
from services.domain.consent import Likeness
from services.domain.engine import EngineKind
from services.domain.job import Job
from services.usecases.check_consent import LikenessClaim, check_claim, claim_on_upload, note_claim
from services.usecases.check_video import check_callback
from services.usecases.record_act import record_act
from services.usecases.sources import Sources
from services.usecases.submit_video import add_job


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOrder:
    """Beside what is to be made: for whom, and who is told.

    Attributes:
        actor: Whose act it is, for the audit log: an API key's id, a batch's.
    """

    job_id: str
    tenant_id: str
    actor: str
    callback_url: str | None = None
    callback_id: str | None = None
    batch_id: str | None = None
    traceparent: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldClaim:
    """A right that was checked, and what else is used under it: uploads, a product."""

    claim: LikenessClaim
    used_by: tuple[str, ...] = ()


def checked_claim(
    claim: LikenessClaim | None, *used_by: str | None, tenant_id: str, sources: Sources
) -> HeldClaim | None:
    """The right by which a face is used, once it holds; None where none is needed.

    Args:
        used_by: Uploads that show it, None among them left out.

    Raises:
        InvalidRequest, Forbidden, ContentRejected: What ``check_claim`` says.
    """
    if claim is None:
        return None
    uploads = tuple(one for one in used_by if one is not None)
    for upload_id in uploads:
        claim = claim_on_upload(claim, upload_id, tenant_id=tenant_id, consents=sources.consents, clock=sources.clock)
    check_claim(
        claim,
        Likeness.FACE,
        tenant_id=tenant_id,
        consents=sources.consents,
        clock=sources.clock,
        settings=sources.settings,
    )
    return HeldClaim(claim=claim, used_by=uploads)


def consent_of(held: HeldClaim | None) -> str | None:
    """The consent that a job keeps in its request, so that its end is noticed later."""
    return None if held is None else held.claim.consent_id


def accept_job(
    kind: EngineKind,
    request: object,
    order: JobOrder,
    *,
    claims: Sequence[HeldClaim | None],
    sources: Sources,
    is_labelled: bool = True,
) -> Job:
    """The job, stored durably and queued. Asked again with the same ``job_id``, the answer is the job there is.

    Pictures take nothing of a tenant's month of video.

    Args:
        request: The domain's request, the consents of ``claims`` in it.
        is_labelled: Whether its results carry the visible label; that they do not is recorded.

    Raises:
        ContentRejected: ``callback_url_refused``.
        InvalidRequest: ``out_of_range``.
    """
    check_callback(order.callback_url, order.callback_id, sources.settings)
    clock, audit = sources.clock, sources.audit
    for held in claims:
        if held is not None:
            note_claim(
                held.claim,
                Likeness.FACE,
                order.job_id,
                *held.used_by,
                tenant_id=order.tenant_id,
                actor=order.actor,
                consents=sources.consents,
                audit=audit,
                clock=clock,
            )
    if not is_labelled:
        record_act(
            "label.turned_off", order.job_id, tenant_id=order.tenant_id, actor=order.actor, audit=audit, clock=clock
        )
    now = clock.now()
    job = Job(
        id=order.job_id,
        tenant_id=order.tenant_id,
        kind=kind,
        request=wire.to_values(request),
        created_at=now,
        updated_at=now,
        available_at=now,
        callback_url=order.callback_url,
        callback_id=order.callback_id,
        batch_id=order.batch_id,
        traceparent=order.traceparent,
    )
    return add_job(job, jobs=sources.jobs)
