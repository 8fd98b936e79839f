"""Powertools' HTTP API resolver, made safe for several requests at once in one process.

In Lambda a process serves one request at a time, and Powertools keeps the present event and context on a class and on
the resolver. On one machine the bridge calls the same handler from several threads; there that would mix up callers.
Here both live in context variables, so each thread sees its own. The rest of what Powertools does is as it is.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import cached_property
from typing import Any, Final

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.api_gateway import ResponseBuilder, Route, Router
from aws_lambda_powertools.event_handler.middlewares import NextMiddleware
from aws_lambda_powertools.event_handler.middlewares.openapi_validation import OpenAPIRequestValidationMiddleware
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2
from aws_lambda_powertools.utilities.typing import LambdaContext

_event: Final[ContextVar[APIGatewayProxyEventV2]] = ContextVar("event")
_lambda_context: Final[ContextVar[LambdaContext]] = ContextVar("lambda_context")
_request_values: Final[ContextVar[dict[str, Any]]] = ContextVar("request_values")

Admission = Callable[["ConcurrentHttpResolver", Route], None]
BodyReader = Callable[[APIGatewayProxyEventV2], dict[str, Any]]


class _Event(APIGatewayProxyEventV2):
    """An event whose headers, asked for by each step of a request, are put together once."""

    @cached_property
    def headers(self) -> dict[str, str]:
        return super().headers


def new_router() -> Router:
    """A Powertools router, typed."""
    return Router()  # type: ignore[no-untyped-call]


class _Validation(OpenAPIRequestValidationMiddleware):
    """Admits the caller first, then reads the body by our rules, then validates as Powertools does."""

    def __init__(self, admit: Admission, read_body: BodyReader) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._admit = admit
        self._read_body = read_body

    def handler(self, app: ConcurrentHttpResolver, next_middleware: NextMiddleware) -> Response[Any]:  # type: ignore[override]
        self._admit(app, app.context["_route"])
        return super().handler(app, next_middleware)

    def _get_body(self, app: ConcurrentHttpResolver) -> dict[str, Any]:  # type: ignore[override]
        body = self._read_body(app.current_event)
        app.context["body"] = body
        return body


class ConcurrentHttpResolver(APIGatewayHttpResolver):
    """An ``APIGatewayHttpResolver`` whose ``resolve`` may run in several threads.

    Args:
        admit: Called with each matched route before anything of the request is read; raises to refuse.
        read_body: The request's body as a JSON object; raises what is wrong with it.
        refuse: The answer for a request without a route; gets the methods that its path has.
    """

    def __init__(
        self,
        *,
        admit: Admission,
        read_body: BodyReader,
        refuse: Callable[[APIGatewayProxyEventV2, list[str]], Response[Any]],
    ) -> None:
        super().__init__(enable_validation=True)
        self._refuse = refuse
        self._build_lock = threading.Lock()
        self._request_validation_middleware = _Validation(admit, read_body)
        # Answers are pydantic models already; a second validation would only cost time.
        del self._response_validation_middleware

    @property
    def current_event(self) -> APIGatewayProxyEventV2:  # type: ignore[override]
        return _event.get()

    @property
    def lambda_context(self) -> LambdaContext:  # type: ignore[override]
        return _lambda_context.get()

    @property
    def context(self) -> dict[str, Any]:
        values = _request_values.get(None)
        if values is None:
            values = {}
            _request_values.set(values)
        return values

    @context.setter
    def context(self, value: dict[str, Any]) -> None:
        _request_values.set(value)

    def resolve(self, event: Mapping[str, Any], context: LambdaContext) -> dict[str, Any]:
        """The API Gateway answer to an API Gateway (payload 2.0) event."""
        _event.set(_Event(dict(event)))
        _lambda_context.set(context)
        _request_values.set({})
        try:
            return self._build_response(self._resolve())
        finally:
            _request_values.set({})

    def _call_route(self, route: Route, route_arguments: dict[str, str]) -> ResponseBuilder[Any]:
        if not route._middleware_stack_built:
            with self._build_lock:  # two threads building it would wrap the route twice
                if not route._middleware_stack_built:
                    route._build_middleware_stack(router_middlewares=self._router_middlewares, app=self)
        return super()._call_route(route, route_arguments)

    def _handle_not_found(self, method: str, path: str) -> ResponseBuilder[Any]:
        routes = self._static_routes + self._dynamic_routes
        allowed = sorted({route.method for route in routes if route.rule.match(path)})
        return self._response_builder_class(
            response=self._refuse(self.current_event, allowed), serializer=self._serializer, route=None
        )

    def _push_processed_stack_frame(self, frame: str) -> None:
        """Powertools' debug trace, a list shared by all requests: not kept."""
