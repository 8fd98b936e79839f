"""The resolver with its routes, the admission of callers, and errors as problems."""

from __future__ import annotations

import traceback
from typing import Any, Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.api_gateway import Route
from aws_lambda_powertools.event_handler.openapi.exceptions import RequestValidationError
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2
from aws_lambda_powertools.utilities.typing import LambdaContext

from lambdas import runtime
from lambdas.api.problems import problem_response, rate_headers
from lambdas.api.request_parts import api_key_of, check_query, field_path, read_json_object
from lambdas.api.resolver import ConcurrentHttpResolver
from lambdas.api.routes import ROUTERS
from lambdas.api.routes.meta import PUBLIC_PATHS
from lambdas.api.scopes import scope_of
from services.adapters import tracing
from services.domain.errors import EngineFailed, InvalidRequest, NotFound, QuotaExceeded, SpokesmodelError
from services.usecases.authenticate import authenticate, check_scope
from services.usecases.check_quota import check_rate, rate_policy

_MAX_FAULTS: Final = 20


def _admit(resolver: ConcurrentHttpResolver, route: Route) -> None:
    if route.path not in PUBLIC_PATHS:
        services = runtime.services()
        caller = authenticate(api_key_of(resolver.current_event), tenants=services.tenants, clock=services.clock)
        resolver.context["caller"] = caller
        runtime.logger.thread_safe_append_keys(tenant_id=caller.tenant.id)
        tracing.note(tenant_id=caller.tenant.id)
        check_rate(caller.tenant, rates=services.rates, settings=services.settings)
        check_scope(caller.key, scope_of(route))
        known = [str(field.alias) for field in route.dependant.query_params]
        check_query(resolver.current_event, known)


def _refuse(event: APIGatewayProxyEventV2, allowed: list[str]) -> Response[str]:
    if event.path == "/" and event.http_method == "GET":
        return Response(status_code=302, body="", headers={"Location": "/docs"})
    if event.path in PUBLIC_PATHS:
        allowed = [*allowed, "HEAD"]
    if allowed:
        error: SpokesmodelError = InvalidRequest(
            f"{event.http_method} is not possible here; {', '.join(allowed)} is.", code="method_not_allowed"
        )
        return problem_response(error, request_id=_request_id(event), headers={"Allow": ", ".join(allowed)})
    error = NotFound("There is nothing at this path; /docs lists what there is.", code="route_not_found")
    return problem_response(error, request_id=_request_id(event))


def _request_id(event: APIGatewayProxyEventV2) -> str:
    return str(event.request_context.request_id)


app: Final = ConcurrentHttpResolver(admit=_admit, read_body=read_json_object, refuse=_refuse)
for _router in ROUTERS:
    app.include_router(_router)


def _on_known_error(error: SpokesmodelError) -> Response[str]:
    headers = {}
    if isinstance(error, QuotaExceeded):
        policy = rate_policy(app.context["caller"].tenant, runtime.services().settings)
        headers = rate_headers(error, policy)
    return problem_response(error, request_id=_request_id(app.current_event), headers=headers)


def _on_validation_error(error: RequestValidationError) -> Response[str]:
    faults = [
        {"param": _param(fault["loc"]), "detail": str(fault["msg"]).removeprefix("Value error, ")}
        for fault in error.errors()[:_MAX_FAULTS]
    ]
    first = faults[0]
    known = InvalidRequest(f"{first['param'] or 'The body'}: {first['detail']}", param=first["param"] or None)
    return problem_response(known, request_id=_request_id(app.current_event), fields=faults)


def _on_unforeseen_error(error: Exception) -> Response[str]:
    request_id = _request_id(app.current_event)
    frames = "".join(traceback.format_tb(error.__traceback__))  # no message: it may hold what a client wrote
    runtime.logger.error("request failed", error=type(error).__name__, frames=frames)
    known = EngineFailed(
        "Something broke on our side; the request id finds it in the logs.", code="internal_error", retryable=True
    )
    return problem_response(known, request_id=request_id)


app.exception_handler(SpokesmodelError)(_on_known_error)
app.exception_handler(RequestValidationError)(_on_validation_error)
app.exception_handler(Exception)(_on_unforeseen_error)


def _param(location: tuple[Any, ...]) -> str:
    """``("body", "frame", "fps")`` as ``frame.fps``, without the names that pydantic gives to members of a union."""
    place, *parts = location
    if place == "header":
        return "-".join(word.capitalize() for word in str(parts[0]).split("-"))
    return field_path(parts)


def _with_get_for_head(event: dict[str, Any]) -> dict[str, Any]:
    """HEAD of a public page is its GET, whose body the gateway leaves out."""
    request: dict[str, Any] = event["requestContext"]
    if request["http"]["method"] != "HEAD" or event["rawPath"] not in {"/", *PUBLIC_PATHS}:
        return event
    return {**event, "requestContext": {**request, "http": {**request["http"], "method": "GET"}}}


def lambda_handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """The API Gateway answer to an API Gateway event, payload 2.0."""
    request_id = event["requestContext"]["requestId"]
    http = event["requestContext"]["http"]
    with (
        runtime.log_keys(request_id=request_id, stage="api"),
        tracing.span(
            f"{http['method']} api", parent=event.get("headers", {}).get("traceparent"), request_id=request_id
        ),
    ):
        answer = app.resolve(_with_get_for_head(event), context)
        tracing.note(status=answer["statusCode"])
    tracing.flush()
    answer["body"] = answer.get("body") or ""  # not every gateway takes null
    headers = answer.setdefault("headers", {})
    headers["X-Request-Id"] = request_id
    headers["X-Content-Type-Options"] = "nosniff"
    headers.setdefault("Cache-Control", "no-store")
    return answer
