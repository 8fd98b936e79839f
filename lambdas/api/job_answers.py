"""What routes that make a job have in common: the quota, the acceptance, the repeat, the wait."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.api_gateway import Router

from lambdas import runtime
from lambdas.api.answers import acting_key, after_waiting, answered_once, caller, job_values, json_answer, outcomes
from lambdas.api.picture_creations import Called, order_of
from lambdas.api.schemas.jobs import JobDetailBody
from services.adapters import tracing
from services.domain.job import Job
from services.usecases.accept_job import JobOrder
from services.usecases.check_quota import check_open_jobs
from services.usecases.get_job import get_job

JOB_OUTCOMES: Final[dict[int, Any]] = outcomes(
    {
        200: ("The job is final already (`Prefer: wait`).", JobDetailBody),
        202: ("The job is accepted.", JobDetailBody),
    },
    (400, 409, 410, 413, 415, 422),
)


def picture_order(router: Router, body: Called, job_id: str) -> JobOrder:
    """For whom the job of this request is, once the tenant may have one more.

    Raises:
        QuotaExceeded: ``too_many_jobs``.
    """
    services, tenant = runtime.services(), caller(router)
    check_open_jobs(tenant, jobs=services.jobs, settings=services.settings)
    return order_of(
        body,
        job_id=job_id,
        tenant_id=tenant.id,
        actor=acting_key(router).id,
        traceparent=tracing.traceparent(),
    )


def answer_with_job(
    router: Router,
    body: Called,
    submit: Callable[[JobOrder], Job],
    *,
    idempotency_key: str | None,
    prefer: str | None,
) -> Response[str]:
    """202 with the job that ``submit`` accepts, or 200 when the client waited and it is final."""
    services, tenant = runtime.services(), caller(router)

    def create(job_id: str) -> Response[str]:
        job = submit(picture_order(router, body, job_id))
        runtime.log_submitted(job)
        return json_answer(job_values(job), status=202, headers={"Location": f"/v1/jobs/{job.id}", "Retry-After": "1"})

    def find(job_id: str) -> object:
        return get_job(job_id, tenant_id=tenant.id, jobs=services.jobs)

    answer = answered_once(router, idempotency_key, kind="job", create=create, find=find)
    if prefer is None:
        return answer
    job_id: str = json.loads(answer.body or "{}")["id"]
    return after_waiting(answer, job_id=job_id, tenant=tenant, prefer=prefer, final_status=200)
