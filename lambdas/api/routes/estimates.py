"""Estimates: what a creation will be and cost, before it runs."""

from __future__ import annotations

from typing import Annotated, Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body

from lambdas import runtime
from lambdas.api.answers import caller, json_answer, outcomes
from lambdas.api.resolver import new_router
from lambdas.api.schemas.estimates import EstimateBody, EstimateRequestBody
from lambdas.api.schemas.previews import GarmentPreviewBody, WigPreviewBody
from lambdas.api.schemas.videos import VideoBody
from lambdas.api.scopes import needs
from services.bootstrap import Services
from services.domain.errors import SpokesmodelError
from services.domain.scope import Scope
from services.usecases.check_submission import check_submission
from services.usecases.check_video import check_callback
from services.usecases.estimate_pictures import estimate_garment, estimate_image, estimate_wig
from services.usecases.estimate_request import Estimate, estimate_request
from services.usecases.submit_garment_preview import check_garment_submission
from services.usecases.submit_image import check_image_submission
from services.usecases.submit_wig_preview import check_wig_submission

router: Final = new_router()


@router.post(
    "/v1/estimates",
    summary="Estimate a creation",
    description="What it uses and costs by the operator's prices, of a video how long it is, and how sure that is. "
    "The same rules refuse it as would refuse the creation; nothing is made, stored or charged.",
    operation_id="createEstimate",
    openapi_extensions=needs(Scope.CREATE),
    tags=["account"],
    responses=outcomes({200: ("The estimate.", EstimateBody)}, (400, 403, 413, 415, 422)),
)
def create_estimate(body: Annotated[EstimateRequestBody, Body()]) -> Response[str]:
    services, tenant_id, asked = runtime.services(), caller(router).id, body.body
    try:
        check_callback(asked.callback_url, asked.callback_id, services.settings)
        if isinstance(asked, VideoBody):
            estimate = _of_video(asked, tenant_id, services)
        elif isinstance(asked, WigPreviewBody):
            check_wig_submission(asked.to_domain(), tenant_id=tenant_id, sources=services)
            estimate = estimate_wig(asked.to_domain(), services.prices)
        elif isinstance(asked, GarmentPreviewBody):
            check_garment_submission(asked.to_domain(), tenant_id=tenant_id, sources=services)
            estimate = estimate_garment(asked.to_domain(), services.prices)
        else:
            check_image_submission(asked.to_domain(), tenant_id=tenant_id, sources=services)
            estimate = estimate_image(asked.to_domain(), services.prices)
    except SpokesmodelError as error:
        error.param = f"body.{error.param}" if error.param else "body"  # as the client named it
        raise
    return json_answer(EstimateBody.of(estimate, body.kind))


def _of_video(body: VideoBody, tenant_id: str, services: Services) -> Estimate:
    request, has_language_model = body.to_domain(), services.language_model is not None
    check_submission(
        request,
        tenant_id=tenant_id,
        uploads=services.uploads,
        avatars=services.avatars,
        voices=services.voices,
        objects=services.objects,
        consents=services.consents,
        clock=services.clock,
        settings=services.settings,
        has_language_model=has_language_model,
    )
    return estimate_request(
        request,
        tenant_id=tenant_id,
        voices=services.voices,
        uploads=services.uploads,
        prices=services.prices,
        settings=services.settings,
        has_language_model=has_language_model,
    )
