"""What the container keeps open for its own workers, on loopback: an ear for progress, and each attempt's credentials.

Workers open strangers' files. They are given no credentials of the container's own; the SDK in a worker asks here, as
it would ask Amazon's container agent, and gets a session for the attempt that this worker runs right now.
"""

from __future__ import annotations

import hmac
import json
import logging
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from services.domain.engine import EngineEvent, EngineRequest
from services.domain.errors import InvalidRequest, SpokesmodelError
from services.domain.wire import decode
from services.ports.engine import EventSink

_log: Final = logging.getLogger("spokesmodel.engine")
_MAX_BYTES: Final = 4096
# What lets an SDK act as the container; a worker gets none of it.
_OWN_CREDENTIALS: Final = (
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_PROFILE",
    "AWS_DEFAULT_PROFILE",
    "AWS_ROLE_ARN",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "AWS_CREDENTIAL_EXPIRATION",
)


class Loopback:
    """The server; open until ``close``."""

    def __init__(
        self, events: EventSink, *, credentials: Callable[[EngineRequest], Mapping[str, str]] | None = None
    ) -> None:
        """``credentials``: makes an attempt's; None leaves workers those of the container."""
        self._events = events
        self._credentials = credentials
        self._tokens: dict[str, str] = {}
        self._running: dict[str, EngineRequest] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, name="loopback", daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def environment_of(self, worker: str, environment: Mapping[str, str]) -> dict[str, str]:
        """What the worker of this name is started with: ``environment``, a token, and no key that is not its own."""
        token = secrets.token_urlsafe(32)
        self._tokens[worker] = token
        given = dict(environment) | {"ENGINE_EVENTS_TOKEN": token}
        if self._credentials is None:
            return given
        for name in _OWN_CREDENTIALS:
            given.pop(name, None)
        return given | {
            "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{self.url}/credentials",
            "AWS_CONTAINER_AUTHORIZATION_TOKEN": f"Bearer {token}",
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
            "AWS_CONFIG_FILE": "/dev/null",
        }

    @contextmanager
    def attempt(self, worker: str, request: EngineRequest) -> Iterator[None]:
        """Meanwhile, ``worker`` runs ``request`` and may ask for its credentials."""
        self._running[worker] = request
        try:
            yield
        finally:
            del self._running[worker]

    def close(self) -> None:
        """Hear nobody any more."""
        self._server.shutdown()
        self._server.server_close()

    def worker_of(self, authorization: str) -> str | None:
        """Who asks with this header."""
        for worker, token in self._tokens.items():
            if hmac.compare_digest(authorization.encode(), f"Bearer {token}".encode()):
                return worker
        return None

    def credentials_of(self, worker: str) -> Mapping[str, str] | None:
        """Those of the attempt that ``worker`` runs; None when it runs none.

        Raises:
            Unavailable: ``session_not_given``.
        """
        request = self._running.get(worker)
        return self._credentials(request) if self._credentials and request else None

    def hear(self, worker: str, body: bytes) -> bool:
        """Pass an event on; whether it was about the attempt that ``worker`` runs.

        Raises:
            InvalidRequest: ``malformed_payload``.
        """
        event, request = decode(EngineEvent, body), self._running.get(worker)
        if request is None or (event.job_id, event.attempt) != (request.job_id, request.attempt):
            return False
        self._events.emit(event)
        return True


def _handler_of(loopback: Loopback) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            worker = loopback.worker_of(self.headers.get("Authorization", ""))
            if worker is None:
                return self._answer(HTTPStatus.UNAUTHORIZED)
            try:
                credentials = loopback.credentials_of(worker) if self.path == "/credentials" else None
            except SpokesmodelError as error:
                _log.warning("no credentials for %s: %s", worker, error.code)
                return self._answer(HTTPStatus.SERVICE_UNAVAILABLE)
            if credentials is None:
                return self._answer(HTTPStatus.NOT_FOUND)
            return self._answer(HTTPStatus.OK, json.dumps(dict(credentials)).encode())

        def do_POST(self) -> None:
            worker = loopback.worker_of(self.headers.get("Authorization", ""))
            length = self.headers.get("Content-Length", "")
            if worker is None or not length.isdecimal() or int(length) > _MAX_BYTES:
                return self._answer(HTTPStatus.UNAUTHORIZED if worker is None else HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            try:
                heard = loopback.hear(worker, self.rfile.read(int(length)))
            except InvalidRequest:
                return self._answer(HTTPStatus.BAD_REQUEST)
            return self._answer(HTTPStatus.NO_CONTENT if heard else HTTPStatus.CONFLICT)

        def log_message(self, format: str, *values: object) -> None:  # noqa: A002  the base class's name
            """Nothing: the container's log is for attempts."""

        def _answer(self, status: HTTPStatus, body: bytes = b"") -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler
