"""The container's HTTP face, as SageMaker calls it: ``GET /ping`` and ``POST /invocations``.

An attempt that fails is a good answer: status 200 and a failed ``EngineAnswer``. Other statuses mean that no attempt
was made.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Final, Protocol

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from models.serving.engine import EngineState
from services.domain.engine import EngineAnswer, EngineRequest
from services.domain.errors import InvalidRequest, SpokesmodelError, Unavailable
from services.domain.wire import decode, encode

_TOO_LARGE: Final = "request_too_large"
_PASSING: Final = ("engine_busy", "engine_loading")
_LOOK_S: Final = 0.1


class Runner(Protocol):
    """What runs attempts: ``InferenceEngine`` in this process, or ``WorkerPool`` in others."""

    @property
    def state(self) -> EngineState: ...

    @property
    def problem(self) -> Unavailable | None: ...

    def load(self) -> None: ...

    def admit(self) -> None: ...

    def run(self, request: EngineRequest) -> EngineAnswer: ...


def create_app(
    engine: Runner,
    *,
    max_request_bytes: int,
    num_threads: int = 1,
    takes_invocations: bool = True,
    patience_s: float = 0.0,
) -> Starlette:
    """The ASGI application; it starts loading ``engine`` when it is started.

    Args:
        num_threads: Attempts that ``engine`` runs at once.
        takes_invocations: False leaves only ``/ping``: work comes another way.
        patience_s: How long an invocation may wait for an engine that is loading or busy: a caller that keeps to the
            number of attempts may still come while a lost worker is started again.
    """
    # They live as long as the container: models bound to a thread stay loaded between attempts.
    runner = ThreadPoolExecutor(max_workers=num_threads, thread_name_prefix="attempt")

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
            await _admitted(engine, patience_s)
            answer = await asyncio.get_running_loop().run_in_executor(runner, engine.run, request)
        except InvalidRequest as error:
            return _problem(error, 413 if error.code == _TOO_LARGE else 400)
        except SpokesmodelError as error:
            return _problem(error, 503)
        return Response(encode(answer), media_type="application/json")

    routes = [Route("/ping", ping, methods=["GET"])]
    if takes_invocations:
        routes.append(Route("/invocations", invocations, methods=["POST"]))
    return Starlette(routes=routes, lifespan=lifespan)


async def _admitted(engine: Runner, patience_s: float) -> None:
    give_up_at = time.monotonic() + patience_s
    while True:
        try:
            return engine.admit()
        except Unavailable as error:
            if error.code not in _PASSING or time.monotonic() >= give_up_at:
                raise
        await asyncio.sleep(_LOOK_S)


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
