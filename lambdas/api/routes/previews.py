"""Previews of wigs and garments."""

from __future__ import annotations

from typing import Annotated, Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body

from lambdas import runtime
from lambdas.api.job_answers import JOB_OUTCOMES, answer_with_job
from lambdas.api.request_parts import IdempotencyKey, Prefer
from lambdas.api.resolver import new_router
from lambdas.api.schemas.previews import GarmentPreviewBody, WigPreviewBody
from lambdas.api.scopes import needs
from services.domain.job import Job
from services.domain.scope import Scope
from services.usecases.accept_job import JobOrder
from services.usecases.submit_garment_preview import submit_garment_preview
from services.usecases.submit_wig_preview import submit_wig_preview

router: Final = new_router()


@router.post(
    "/v1/wig-previews",
    summary="Put a wig on a head",
    description="Pictures of the model with the very wig of the photo, its mask, a before/after sheet; from several "
    "angles, in other colours and as a turntable on request. Takes seconds: with `Prefer: wait=N` the answer is 200 "
    "with the result when it is there within N seconds, else 202.",
    operation_id="createWigPreview",
    openapi_extensions=needs(Scope.CREATE),
    tags=["previews"],
    responses=JOB_OUTCOMES,
)
def create_wig_preview(
    body: Annotated[WigPreviewBody, Body()], idempotency_key: IdempotencyKey = None, prefer: Prefer = None
) -> Response[str]:
    def submit(order: JobOrder) -> Job:
        return submit_wig_preview(body.to_domain(), order, sources=runtime.services())

    return answer_with_job(router, body, submit, idempotency_key=idempotency_key, prefer=prefer)


@router.post(
    "/v1/garment-previews",
    summary="Put a garment on a body",
    description="A picture of the model in the very garment of the photo, its mask, a before/after sheet. Takes "
    "seconds: with `Prefer: wait=N` the answer is 200 with the result when it is there within N seconds, else 202.",
    operation_id="createGarmentPreview",
    openapi_extensions=needs(Scope.CREATE),
    tags=["previews"],
    responses=JOB_OUTCOMES,
)
def create_garment_preview(
    body: Annotated[GarmentPreviewBody, Body()], idempotency_key: IdempotencyKey = None, prefer: Prefer = None
) -> Response[str]:
    def submit(order: JobOrder) -> Job:
        return submit_garment_preview(body.to_domain(), order, sources=runtime.services())

    return answer_with_job(router, body, submit, idempotency_key=idempotency_key, prefer=prefer)
