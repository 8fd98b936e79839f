"""Videos."""

from __future__ import annotations

import json
from typing import Annotated, Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body

from lambdas import runtime
from lambdas.api.answers import acting_key, after_waiting, answered_once, caller, job_values, json_answer, outcomes
from lambdas.api.creations import submit_video_body
from lambdas.api.request_parts import IdempotencyKey, Prefer
from lambdas.api.resolver import new_router
from lambdas.api.schemas.jobs import JobDetailBody
from lambdas.api.schemas.videos import VideoBody
from lambdas.api.scopes import needs
from services.adapters import tracing
from services.domain.scope import Scope
from services.usecases.check_quota import check_job_quota
from services.usecases.get_job import get_job

router: Final = new_router()


@router.post(
    "/v1/videos",
    summary="Make a video",
    description="A presenter says a text, a script written from a brief, or recorded speech. Answers 202 with the job "
    "at once; with `Prefer: wait=N` 200 when the job is final within N seconds.",
    operation_id="createVideo",
    openapi_extensions=needs(Scope.CREATE),
    tags=["videos"],
    responses=outcomes(
        {
            200: ("The job is final already (`Prefer: wait`).", JobDetailBody),
            202: ("The job is accepted.", JobDetailBody),
        },
        (400, 409, 410, 413, 415, 422),
    ),
)
def create_video(
    body: Annotated[VideoBody, Body()], idempotency_key: IdempotencyKey = None, prefer: Prefer = None
) -> Response[str]:
    services, tenant = runtime.services(), caller(router)

    def create(job_id: str) -> Response[str]:
        allowance = check_job_quota(
            tenant, jobs=services.jobs, usage=services.usage, clock=services.clock, settings=services.settings
        )
        job = submit_video_body(
            body,
            job_id=job_id,
            tenant_id=tenant.id,
            actor=acting_key(router).id,
            traceparent=tracing.traceparent(),
            services=services,
            allowance=allowance,
        )
        runtime.log_submitted(job)
        return json_answer(job_values(job), status=202, headers={"Location": f"/v1/jobs/{job.id}", "Retry-After": "2"})

    def find(job_id: str) -> object:
        return get_job(job_id, tenant_id=tenant.id, jobs=services.jobs)

    answer = answered_once(router, idempotency_key, kind="job", create=create, find=find)
    if prefer is None:
        return answer
    job_id: str = json.loads(answer.body or "{}")["id"]
    return after_waiting(answer, job_id=job_id, tenant=tenant, prefer=prefer, final_status=200)
