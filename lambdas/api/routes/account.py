"""The caller's account and what it used."""

from __future__ import annotations

from typing import Annotated, Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query
from pydantic import AwareDatetime

from lambdas import runtime
from lambdas.api.answers import acting_key, caller, json_answer, outcomes
from lambdas.api.resolver import new_router
from lambdas.api.schemas.account import AccountBody, UsageBody
from lambdas.api.scopes import needs
from services.domain.scope import Scope
from services.usecases.get_usage import get_usage

router: Final = new_router()


@router.get(
    "/v1/account",
    summary="Read the account",
    description="The tenant that the key belongs to, with the secret that signs its callbacks.",
    operation_id="getAccount",
    openapi_extensions=needs(Scope.READ),
    tags=["account"],
    responses=outcomes({200: ("The account.", AccountBody)}),
)
def read_account() -> Response[str]:
    tenant, key = caller(router), acting_key(router)
    return json_answer(
        AccountBody(
            id=tenant.id,
            name=tenant.name,
            key_id=key.id,
            scopes=[scope.value for scope in sorted(key.scopes)],
            webhook_secret=tenant.webhook_secret if Scope.MANAGE in key.scopes else None,
        )
    )


@router.get(
    "/v1/usage",
    summary="Read usage",
    description="Totals of succeeded jobs by kind; without bounds, of the last 30 days.",
    operation_id="getUsage",
    openapi_extensions=needs(Scope.READ),
    tags=["account"],
    responses=outcomes({200: ("The totals.", UsageBody)}, (400,)),
)
def read_usage(
    since: Annotated[AwareDatetime | None, Query(description="RFC 3339; included.")] = None,
    until: Annotated[AwareDatetime | None, Query(description="RFC 3339; not included.")] = None,
) -> Response[str]:
    services = runtime.services()
    summary = get_usage(caller(router).id, since=since, until=until, usage=services.usage, clock=services.clock)
    return json_answer(UsageBody.of(summary))
