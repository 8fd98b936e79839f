"""Accept a preview of a garment."""

from __future__ import annotations

from dataclasses import replace

from services.domain.engine import EngineKind
from services.domain.job import Job
from services.domain.preview import GarmentPreviewRequest
from services.domain.product import ProductKind
from services.usecases.accept_job import HeldClaim, JobOrder, accept_job, checked_claim, consent_of
from services.usecases.check_background import check_background_upload
from services.usecases.check_model import claim_on_model
from services.usecases.check_preview import check_garment_preview
from services.usecases.check_product import claim_on_product
from services.usecases.choose_model import FIGURES
from services.usecases.sources import Sources


def submit_garment_preview(request: GarmentPreviewRequest, order: JobOrder, *, sources: Sources) -> Job:
    """The job, stored durably and queued; see ``accept_job``.

    Raises:
        SpokesmodelError: What ``check_garment_submission`` says.
    """
    checked, claims = check_garment_submission(request, tenant_id=order.tenant_id, sources=sources)
    return accept_job(
        EngineKind.GARMENT_PREVIEW,
        checked,
        order,
        claims=claims,
        sources=sources,
        is_labelled=request.disclosure.visible_label,
    )


def check_garment_submission(
    request: GarmentPreviewRequest, *, tenant_id: str, sources: Sources
) -> tuple[GarmentPreviewRequest, tuple[HeldClaim | None, ...]]:
    """The request with the consents under which it was checked, and by what rights faces are shown; nothing is stored.

    Raises:
        InvalidRequest, ContentRejected: What ``check_garment_preview`` says of the form, ``claim_on_model`` and
            ``claim_on_product`` of what it names, ``check_upload`` of the background.
        Forbidden: ``consent_required``, ``consent_revoked``, ``consent_expired``.
    """
    check_garment_preview(request, sources.settings)
    model, photo = request.model, request.garment.photo
    of_model = claim_on_model(
        model, tenant_id=tenant_id, sources=sources, poses=FIGURES, seed=request.seed, param="model"
    )
    of_garment = claim_on_product(request.garment, kind=ProductKind.GARMENT, tenant_id=tenant_id, sources=sources)
    check_background_upload(request.background, tenant_id=tenant_id, sources=sources)
    held = (
        checked_claim(of_model, model.upload_id, tenant_id=tenant_id, sources=sources),
        checked_claim(of_garment, photo.upload_id if photo else None, tenant_id=tenant_id, sources=sources),
    )
    checked = replace(
        request,
        model=replace(model, consent_id=consent_of(held[0])),
        garment=replace(request.garment, consent_id=consent_of(held[1])),
    )
    return checked, held
