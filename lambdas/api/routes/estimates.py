"""Estimates: what a creation will be and cost, before it runs."""

from __future__ import annotations

from typing import Annotated, Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body

from lambdas import runtime
from lambdas.api.answers import caller, json_answer, outcomes
from lambdas.api.resolver import new_router
from lambdas.api.schemas.estimates import EstimateBody, EstimateRequestBody
from lambdas.api.scopes import needs
from services.domain.errors import SpokesmodelError
from services.domain.scope import Scope
from services.usecases.check_submission import check_submission
from services.usecases.estimate_request import estimate_request

router: Final = new_router()


@router.post(
    "/v1/estimates",
    summary="Estimate a creation",
    description="How long it will be, what it uses and costs by the operator's prices, and how sure that is. The same "
    "rules refuse it as would refuse the creation; nothing is made, stored or charged.",
    operation_id="createEstimate",
    openapi_extensions=needs(Scope.CREATE),
    tags=["account"],
    responses=outcomes({200: ("The estimate.", EstimateBody)}, (400, 403, 413, 415, 422)),
)
def create_estimate(body: Annotated[EstimateRequestBody, Body()]) -> Response[str]:
    services, tenant, request = runtime.services(), caller(router), body.body.to_domain()
    has_language_model = services.language_model is not None
    try:
        check_submission(
            request,
            tenant_id=tenant.id,
            uploads=services.uploads,
            avatars=services.avatars,
            voices=services.voices,
            objects=services.objects,
            consents=services.consents,
            clock=services.clock,
            settings=services.settings,
            callback_url=body.body.callback_url,
            callback_id=body.body.callback_id,
            has_language_model=has_language_model,
        )
        estimate = estimate_request(
            request,
            tenant_id=tenant.id,
            voices=services.voices,
            uploads=services.uploads,
            prices=services.prices,
            settings=services.settings,
            has_language_model=has_language_model,
        )
    except SpokesmodelError as error:
        error.param = f"body.{error.param}" if error.param else "body"  # as the client named it
        raise
    return json_answer(EstimateBody.of(estimate))
