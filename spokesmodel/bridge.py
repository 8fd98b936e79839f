"""API Gateway on one machine: an ASGI app that turns requests into payload-2.0 events and calls the same handlers.

What the real gateway does is done here: routes come from ``template.yaml`` and nothing else is reachable, bodies have
a limit, a handler has a time limit, and what a handler raises is a plain 500. Handlers run in thread pools of this
app's own, behind semaphores, so that a burst waits here and not in the event loop. The pool for ordinary requests is
small: more threads than that only take turns at the interpreter's lock and make the slowest answers slower. Requests
that prefer to wait sleep in a pool of their own.
"""

from __future__ import annotations

import asyncio
import base64
import importlib
import json
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final
from uuid import uuid4

from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send

from lambdas import runtime
from lambdas.api.problems import MEDIA_TYPE, problem
from services.bootstrap import Services
from services.domain.errors import ContentRejected, EngineFailed, NotFound, SpokesmodelError, Unavailable
from spokesmodel.object_links import object_routes
from spokesmodel.template import FunctionSpec, RouteSpec, Template

_log: Final = logging.getLogger("spokesmodel.bridge")
_MAX_BODY_BYTES: Final = 6 * 1024 * 1024  # Lambda's limit on a payload
_GATEWAY_TIMEOUT_S: Final = 30.0
_TEXT_TYPES: Final = ("text/", "application/json", "application/javascript", "application/xml")
_TEXT_SUFFIXES: Final = ("+json", "+xml")

Handler = Callable[[dict[str, Any], Any], dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayContext:
    """What a handler may read of its Lambda context."""

    function_name: str
    aws_request_id: str
    memory_limit_in_mb: int
    timeout_s: float
    started_at: float = field(default_factory=time.monotonic)

    @property
    def invoked_function_arn(self) -> str:
        """An ARN of the right form."""
        return f"arn:aws:lambda:local:000000000000:function:{self.function_name}"

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until the function's timeout."""
        return max(0, int(1000 * (self.timeout_s - (time.monotonic() - self.started_at))))


def build_app(services: Services, template: Template, *, num_threads: int = 4, num_waiting: int = 32) -> Starlette:
    """The whole HTTP surface of one machine: the template's API, and ``/objects/...`` for signed links.

    Handlers in this process serve with ``services`` from now on.

    Args:
        num_threads: How many handler calls run at once.
        num_waiting: How many requests may wait for their jobs besides; further ones are answered without waiting.
    """
    runtime.use_services(services)
    app = Starlette(routes=object_routes(services))
    app.router.default = ApiBridge(
        template, num_threads=num_threads, num_waiting=num_waiting
    )  # a Mount would refuse some paths on its own
    app.router.redirect_slashes = False
    return app


class ApiBridge:
    """The ASGI app of the template's HTTP API."""

    def __init__(self, template: Template, *, num_threads: int, num_waiting: int) -> None:
        self._template = template
        self._handlers = {name: _load(template.functions[name]) for name in {r.function for r in template.routes}}
        self._pool = _Pool(num_threads, "api")
        self._waiting_pool = _Pool(num_waiting, "api-waiting")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            raise RuntimeError(f"a {scope['type']} connection cannot be served")
        request_id = str(uuid4())
        try:
            body = await _read(receive)
            answer = await self._answer(scope, body, request_id)
        except SpokesmodelError as error:
            answer = _problem_answer(error, request_id)
        await _send(send, answer, with_body=scope["method"] != "HEAD")

    async def _answer(self, scope: Scope, body: bytes, request_id: str) -> dict[str, Any]:
        found = self._template.match(scope["method"], scope["path"])
        if found is None:
            raise NotFound("There is nothing at this path; /docs lists what there is.", code="route_not_found")
        route, variables = found
        function = self._template.functions[route.function]
        event = build_event(scope, body, route=route, variables=variables, request_id=request_id)
        context = GatewayContext(
            function_name=function.name,
            aws_request_id=request_id,
            memory_limit_in_mb=function.memory_mb,
            timeout_s=function.timeout_s,
        )
        handler = self._handlers[route.function]
        pool = self._pool
        if "prefer" in event["headers"]:
            if self._waiting_pool.is_full:
                del event["headers"]["prefer"]  # a preference may be ignored
            else:
                pool = self._waiting_pool
        try:
            return await pool.call(handler, event, context, timeout_s=min(context.timeout_s, _GATEWAY_TIMEOUT_S))
        except TimeoutError as error:
            raise Unavailable("The answer took too long.", code="gateway_timeout") from error
        except Exception as error:
            _log.exception("request %s: the handler raised", request_id)
            raise EngineFailed("Something broke on our side.", code="internal_error", retryable=True) from error


class _Pool:
    """Threads for handlers; who finds none free waits in the event loop, and that time is not the handler's."""

    def __init__(self, size: int, name: str) -> None:
        self._threads = ThreadPoolExecutor(size, thread_name_prefix=name)
        self._free = asyncio.Semaphore(size)

    @property
    def is_full(self) -> bool:
        return self._free.locked()

    async def call(
        self, handler: Handler, event: dict[str, Any], context: GatewayContext, *, timeout_s: float
    ) -> dict[str, Any]:
        await self._free.acquire()
        call = asyncio.get_running_loop().run_in_executor(self._threads, handler, event, context)
        call.add_done_callback(lambda _: self._free.release())  # a late handler keeps its place until it ends
        return await asyncio.wait_for(asyncio.shield(call), timeout_s)


def build_event(
    scope: Scope, body: bytes, *, route: RouteSpec, variables: dict[str, str], request_id: str
) -> dict[str, Any]:
    """The API Gateway event, payload 2.0, of an ASGI request."""
    headers: dict[str, str] = {}
    cookies: list[str] = []
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        if name == "cookie":
            cookies += [cookie.strip() for cookie in value.split(";")]
        else:
            headers[name] = f"{headers[name]},{value}" if name in headers else value
    now = datetime.now(UTC)
    query: str = scope["query_string"].decode("latin-1")
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": route.key,
        "rawPath": scope["path"],
        "rawQueryString": query,
        "headers": headers,
        "requestContext": {
            "accountId": "000000000000",
            "apiId": "local",
            "domainName": headers.get("host", "localhost"),
            "domainPrefix": "local",
            "http": {
                "method": scope["method"],
                "path": scope["path"],
                "protocol": f"HTTP/{scope.get('http_version', '1.1')}",
                "sourceIp": (scope.get("client") or ("127.0.0.1", 0))[0],
                "userAgent": headers.get("user-agent", ""),
            },
            "requestId": request_id,
            "routeKey": route.key,
            "stage": "$default",
            "time": now.strftime("%d/%b/%Y:%H:%M:%S +0000"),
            "timeEpoch": int(now.timestamp() * 1000),
        },
        "isBase64Encoded": False,
    }
    if cookies:
        event["cookies"] = cookies
    if query:
        event["queryStringParameters"] = _query_parameters(query)
    if variables:
        event["pathParameters"] = variables
    if body:
        event["body"], event["isBase64Encoded"] = _event_body(body, headers.get("content-type", ""))
    return event


