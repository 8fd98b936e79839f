"""Work on pictures."""

from __future__ import annotations

from typing import Annotated, Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body

from lambdas import runtime
from lambdas.api.job_answers import JOB_OUTCOMES, answer_with_job
from lambdas.api.request_parts import IdempotencyKey, Prefer
from lambdas.api.resolver import new_router
from lambdas.api.schemas.images import ImageBody
from lambdas.api.scopes import needs
from services.domain.job import Job
from services.domain.scope import Scope
from services.usecases.accept_job import JobOrder
from services.usecases.submit_image import submit_image

router: Final = new_router()


@router.post(
    "/v1/images",
    summary="Work on a picture",
    description="One or several tools, in the order asked for: another background, light that fits it, a retouched "
    "portrait, more pixels, the person or product alone, crops as shops need them. With `Prefer: wait=N` the answer is "
    "200 with the result when it is there within N seconds, else 202.",
    operation_id="createImage",
    openapi_extensions=needs(Scope.CREATE),
    tags=["images"],
    responses=JOB_OUTCOMES,
)
def create_image(
    body: Annotated[ImageBody, Body()], idempotency_key: IdempotencyKey = None, prefer: Prefer = None
) -> Response[str]:
    def submit(order: JobOrder) -> Job:
        return submit_image(body.to_domain(), order, sources=runtime.services())

    return answer_with_job(router, body, submit, idempotency_key=idempotency_key, prefer=prefer)
