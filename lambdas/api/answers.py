"""How routes answer: JSON bodies, documented outcomes, first answers repeated, jobs with their links."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.api_gateway import Router
from pydantic import BaseModel

from lambdas import runtime
from lambdas.api.problems import MEDIA_TYPE
from lambdas.api.request_parts import canonical, wait_asked
from lambdas.api.schemas.problem import Problem
from services.domain.errors import NotFound
from services.domain.ids import new_id
from services.domain.job import Job
from services.ports.idempotency import StoredAnswer
from services.ports.tenants import ApiKey, Tenant
from services.usecases.answer_once import answer_once
from services.usecases.authenticate import Caller
from services.usecases.get_job import wait_for_job
from services.usecases.view_job import view_job

JSON: Final = "application/json"
_SECURED: Final = (400, 401, 403, 429, 503)
PROBLEMS: Final = {
    400: "The request is malformed; `param` names the field.",
    401: "No API key, or one that is not known.",
    403: "Known, but not allowed: the key's scope, or a consent.",
    404: "No such thing for this tenant.",
    405: "The path has no such method; `Allow` names those it has.",
    409: "The thing is in another state, or a request with this Idempotency-Key is being answered.",
    410: "What this Idempotency-Key made was deleted since.",
    413: "Too large; large files go through `POST /v1/uploads`.",
    415: "A media type that is not taken.",
    422: "Well formed, but cannot be used as it is; or the Idempotency-Key came with another body.",
    429: "Too much or too often; try again after `Retry-After` seconds.",
    500: "Something broke on our side; the request id finds it in the logs.",
    503: "A part is missing or not answering; try again.",
}


def outcomes(
    success: Mapping[int, tuple[str, type[BaseModel] | None]], problems: tuple[int, ...] = (), *, secured: bool = True
) -> dict[int, Any]:
    """The ``responses`` of a route: what it answers when all is well, and its problems."""
    documented: dict[int, Any] = {}
    for status, (description, model) in success.items():
        content = {} if model is None else {JSON: {"model": model}}
        documented[status] = {"description": description, "content": content}
    for status in sorted({*problems, *(_SECURED if secured else ())}):
        documented[status] = {"description": PROBLEMS[status], "content": {MEDIA_TYPE: {"model": Problem}}}
    return documented


def json_answer(
    body: BaseModel | Mapping[str, Any], *, status: int = HTTPStatus.OK, headers: Mapping[str, str] | None = None
) -> Response[str]:
    """The body as JSON."""
    if isinstance(body, BaseModel):
        text = body.model_dump_json()
    else:
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return Response(status_code=int(status), content_type=JSON, body=text, headers=dict(headers or {}))


def caller(router: Router) -> Tenant:
    """The tenant whose key came with the request."""
    return _caller(router).tenant


def acting_key(router: Router) -> ApiKey:
    """The key that came with the request: the actor of what is written into the audit log."""
    return _caller(router).key


def _caller(router: Router) -> Caller:
    found: Caller = router.context["caller"]
    return found


def answered_once(
    router: Router,
    key: str | None,
    *,
    kind: str,
    create: Callable[[str], Response[str]],
    find: Callable[[str], object] | None = None,
) -> Response[str]:
    """What ``create`` answers for a new id of ``kind``, or the first answer that this key got.

    Args:
        find: Finds what was made by its id, or raises ``NotFound``; for things that can be deleted.

    Raises:
        NotFound: ``deleted_since``: the first answer would name what is not there any more.
    """

    def stored(resource_id: str) -> StoredAnswer:
        answer = create(resource_id)
        headers = {name: str(value) for name, value in answer.headers.items()}
        return StoredAnswer(status=answer.status_code, body=answer.body or "", headers=headers)

    once = answer_once(
        tenant_id=caller(router).id,
        key=key,
        fingerprint="" if key is None else _fingerprint(router),
        new_resource_id=new_id(kind),
        create=stored,
        idempotency=runtime.services().idempotency,
    )
    headers = dict(once.answer.headers)
    if once.replayed:
        if find is not None:
            _check_still_there(json.loads(once.answer.body)["id"], find)
        headers["Idempotent-Replayed"] = "true"
    return Response(status_code=once.answer.status, content_type=JSON, body=once.answer.body, headers=headers)


def _fingerprint(router: Router) -> str:
    """The same for requests that ask for the same."""
    event = router.current_event
    spelled = "\n".join([event.http_method, event.path, canonical(router.context["body"])])
    return hashlib.sha256(spelled.encode("utf-8", "surrogatepass")).hexdigest()


def _check_still_there(resource_id: str, find: Callable[[str], object]) -> None:
    try:
        find(resource_id)
    except NotFound as error:
        raise NotFound(
            f"The request with this Idempotency-Key made {resource_id}, which was deleted since; to make another, use "
            "a new key.",
            code="deleted_since",
            param="Idempotency-Key",
        ) from error


def job_values(job: Job, *, with_deliveries: bool = True) -> dict[str, Any]:
    """A job in the form of ``JobBody``, or with its deliveries of ``JobDetailBody``."""
    services = runtime.services()
    deliveries = None
    if with_deliveries:
        deliveries = services.deliveries.list(job.id) if job.callback_url is not None else ()
    return view_job(
        job, objects=services.objects, link_lifetime_s=services.settings.link_lifetime_s, deliveries=deliveries
    )


def after_waiting(
    answer: Response[str], *, job_id: str, tenant: Tenant, prefer: str | None, final_status: int
) -> Response[str]:
    """``answer``, or the job itself when the client preferred to wait and it became final in time."""
    services = runtime.services()
    wait_s = wait_asked(prefer, at_most_s=services.settings.max_wait_s)
    if wait_s is None:
        return answer
    job = wait_for_job(job_id, tenant_id=tenant.id, wait_s=wait_s, jobs=services.jobs, clock=services.clock)
    applied = {"Preference-Applied": f"wait={wait_s}"}
    kept = {name: str(value) for name, value in answer.headers.items() if name.lower() != "content-type"}
    status = final_status if job.state.is_final else answer.status_code
    if job.state.is_final:
        kept.pop("Retry-After", None)
    return json_answer(job_values(job), status=status, headers={**kept, **applied})
