"""Accept a preview of a wig."""

from __future__ import annotations

from dataclasses import replace

from services.domain.engine import EngineKind
from services.domain.job import Job
from services.domain.preview import WigPreviewRequest
from services.domain.product import ProductKind
from services.usecases.accept_job import HeldClaim, JobOrder, accept_job
from services.usecases.check_preview import check_wig_preview
from services.usecases.check_wearing import check_wearing
from services.usecases.choose_model import HEADS
from services.usecases.sources import Sources


def submit_wig_preview(request: WigPreviewRequest, order: JobOrder, *, sources: Sources) -> Job:
    """The job, stored durably and queued; see ``accept_job``.

    Raises:
        SpokesmodelError: What ``check_wig_submission`` says.
    """
    checked, claims = check_wig_submission(request, tenant_id=order.tenant_id, sources=sources)
    return accept_job(
        EngineKind.WIG_PREVIEW,
        checked,
        order,
        claims=claims,
        sources=sources,
        is_labelled=request.disclosure.visible_label,
    )


def check_wig_submission(
    request: WigPreviewRequest, *, tenant_id: str, sources: Sources
) -> tuple[WigPreviewRequest, tuple[HeldClaim | None, ...]]:
    """The request with the consents under which it was checked, and by what rights faces are shown; nothing is stored.

    Raises:
        InvalidRequest, ContentRejected: What ``check_wig_preview`` says of the form and ``check_wearing`` of
            what it names.
        Forbidden: ``consent_required``, ``consent_revoked``, ``consent_expired``.
    """
    check_wig_preview(request, sources.settings)
    model, wig, held = check_wearing(
        request.model,
        request.wig,
        request.background,
        kind=ProductKind.WIG,
        poses=HEADS,
        seed=request.seed,
        tenant_id=tenant_id,
        sources=sources,
    )
    return replace(request, model=model, wig=wig), held
