"""A client of the REST API, as the command line uses it: uploads, jobs, downloads."""

from __future__ import annotations

import contextlib
import json
import mimetypes
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final

import httpx

from services.domain import errors

_TIMEOUT_S: Final = 60.0
_CHUNK_BYTES: Final = 1 << 20
_FIRST_POLL_S: Final = 0.05
_LONGEST_POLL_S: Final = 0.5
_TYPES: Final[Mapping[str, str]] = {
    ".avif": "image/avif",
    ".flac": "audio/flac",
    ".heic": "image/heic",
    ".m4a": "audio/mp4",
    ".mkv": "video/x-matroska",
    ".opus": "audio/ogg",
    ".wav": "audio/wav",
    ".webp": "image/webp",
}
_CLASS_BY_STATUS: Final[Mapping[int, type[errors.SpokesmodelError]]] = {
    HTTPStatus.BAD_REQUEST: errors.InvalidRequest,
    HTTPStatus.UNAUTHORIZED: errors.Unauthenticated,
    HTTPStatus.FORBIDDEN: errors.Forbidden,
    HTTPStatus.NOT_FOUND: errors.NotFound,
    HTTPStatus.CONFLICT: errors.Conflict,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: errors.ContentRejected,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: errors.ContentRejected,
    HTTPStatus.UNPROCESSABLE_ENTITY: errors.ContentRejected,
    HTTPStatus.INTERNAL_SERVER_ERROR: errors.EngineFailed,
    HTTPStatus.SERVICE_UNAVAILABLE: errors.Unavailable,
}
Values = dict[str, Any]


class Client:
    """One tenant's view of a server. Every method raises the product's own errors, made of problem documents."""

    def __init__(self, url: str, api_key: str) -> None:
        headers = {"Authorization": f"Bearer {api_key}"}
        # trust_env off: a proxy of the environment has no business between two processes of one machine.
        self._http = httpx.Client(base_url=url, headers=headers, timeout=_TIMEOUT_S, trust_env=False)

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def get(self, path: str, **parameters: str) -> Values:
        """The JSON of a GET."""
        return self._call("GET", path, params=parameters)

    def post(self, path: str, body: Mapping[str, Any] | None = None, **headers: str) -> Values:
        """The JSON of a POST."""
        if body is None:
            return self._call("POST", path, headers=headers)
        content, media_type = _json(body), {"Content-Type": "application/json"}
        return self._call("POST", path, content=content, headers=media_type | headers)

    def delete(self, path: str) -> None:
        """Have something deleted."""
        self._call("DELETE", path)

    def items(self, path: str, **parameters: str) -> Iterator[Values]:
        """Everything of a listing, page after page."""
        cursor = ""
        while True:
            page = self.get(path, **parameters, **({"cursor": cursor} if cursor else {}))
            yield from page["items"]
            cursor = page.get("next_cursor") or ""
            if not cursor:
                return

    def upload(self, path: Path, *, fallback_type: str, media_type: str | None = None) -> str:
        """Send a file; its upload id. ``fallback_type`` is for names that tell no type; ``media_type`` for any."""
        try:
            with path.open("rb") as file:
                return self._send(path, file, media_type or media_type_of(path) or fallback_type)
        except OSError as error:
            raise errors.InvalidRequest(f"{path} cannot be read: {error.strerror}.", code="file_not_found") from error

    def _send(self, path: Path, file: IO[bytes], media_type: str) -> str:
        body = {
            "file_name": path.name.encode("utf-8", "replace").decode(),  # on Linux a name is any bytes
            "media_type": media_type,
            "size_bytes": path.stat().st_size,
        }
        created = self.post("/v1/uploads", body)
        signed = created["request"]
        with _told_transport():
            response = httpx.request(
                signed["method"],
                signed["url"],
                headers=signed["headers"],
                content=_chunks(file.read),
                timeout=_TIMEOUT_S,
                trust_env=False,
            )
        if response.is_error:
            raise _error(response)
        return str(created["id"])

    def cancel(self, job_id: str) -> Values:
        """Ask for the job's end."""
        return self.post(f"/v1/jobs/{job_id}/cancel")

    def wait(self, job_id: str, on_progress: Callable[[str, float], None] = lambda stage, fraction: None) -> Values:
        """The job once it is final."""
        pause_s = _FIRST_POLL_S
        while True:
            job = self.get(f"/v1/jobs/{job_id}")
            on_progress(job["progress"]["stage"], job["progress"]["fraction"])
            if job["state"] in ("succeeded", "failed", "canceled"):
                return job
            time.sleep(pause_s)
            pause_s = min(_LONGEST_POLL_S, pause_s * 1.3)

    def download(self, url: str, path: Path) -> None:
        """The file at a signed ``url``, in place in one step.

        Raises:
            InvalidRequest: ``out_not_writable``.
        """
        part = part_of(path)
        try:
            with part.open("xb") as file, _told_transport():
                self._receive(url, file)
            part.replace(path)
        except OSError as error:
            raise errors.InvalidRequest(
                f"{path} cannot be written: {error.strerror}.", code="out_not_writable", param="out"
            ) from error
        finally:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)

    def _receive(self, url: str, file: IO[bytes]) -> None:
        with httpx.stream("GET", url, timeout=_TIMEOUT_S, trust_env=False) as response:
            if response.is_error:
                response.read()
                raise _error(response)
            for chunk in response.iter_bytes(_CHUNK_BYTES):
                file.write(chunk)

    def _call(self, method: str, path: str, **options: Any) -> Values:
        with _told_transport():
            response = self._http.request(method, path, **options)
        if response.is_error:
            raise _error(response)
        values: Values = response.json() if response.content else {}
        return values


def part_of(path: Path) -> Path:
    """Where a file is written before it takes its place at ``path``: no other process has the same."""
    return path.with_name(f".{secrets.token_hex(8)}.part")


@contextlib.contextmanager
def _told_transport() -> Iterator[None]:
    try:
        yield
    except httpx.TransportError as error:
        raise errors.Unavailable(
            f"The server does not answer ({type(error).__name__}).", code="server_unreachable"
        ) from error


def _json(body: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError as error:
        raise errors.InvalidRequest("A value is not UTF-8.", code="not_utf8") from error
    except ValueError as error:
        raise errors.InvalidRequest("A number is not finite.", code="out_of_range") from error


def media_type_of(path: Path) -> str | None:
    """The media type that a file's name tells; the server looks at the content itself later."""
    return _TYPES.get(path.suffix.lower()) or mimetypes.guess_type(path.name)[0]


def _chunks(read: Callable[[int], bytes]) -> Iterator[bytes]:
    while chunk := read(_CHUNK_BYTES):
        yield chunk


def _error(response: httpx.Response) -> errors.SpokesmodelError:
    try:
        problem = response.json()
        detail, code = str(problem["detail"]), str(problem["code"])
    except (json.JSONDecodeError, KeyError, TypeError):
        detail, code, problem = f"The server answered {response.status_code}.", "unexpected_answer", {}
    if response.status_code == HTTPStatus.TOO_MANY_REQUESTS:
        retry_after_s = float(response.headers.get("Retry-After", "1"))
        return errors.QuotaExceeded(detail, retry_after_s=retry_after_s, code=code, param=problem.get("param"))
    branch = _CLASS_BY_STATUS.get(response.status_code, errors.EngineFailed)
    return branch(detail, code=code, param=problem.get("param"), retryable=bool(problem.get("retryable")))
