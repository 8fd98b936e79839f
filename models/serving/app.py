"""The container's HTTP face, as SageMaker calls it: ``GET /ping`` and ``POST /invocations``.

An attempt that fails is a good answer: status 200 and a failed ``EngineAnswer``. Other statuses mean that no attempt
was made.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from models.serving.engine import EngineState, InferenceEngine
from services.domain.engine import EngineRequest
from services.domain.errors import InvalidRequest, SpokesmodelError
from services.domain.wire import decode, encode

_TOO_LARGE: Final = "request_too_large"


def create_app(engine: InferenceEngine, *, max_request_bytes: int) -> Starlette:
    """The ASGI application; it starts loading ``engine`` when it is started."""
    # One thread that lives as long as the container: models bound to a thread stay loaded between attempts.
    runner = ThreadPoolExecutor(max_workers=1, thread_name_prefix="attempt")

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        runner.submit(engine.load)
        yield
        runner.shutdown(wait=False, cancel_futures=True)

    async def ping(_: Request) -> Response:
        body: dict[str, object] = {"state": engine.state}
        if engine.problem:
            body |= {"code": engine.problem.code, "detail": engine.problem.detail}
        return JSONResponse(body, status_code=200 if engine.state is EngineState.READY else 503)

    async def invocations(http_request: Request) -> Response:
        try:
            request = decode(EngineRequest, await _body(http_request, max_request_bytes))
            engine.admit()
            answer = await asyncio.get_running_loop().run_in_executor(runner, engine.run, request)
        except InvalidRequest as error:
            return _problem(error, 413 if error.code == _TOO_LARGE else 400)
        except SpokesmodelError as error:
            return _problem(error, 503)
        return Response(encode(answer), media_type="application/json")

    return Starlette(
        routes=[Route("/ping", ping, methods=["GET"]), Route("/invocations", invocations, methods=["POST"])],
        lifespan=lifespan,
    )


async def _body(http_request: Request, limit: int) -> bytes:
    body = bytearray()
    async for chunk in http_request.stream():
        body += chunk
        if len(body) > limit:
            raise InvalidRequest(f"A request is at most {limit} bytes; media travel as object keys.", code=_TOO_LARGE)
    return bytes(body)


def _problem(error: SpokesmodelError, status: int) -> JSONResponse:
    body = {"code": error.code, "detail": error.detail, "retryable": error.retryable, "status": status}
    return JSONResponse(body, status_code=status, media_type="application/problem+json")
