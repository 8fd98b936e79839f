"""Accept a preview of a wig."""

from __future__ import annotations

from dataclasses import replace

from services.domain.engine import EngineKind
from services.domain.job import Job
from services.domain.preview import WigPreviewRequest
from services.domain.product import ProductKind
from services.usecases.accept_job import HeldClaim, JobOrder, accept_job, checked_claim, consent_of
from services.usecases.check_background import check_background_upload
from services.usecases.check_model import claim_on_model
from services.usecases.check_preview import check_wig_preview
from services.usecases.check_product import claim_on_product
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
        InvalidRequest, ContentRejected: What ``check_wig_preview`` says of the form, ``claim_on_model`` and
            ``claim_on_product`` of what it names, ``check_upload`` of the background.
        Forbidden: ``consent_required``, ``consent_revoked``, ``consent_expired``.
    """
    check_wig_preview(request, sources.settings)
    model, photo = request.model, request.wig.photo
    of_model = claim_on_model(
        model, tenant_id=tenant_id, sources=sources, poses=HEADS, seed=request.seed, param="model"
    )
    of_wig = claim_on_product(request.wig, kind=ProductKind.WIG, tenant_id=tenant_id, sources=sources)
    check_background_upload(request.background, tenant_id=tenant_id, sources=sources)
    held = (
        checked_claim(of_model, model.upload_id, tenant_id=tenant_id, sources=sources),
        checked_claim(of_wig, photo.upload_id if photo else None, tenant_id=tenant_id, sources=sources),
    )
    checked = replace(
        request,
        model=replace(model, consent_id=consent_of(held[0])),
        wig=replace(request.wig, consent_id=consent_of(held[1])),
    )
    return checked, held
