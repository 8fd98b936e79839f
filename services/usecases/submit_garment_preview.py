"""Accept a preview of a garment."""

from __future__ import annotations

from dataclasses import replace

from services.domain.engine import EngineKind
from services.domain.job import Job
from services.domain.preview import GarmentPreviewRequest
from services.domain.product import ProductKind
from services.usecases.accept_job import HeldClaim, JobOrder, accept_job
from services.usecases.check_preview import check_garment_preview
from services.usecases.check_wearing import check_wearing
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
        InvalidRequest, ContentRejected: What ``check_garment_preview`` says of the form and ``check_wearing`` of
            what it names.
        Forbidden: ``consent_required``, ``consent_revoked``, ``consent_expired``.
    """
    check_garment_preview(request, sources.settings)
    model, garment, held = check_wearing(
        request.model,
        request.garment,
        request.background,
        kind=ProductKind.GARMENT,
        poses=FIGURES,
        seed=request.seed,
        tenant_id=tenant_id,
        sources=sources,
    )
    return replace(request, model=model, garment=garment), held
