"""``/objects/...`` on one machine: what S3's signed URLs do in the cloud.

A link allows one method on one object for a while. Reading answers ranges, so that players can seek; writing takes
exactly the signed size and type. Browsers on other sites may use the links: they carry their own permission.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, Protocol, cast
from urllib.parse import quote
from uuid import uuid4

import anyio
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from lambdas.api.problems import MEDIA_TYPE, problem
from services.adapters.local.links import PATH_PREFIX, LinkPermission
from services.bootstrap import Services
from services.domain.errors import ContentRejected, InvalidRequest, SpokesmodelError, Unavailable
from services.ports.objects import ObjectStore

_LEFT_BEHIND_S: Final = 3600
_CORS: Final = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": "Accept-Ranges, Content-Disposition, Content-Length, Content-Range, ETag",
}
_METHODS: Final = ("GET", "HEAD", "PUT")
_PREFLIGHT: Final = {
    **_CORS,
    "Access-Control-Allow-Methods": ", ".join(_METHODS),
    "Access-Control-Allow-Headers": "Content-Type, Range",
    "Access-Control-Max-Age": "600",
}
# What a client uploaded is shown, never run.
_HARMLESS: Final = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox"}


class SignedObjectStore(ObjectStore, Protocol):
    """An object store that can check its own links."""

    def verify_signature(self, method: str, key: str, query: Any) -> LinkPermission:
        """What a link allows; see ``LinkSigner.verify``."""
        ...


def object_routes(services: Services) -> list[Route]:
    """The routes that serve ``services.objects``."""
    incoming = services.settings.state_dir / "incoming"
    incoming.mkdir(parents=True, exist_ok=True)
    for left in incoming.iterdir():
        if time.time() - left.stat().st_mtime > _LEFT_BEHIND_S:
            left.unlink(missing_ok=True)
    links = _ObjectLinks(cast(SignedObjectStore, services.objects), incoming)
    return [Route(PATH_PREFIX + "{key:path}", links)]  # an app of its own, so that it answers every method itself


class _ObjectLinks:
    def __init__(self, objects: SignedObjectStore, incoming: Path) -> None:
        self._objects = objects
        self._incoming = incoming

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self._serve(Request(scope, receive))
        await response(scope, receive, send)

    async def _serve(self, request: Request) -> Response:
        if request.method == "OPTIONS":
            return Response(status_code=204, headers=_PREFLIGHT)
        try:
            if request.method not in _METHODS:
                raise InvalidRequest(
                    f"{request.method} is not possible here; {', '.join(_METHODS)} is.", code="method_not_allowed"
                )
            key = request.path_params["key"]
            permission = self._objects.verify_signature(request.method, key, request.query_params)
            if request.method == "PUT":
                return await self._take(request, permission)
            return await self._give(permission)
        except SpokesmodelError as error:
            request_id = str(uuid4())
            status, document, headers = problem(error, request_id=request_id)
            allowed = {"Allow": ", ".join(_METHODS)} if status == HTTPStatus.METHOD_NOT_ALLOWED else {}
            return Response(
                json.dumps(document, ensure_ascii=False),
                status_code=status,
                media_type=MEDIA_TYPE,
                headers={**_CORS, **headers, **allowed, "X-Request-Id": request_id},
            )

    async def _give(self, permission: LinkPermission) -> Response:
        info = await run_in_threadpool(self._objects.head, permission.key)
        copy = self._objects.local_copy(permission.key)
        path = await run_in_threadpool(copy.__enter__)
        name = permission.file_name or permission.key.name
        return _CopyResponse(
            copy,
            path,
            media_type=info.media_type,
            headers={
                **_CORS,
                **_HARMLESS,
                "Cache-Control": "private, max-age=300",
                "Content-Disposition": f"inline; filename*=UTF-8''{quote(name, safe='')}",
            },
        )

    async def _take(self, request: Request, permission: LinkPermission) -> Response:
        media_type = request.headers.get("content-type", "").strip()
        if media_type != permission.media_type:
            raise ContentRejected(
                f"This link takes {permission.media_type}, not {media_type or 'a body without Content-Type'}.",
                code="unsupported_media_type",
                param="Content-Type",
            )
        announced = request.headers.get("content-length")
        if announced is not None and announced != str(permission.size_bytes):
            raise _wrong_size(permission, announced)
        async with self._received(request, permission) as path:
            info = await run_in_threadpool(self._objects.put_file, permission.key, path, media_type=media_type)
        return Response(status_code=200, headers={**_CORS, "ETag": f'"{info.sha256}"'})

    @asynccontextmanager
    async def _received(self, request: Request, permission: LinkPermission) -> AsyncIterator[Path]:
        """A file with the request's body, of exactly the permitted size."""
        path = self._incoming / secrets.token_hex(16)
        size_bytes = 0
        try:
            async with await anyio.open_file(path, "wb") as file:
                async for part in request.stream():
                    size_bytes += len(part)
                    if size_bytes > (permission.size_bytes or 0):
                        raise _wrong_size(permission, f"more than {permission.size_bytes}")
                    await file.write(part)
            if size_bytes != permission.size_bytes:
                raise _wrong_size(permission, str(size_bytes))
            yield path
        except ClientDisconnect as error:
            raise Unavailable("The client went away.", code="client_gone") from error
        except OSError as error:  # as when the disk is full
            raise Unavailable("The upload cannot be stored now.", code="store_unavailable") from error
        finally:
            await run_in_threadpool(path.unlink, missing_ok=True)


class _CopyResponse(FileResponse):
    """A file, whole or in ranges, that is let go when it has been sent or the client is gone."""

    def __init__(self, copy: AbstractContextManager[Path], path: Path, **arguments: Any) -> None:
        super().__init__(path, **arguments)
        self._let_go: Callable[..., Any] = copy.__exit__

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            with anyio.CancelScope(shield=True):
                await run_in_threadpool(self._let_go, None, None, None)


def _wrong_size(permission: LinkPermission, given: str) -> InvalidRequest:
    return InvalidRequest(
        f"This link takes {permission.size_bytes} bytes; given: {given}.", code="wrong_size", param="Content-Length"
    )
