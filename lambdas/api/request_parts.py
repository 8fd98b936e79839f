"""What a request carries beside its route: the caller, the body, preferences, the idempotency key."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, NoReturn

from aws_lambda_powertools.event_handler.openapi.params import Header
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2

from lambdas import runtime
from services.domain.errors import ContentRejected, InvalidRequest
from services.domain.json_object import DuplicateKey, unique_keys

_ESCAPED_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_UNION_MEMBERS: Final = ("literal[", "constrained-", "function-")  # names that pydantic gives to members of a union
_TOOLS: Final = frozenset(
    ("background", "relight", "retouch", "upscale", "cutout", "crop")
)  # members of a step's union
_WAIT: Final = re.compile(r"^\s*wait\s*=\s*\"?(\d{1,6})\"?\s*$", re.IGNORECASE)

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern=r"^[A-Za-z0-9._~-]{1,128}$",
        description="A name of yours for this request. A repeat with the same key and body within 24 hours gets the "
        "first answer, with `Idempotent-Replayed: true`, and makes nothing new.",
    ),
]
Prefer = Annotated[
    str | None,
    Header(
        alias="Prefer",
        description="`wait=N` (RFC 7240) holds the answer for up to N whole seconds, until the job is final; "
        "`Preference-Applied` says what was granted. A preference of another form is passed over, as the RFC has it.",
    ),
]


def field_path(location: Sequence[str | int]) -> str:
    """``("frame", "fps", "literal[25,30]")`` as ``frame.fps``: where a value stands, without the members of unions."""
    parts: list[str] = []
    for place, part in enumerate(location):
        is_member = str(part).startswith(_UNION_MEMBERS) or (
            part in _TOOLS and place > 0 and isinstance(location[place - 1], int)
        )
        if not is_member:
            parts.append(str(part))
    return ".".join(parts)


def api_key_of(event: APIGatewayProxyEventV2) -> str | None:
    """The API key that a request shows, if any."""
    headers = event.headers
    scheme, _, credentials = headers.get("authorization", "").strip().partition(" ")
    if scheme.lower() == "bearer" and credentials.strip():
        return str(credentials.strip())
    return headers.get("x-api-key") or None


def check_query(event: APIGatewayProxyEventV2, known: Sequence[str]) -> None:
    """Nothing, when the query has only parameters that the route knows.

    Raises:
        InvalidRequest: ``unknown_parameter``: ignored, a misspelled filter would answer more than was asked for.
    """
    for name in event.query_string_parameters:
        if name not in known:
            there = f"known are {', '.join(known)}" if known else "there are none here"
            raise InvalidRequest(
                f"There is no query parameter {name!r}; {there}.", code="unknown_parameter", param=name
            )


def wait_asked(prefer: str | None, *, at_most_s: float) -> int | None:
    """Seconds of ``Prefer: wait=N``, cut to what the server grants; None when the preference is not there."""
    for preference in (prefer or "").split(","):
        if match := _WAIT.match(preference.partition(";")[0]):
            return min(int(match.group(1)), int(at_most_s))
    return None


def read_json_object(event: APIGatewayProxyEventV2) -> dict[str, Any]:
    """The body as a JSON object.

    Raises:
        ContentRejected: ``unsupported_media_type``, ``request_too_large``.
        InvalidRequest: ``body_not_utf8``, ``malformed_json``, ``body_not_an_object``.
    """
    media_type = event.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise ContentRejected(
            f"The body is of type {media_type!r}; send application/json.",
            code="unsupported_media_type",
            param="Content-Type",
        )
    text = _body_text(event)
    try:
        value = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=unique_keys)
        if _ESCAPED_SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair is no character
    except json.JSONDecodeError as error:
        raise InvalidRequest(
            f"The body is not JSON: {error.msg} at line {error.lineno}, column {error.colno}.", code="malformed_json"
        ) from error
    except DuplicateKey as error:
        raise InvalidRequest(f"The body is not usable JSON: {error}.", code="malformed_json") from error
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(
            "The body is not usable JSON: a number, a nesting or a character is out of range.", code="malformed_json"
        ) from error
    if not isinstance(value, dict):
        raise InvalidRequest("The body is a JSON object.", code="body_not_an_object")
    return value


def _body_text(event: APIGatewayProxyEventV2) -> str:
    body: str = event.body or ""
    limit = runtime.services().settings.max_request_bytes
    # base64 has four characters for three bytes
    if len(body) > (limit * 4 // 3 + 4 if event.is_base64_encoded else limit):
        refuse_large(limit)
    try:
        if event.is_base64_encoded:
            body = base64.b64decode(body, validate=True).decode("utf-8")
        size_bytes = len(body.encode("utf-8"))
    except (UnicodeError, binascii.Error) as error:
        raise InvalidRequest("The body is not UTF-8 text.", code="body_not_utf8") from error
    if size_bytes > limit:
        refuse_large(limit)
    return body


def refuse_large(limit: int) -> NoReturn:
    """Refuse a body, and say where large things go.

    Raises:
        ContentRejected: ``request_too_large``.
    """
    raise ContentRejected(
        f"The body has more than {limit} bytes. Send pictures, sound and video through POST /v1/uploads and name "
        "them by upload_id.",
        code="request_too_large",
    )


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def canonical(body: Mapping[str, Any]) -> str:
    """The body in one spelling: the same for any order of keys and any spacing."""
    return json.dumps(body, sort_keys=True, separators=(",", ":"))
