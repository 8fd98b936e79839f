"""Jobs: read, list, cancel, delete."""

from __future__ import annotations

from typing import Annotated, Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path, Query

from lambdas import runtime
from lambdas.api.answers import acting_key, after_waiting, caller, job_values, json_answer, outcomes
from lambdas.api.request_parts import Prefer
from lambdas.api.resolver import new_router
from lambdas.api.schemas.base import PageBody
from lambdas.api.schemas.jobs import JobBody, JobDetailBody, JobKindName, JobStateName
from lambdas.api.scopes import needs
from services.domain.engine import EngineKind
from services.domain.job import JobState
from services.domain.scope import Scope
from services.usecases.cancel_job import cancel_job
from services.usecases.delete_job import delete_job
from services.usecases.get_job import get_job

router: Final = new_router()

JobId = Annotated[str, Path(description="The job's id.", examples=["job_01JDV3M0Q8T2A4B6C8D0E2F4G6"])]
Limit = Annotated[int, Query(ge=1, le=100, description="How many at most.")]
Cursor = Annotated[str | None, Query(max_length=200, description="`next_cursor` of the slice before.")]


class JobsBody(PageBody[JobBody]):
    """A slice of the tenant's jobs, newest first."""


@router.get(
    "/v1/jobs",
    summary="List jobs",
    description="The tenant's jobs, newest first.",
    operation_id="listJobs",
    openapi_extensions=needs(Scope.READ),
    tags=["jobs"],
    responses=outcomes({200: ("A slice of the jobs.", JobsBody)}, (400,)),
)
def list_jobs(
    state: Annotated[JobStateName | None, Query(description="Only jobs in this state.")] = None,
    kind: Annotated[JobKindName | None, Query(description="Only jobs of this kind.")] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response[str]:
    page = runtime.services().jobs.list(
        caller(router).id,
        state=None if state is None else JobState(state),
        kind=None if kind is None else EngineKind(kind),
        cursor=cursor,
        limit=limit,
    )
    return json_answer(
        {"items": [job_values(job, with_deliveries=False) for job in page.items], "next_cursor": page.cursor}
    )


@router.get(
    "/v1/jobs/<job_id>",
    summary="Read a job",
    description="State, progress and result. With `Prefer: wait=N` answers when the job is final, or after N seconds.",
    operation_id="getJob",
    openapi_extensions=needs(Scope.READ),
    tags=["jobs"],
    responses=outcomes({200: ("The job.", JobDetailBody)}, (404,)),
)
def read_job(job_id: JobId, prefer: Prefer = None) -> Response[str]:
    services, tenant = runtime.services(), caller(router)
    job = get_job(job_id, tenant_id=tenant.id, jobs=services.jobs)
    headers = {} if job.state.is_final else {"Retry-After": "1"}
    answer = json_answer(job_values(job), headers=headers)
    return after_waiting(answer, job_id=job_id, tenant=tenant, prefer=prefer, final_status=200)


@router.post(
    "/v1/jobs/<job_id>/cancel",
    summary="Cancel a job",
    description="The job is canceled at once; whatever an engine still makes of it is dropped and costs nothing. "
    "Canceling a canceled job changes nothing; a job that succeeded or failed answers 409.",
    operation_id="cancelJob",
    openapi_extensions=needs(Scope.CREATE),
    tags=["jobs"],
    responses=outcomes({200: ("The job as it is now.", JobDetailBody)}, (404, 409)),
)
def cancel(job_id: JobId) -> Response[str]:
    services = runtime.services()
    job = cancel_job(
        job_id, tenant_id=caller(router).id, jobs=services.jobs, objects=services.objects, clock=services.clock
    )
    return json_answer(job_values(job))


@router.delete(
    "/v1/jobs/<job_id>",
    summary="Delete a job",
    description="Removes a final job with its inputs and results. One that is not final answers 409: cancel it first.",
    operation_id="deleteJob",
    openapi_extensions=needs(Scope.CREATE),
    tags=["jobs"],
    responses=outcomes({204: ("Deleted.", None)}, (404, 409)),
)
def delete(job_id: JobId) -> Response[None]:
    services = runtime.services()
    delete_job(
        job_id,
        tenant_id=caller(router).id,
        actor=acting_key(router).id,
        jobs=services.jobs,
        objects=services.objects,
        products=services.products,
        usage=services.usage,
        deliveries=services.deliveries,
        audit=services.audit,
        clock=services.clock,
    )
    return Response(status_code=204, body=None)
