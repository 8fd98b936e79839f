"""Errors as RFC 9457 problem documents."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from aws_lambda_powertools.event_handler import Response

from services.domain import errors
from services.usecases.check_quota import RatePolicy

MEDIA_TYPE: Final = "application/problem+json"
_RETRY_AFTER_S: Final = 2

_STATUS_BY_CODE: Final = {
    "method_not_allowed": HTTPStatus.METHOD_NOT_ALLOWED,
    "deleted_since": HTTPStatus.GONE,
    "request_too_large": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "upload_too_large": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "unsupported_media_type": HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
}
_STATUS_BY_CLASS: Final[tuple[tuple[type[errors.SpokesmodelError], HTTPStatus], ...]] = (
    (errors.InvalidRequest, HTTPStatus.BAD_REQUEST),
    (errors.Unauthenticated, HTTPStatus.UNAUTHORIZED),
    (errors.Forbidden, HTTPStatus.FORBIDDEN),
    (errors.NotFound, HTTPStatus.NOT_FOUND),
    (errors.Conflict, HTTPStatus.CONFLICT),
    (errors.ContentRejected, HTTPStatus.UNPROCESSABLE_ENTITY),
    (errors.QuotaExceeded, HTTPStatus.TOO_MANY_REQUESTS),
    (errors.Unavailable, HTTPStatus.SERVICE_UNAVAILABLE),
)


def status_of(error: errors.SpokesmodelError) -> HTTPStatus:
    """The HTTP status of an error: by its code where that says more than its class."""
    by_class = (status for branch, status in _STATUS_BY_CLASS if isinstance(error, branch))
    return _STATUS_BY_CODE.get(error.code) or next(by_class, HTTPStatus.INTERNAL_SERVER_ERROR)


def problem_type(code: str) -> str:
    """The problem's ``type``: a name, the same on every host."""
    return f"urn:spokesmodel:problem:{code}"


def problem(
    error: errors.SpokesmodelError, *, request_id: str, fields: Sequence[Mapping[str, Any]] = ()
) -> tuple[int, dict[str, Any], dict[str, str]]:
    """Status, problem document and headers of an error.

    Args:
        fields: Every request field at fault, where more than one can be.
    """
    status = status_of(error)
    document: dict[str, Any] = {
        "type": problem_type(error.code),
        "title": status.phrase,
        "status": int(status),
        "detail": error.detail,
        "code": error.code,
        "param": error.param,
        "retryable": error.retryable,
        "request_id": request_id,
    }
    if fields:
        document["errors"] = list(fields)
    headers: dict[str, str] = {}
    if isinstance(error, errors.QuotaExceeded):
        headers["Retry-After"] = str(_whole_s(error))
    elif error.retryable:
        headers["Retry-After"] = str(_RETRY_AFTER_S)
    if status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = 'Bearer realm="spokesmodel"'
    return int(status), document, headers


def rate_headers(error: errors.QuotaExceeded, policy: RatePolicy) -> dict[str, str]:
    """``RateLimit`` fields of a refused request, after draft-ietf-httpapi-ratelimit-headers-10.

    The item is named for the limit that was met; of requests, ``RateLimit-Policy`` says how many (``q``) a client may
    make within how many seconds (``w``).
    """
    headers = {"RateLimit": f'"{error.code}";r=0;t={_whole_s(error)}'}
    if error.code == "too_many_requests":
        window_s = max(1, math.ceil(policy.burst / policy.per_s))
        headers["RateLimit-Policy"] = f'"{error.code}";q={policy.burst};w={window_s}'
    return headers


def _whole_s(error: errors.QuotaExceeded) -> int:
    return max(1, math.ceil(error.retry_after_s))


def problem_response(
    error: errors.SpokesmodelError,
    *,
    request_id: str,
    fields: Sequence[Mapping[str, Any]] = (),
    headers: Mapping[str, str] | None = None,
) -> Response[str]:
    """The problem as a Powertools answer."""
    status, document, own_headers = problem(error, request_id=request_id, fields=fields)
    return Response(
        status_code=status,
        content_type=MEDIA_TYPE,
        body=json.dumps(document, ensure_ascii=False),
        headers={**own_headers, **(headers or {})},
    )