def _query_parameters(query: str) -> dict[str, str]:
    from urllib.parse import parse_qsl

    parameters: dict[str, str] = {}
    for name, value in parse_qsl(query, keep_blank_values=True, errors="replace"):
        parameters[name] = f"{parameters[name]},{value}" if name in parameters else value
    return parameters


def _event_body(body: bytes, content_type: str) -> tuple[str, bool]:
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type.startswith(_TEXT_TYPES) or media_type.endswith(_TEXT_SUFFIXES):
        try:
            return body.decode("utf-8"), False
        except UnicodeDecodeError:
            pass
    return base64.b64encode(body).decode(), True


async def _read(receive: Receive) -> bytes:
    parts: list[bytes] = []
    size_bytes = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Unavailable("The client went away.", code="client_gone")
        part: bytes = message.get("body", b"")
        size_bytes += len(part)
        if size_bytes > _MAX_BODY_BYTES:
            raise ContentRejected(
                f"The body has more than {_MAX_BODY_BYTES} bytes. Send pictures, sound and video through "
                "POST /v1/uploads and name them by upload_id.",
                code="request_too_large",
            )
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


async def _send(send: Send, answer: dict[str, Any], *, with_body: bool) -> None:
    text = answer.get("body") or ""
    body = base64.b64decode(text) if answer.get("isBase64Encoded") else text.encode()
    headers = {name.lower(): str(value) for name, value in (answer.get("headers") or {}).items()}
    status = int(answer["statusCode"])
    if status not in (204, 304):
        headers["content-length"] = str(len(body))
        headers.setdefault("content-type", "application/json")
    raw = [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in headers.items()]
    raw += [(b"set-cookie", cookie.encode("latin-1")) for cookie in answer.get("cookies") or ()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body if with_body else b""})


def _problem_answer(error: SpokesmodelError, request_id: str) -> dict[str, Any]:
    status, document, headers = problem(error, request_id=request_id)
    return {
        "statusCode": status,
        "headers": {**headers, "content-type": MEDIA_TYPE, "x-request-id": request_id},
        "body": json.dumps(document, ensure_ascii=False),
    }


def _load(function: FunctionSpec) -> Handler:
    module, _, name = function.handler.rpartition(".")
    handler: Handler = getattr(importlib.import_module(module), name)
    return handler
