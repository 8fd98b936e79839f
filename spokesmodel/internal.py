"""The runner's own route, for its workers alone: where they post progress events."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from http import HTTPStatus
from typing import ClassVar, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from services.domain.errors import InvalidRequest

_MAX_BYTES: Final = 4096


class InternalApp:
    """An ASGI application in front of the public one; everything but its one path goes on to that."""

    PATH: ClassVar[str] = "/internal/events"

    def __init__(self, public: ASGIApp, *, token: str, hear: Callable[[bytes], None]) -> None:
        """``hear``: takes an event's body; raises ``InvalidRequest`` for what is none."""
        self._public = public
        self._authorization = f"Bearer {token}".encode()
        self._hear = hear

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer an ASGI connection."""
        if scope["type"] != "http" or scope["path"] != self.PATH:
            await self._public(scope, receive, send)
            return
        status = await self._take(Request(scope, receive))
        await Response(status_code=status)(scope, receive, send)

    async def _take(self, request: Request) -> HTTPStatus:
        if request.method != "POST":
            return HTTPStatus.METHOD_NOT_ALLOWED
        if not hmac.compare_digest(request.headers.get("authorization", "").encode(), self._authorization):
            return HTTPStatus.UNAUTHORIZED
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > _MAX_BYTES:
                return HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        try:
            self._hear(bytes(body))
        except InvalidRequest:
            return HTTPStatus.BAD_REQUEST
        return HTTPStatus.NO_CONTENT
