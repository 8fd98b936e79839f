"""Accept work on a picture."""

from __future__ import annotations

from dataclasses import replace

from services.domain.engine import EngineKind
from services.domain.image_steps import BackgroundStep, ImageRequest
from services.domain.job import Job
from services.usecases.accept_job import HeldClaim, JobOrder, accept_job, checked_claim, consent_of
from services.usecases.check_background import check_background_upload
from services.usecases.check_model import claim_on_model
from services.usecases.check_preview import check_image
from services.usecases.choose_model import HEADS
from services.usecases.sources import Sources


def submit_image(request: ImageRequest, order: JobOrder, *, sources: Sources) -> Job:
    """The job, stored durably and queued; see ``accept_job``.

    Raises:
        SpokesmodelError: What ``check_image_submission`` says.
    """
    checked, claims = check_image_submission(request, tenant_id=order.tenant_id, sources=sources)
    return accept_job(
        EngineKind.IMAGE, checked, order, claims=claims, sources=sources, is_labelled=request.disclosure.visible_label
    )


def check_image_submission(
    request: ImageRequest, *, tenant_id: str, sources: Sources
) -> tuple[ImageRequest, tuple[HeldClaim | None, ...]]:
    """The request with the consent under which it was checked, and by what right a face is shown; nothing is stored.

    Raises:
        InvalidRequest, ContentRejected: What ``check_image`` says of the form, ``claim_on_model`` of what it names,
            ``check_upload`` of backgrounds.
        Forbidden: ``consent_required``, ``consent_revoked``, ``consent_expired``.
    """
    check_image(request, sources.settings)
    image = request.image
    claim = claim_on_model(image, tenant_id=tenant_id, sources=sources, poses=HEADS, seed=request.seed, param="image")
    for number, step in enumerate(request.steps):
        if isinstance(step, BackgroundStep):
            check_background_upload(step.background, tenant_id=tenant_id, sources=sources, param=f"steps.{number}")
    held = checked_claim(claim, image.upload_id, tenant_id=tenant_id, sources=sources)
    return replace(request, image=replace(image, consent_id=consent_of(held))), (held,)
