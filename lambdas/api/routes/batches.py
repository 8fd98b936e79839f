"""Batches: create, watch, steer, and fetch their results."""

from __future__ import annotations

from typing import Annotated, Any, Final, Protocol

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body, Path, Query

from lambdas import runtime
from lambdas.api.answers import answered_once, caller, json_answer, outcomes
from lambdas.api.creations import CREATIONS
from lambdas.api.request_parts import IdempotencyKey
from lambdas.api.resolver import new_router
from lambdas.api.routes.jobs import Cursor, Limit
from lambdas.api.schemas.base import PageBody
from lambdas.api.schemas.batches import (
    BatchBody,
    BatchDetailBody,
    BatchRequestBody,
    BatchResultsBody,
    BatchRowBody,
    RowStateName,
)
from lambdas.api.scopes import needs
from services.domain.batch import Batch, BatchKind, RowState
from services.domain.engine import Failure
from services.domain.errors import InvalidRequest, QuotaExceeded
from services.domain.scope import Scope
from services.ports.batches import BatchStore
from services.ports.clock import Clock
from services.ports.tenants import Tenant
from services.usecases import control_batch, find_batch
from services.usecases.check_quota import check_job_quota, check_open_jobs
from services.usecases.find_batch import get_batch
from services.usecases.submit_batch import submit_batch
from services.usecases.tabulate_results import ResultFormat, tabulate_results
from services.usecases.view_batch import view_batch, view_row

router: Final = new_router()

BatchId = Annotated[str, Path(description="The batch's id.", examples=["batch_01JDV3M0Q8T2A4B6C8D0E2F4G6"])]
_AS_IT_IS: Final = {200: ("The batch as it is now.", BatchDetailBody)}


class BatchesBody(PageBody[BatchBody]):
    """A slice of the tenant's batches, newest first."""


class BatchRowsBody(PageBody[BatchRowBody]):
    """A slice of a batch's rows, in order of number."""


@router.post(
    "/v1/batches",
    summary="Make many at once",
    description="Each row of a CSV or JSONL file, up to 50,000, is a creation of its own. First the whole file is "
    "checked: `report` lists what is wrong by row and column, `estimate` what the rest will cost. Then the valid rows "
    "run, some at a time; one that fails stops no other.",
    operation_id="createBatch",
    openapi_extensions=needs(Scope.CREATE),
    tags=["batches"],
    responses=outcomes({202: ("The batch is accepted.", BatchDetailBody)}, (400, 409, 410, 413, 415, 422)),
)
def create_batch(body: Annotated[BatchRequestBody, Body()], idempotency_key: IdempotencyKey = None) -> Response[str]:
    services, tenant = runtime.services(), caller(router)

    def create(batch_id: str) -> Response[str]:
        batch = submit_batch(
            body.to_domain(),
            batch_id=batch_id,
            tenant_id=tenant.id,
            batches=services.batches,
            uploads=services.uploads,
            objects=services.objects,
            clock=services.clock,
            settings=services.settings,
            held_by=None if body.dry_run else _held_by(tenant, BatchKind(body.kind)),
        )
        headers = {"Location": f"/v1/batches/{batch.id}", "Retry-After": "2"}
        return json_answer(_values(batch), status=202, headers=headers)

    def find(batch_id: str) -> object:
        return get_batch(batch_id, tenant_id=tenant.id, batches=services.batches)

    return answered_once(router, idempotency_key, kind="batch", create=create, find=find)


@router.get(
    "/v1/batches",
    summary="List batches",
    description="The tenant's batches, newest first.",
    operation_id="listBatches",
    openapi_extensions=needs(Scope.READ),
    tags=["batches"],
    responses=outcomes({200: ("A slice of the batches.", BatchesBody)}, (400,)),
)
def list_batches(cursor: Cursor = None, limit: Limit = 50) -> Response[str]:
    page = find_batch.list_batches(caller(router).id, cursor=cursor, limit=limit, batches=runtime.services().batches)
    items = [_values(batch, with_deliveries=False) for batch in page.items]
    return json_answer({"items": items, "next_cursor": page.cursor})


@router.get(
    "/v1/batches/<batch_id>",
    summary="Read a batch",
    description="State, rows by state, estimate, and fresh links to the report.",
    operation_id="getBatch",
    openapi_extensions=needs(Scope.READ),
    tags=["batches"],
    responses=outcomes({200: ("The batch.", BatchDetailBody)}, (404,)),
)
def read_batch(batch_id: BatchId) -> Response[str]:
    return json_answer(_values(_find(batch_id)))


@router.get(
    "/v1/batches/<batch_id>/rows",
    summary="List a batch's rows",
    description="In order of number.",
    operation_id="listBatchRows",
    openapi_extensions=needs(Scope.READ),
    tags=["batches"],
    responses=outcomes({200: ("A slice of the rows.", BatchRowsBody)}, (400, 404)),
)
def list_rows(
    batch_id: BatchId,
    state: Annotated[RowStateName | None, Query(description="Only rows in this state.")] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response[str]:
    batch = _find(batch_id)
    rows = runtime.services().batches.rows(
        batch.id, state=None if state is None else RowState(state), after=_number(cursor), limit=limit + 1
    )
    more = str(rows[limit - 1].number) if len(rows) > limit else None
    return json_answer({"items": [view_row(row) for row in rows[:limit]], "next_cursor": more})


@router.get(
    "/v1/batches/<batch_id>/results",
    summary="Fetch a batch's results",
    description="A link to a table with a line for each row: outcome, job, facts, and links to its files, made now. "
    "Large batches come in parts of 2,000 rows, which put together in order are one file. May be asked for at any "
    "time; ask again when the links have expired.",
    operation_id="getBatchResults",
    openapi_extensions=needs(Scope.READ),
    tags=["batches"],
    responses=outcomes({200: ("A part of the table.", BatchResultsBody)}, (400, 404)),
)
def read_results(
    batch_id: BatchId,
    form: Annotated[
        ResultFormat, Query(alias="format", description="CSV for spreadsheets, JSONL for programs.")
    ] = ResultFormat.CSV,
    cursor: Cursor = None,
) -> Response[str]:
    services, batch = runtime.services(), _find(batch_id)
    part = tabulate_results(
        batch,
        form,
        output_names=CREATIONS[batch.kind](services).output_names,
        after=_number(cursor),
        batches=services.batches,
        jobs=services.jobs,
        objects=services.objects,
        clock=services.clock,
        settings=services.settings,
    )
    more = None if part.next_after is None else str(part.next_after)
    return json_answer(
        BatchResultsBody(url=part.url, num_rows=part.num_rows, expires_at=part.expires_at, next_cursor=more)
    )


@router.post(
    "/v1/batches/<batch_id>/pause",
    summary="Pause a batch",
    description="No further rows are submitted; what runs, runs on. A batch that is paused before its file is checked "
    "is checked, and waits: a way to read the report first.",
    operation_id="pauseBatch",
    openapi_extensions=needs(Scope.CREATE),
    tags=["batches"],
    responses=outcomes(_AS_IT_IS, (404, 409)),
)
def pause(batch_id: BatchId) -> Response[str]:
    return _steered(control_batch.pause_batch, batch_id)


@router.post(
    "/v1/batches/<batch_id>/resume",
    summary="Resume a batch",
    operation_id="resumeBatch",
    openapi_extensions=needs(Scope.CREATE),
    tags=["batches"],
    responses=outcomes(_AS_IT_IS, (404, 409)),
)
def resume(batch_id: BatchId) -> Response[str]:
    return _steered(control_batch.resume_batch, batch_id)


@router.post(
    "/v1/batches/<batch_id>/cancel",
    summary="Cancel a batch",
    description="Canceled at once; its pending rows end and its running jobs are canceled soon after, then "
    "`finished_at` is set. Rows that have ended stay as they are.",
    operation_id="cancelBatch",
    openapi_extensions=needs(Scope.CREATE),
    tags=["batches"],
    responses=outcomes(_AS_IT_IS, (404, 409)),
)
def cancel(batch_id: BatchId) -> Response[str]:
    return _steered(control_batch.cancel_batch, batch_id)


@router.post(
    "/v1/batches/<batch_id>/retry",
    summary="Retry a batch's failed rows",
    description="Only those; each becomes a new job. Invalid rows are corrected in the file and sent as a new batch.",
    operation_id="retryBatch",
    openapi_extensions=needs(Scope.CREATE),
    tags=["batches"],
    responses=outcomes(_AS_IT_IS, (404, 409)),
)
def retry(batch_id: BatchId) -> Response[str]:
    return _steered(control_batch.retry_batch, batch_id)


@router.delete(
    "/v1/batches/<batch_id>",
    summary="Delete a batch",
    description="Removes a batch that has ended, with its rows, report and tables: from now on there is no such batch, "
    "and what it held is gone within minutes. Its jobs and their results stay.",
    operation_id="deleteBatch",
    openapi_extensions=needs(Scope.CREATE),
    tags=["batches"],
    responses=outcomes({204: ("Deleted.", None)}, (404, 409)),
)
def delete(batch_id: BatchId) -> Response[None]:
    services = runtime.services()
    control_batch.delete_batch(batch_id, tenant_id=caller(router).id, batches=services.batches, clock=services.clock)
    return Response(status_code=204, body=None)


class _Steer(Protocol):
    def __call__(self, batch_id: str, *, tenant_id: str, batches: BatchStore, clock: Clock) -> Batch: ...


def _steered(steer: _Steer, batch_id: str) -> Response[str]:
    services = runtime.services()
    batch = steer(batch_id, tenant_id=caller(router).id, batches=services.batches, clock=services.clock)
    return json_answer(_values(batch))


def _find(batch_id: str) -> Batch:
    return get_batch(batch_id, tenant_id=caller(router).id, batches=runtime.services().batches)


def _held_by(tenant: Tenant, kind: BatchKind) -> Failure | None:
    """The quota that is used up just now: a batch is taken all the same, and says what its rows will wait for."""
    ours = runtime.services()
    try:
        if kind.makes_video:
            check_job_quota(tenant, jobs=ours.jobs, usage=ours.usage, clock=ours.clock, settings=ours.settings)
        else:
            check_open_jobs(tenant, jobs=ours.jobs, settings=ours.settings)
    except QuotaExceeded as error:
        return Failure(code=error.code, detail=error.detail, retryable=True)
    return None


def _values(batch: Batch, *, with_deliveries: bool = True) -> dict[str, Any]:
    services = runtime.services()
    deliveries = None
    if with_deliveries:
        deliveries = services.deliveries.list(batch.id) if batch.callback_url is not None else ()
    return view_batch(
        batch, objects=services.objects, link_lifetime_s=services.settings.link_lifetime_s, deliveries=deliveries
    )


def _number(cursor: str | None) -> int:
    """The row behind which a slice begins.

    Raises:
        InvalidRequest: ``malformed_cursor``.
    """
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 10):
        raise InvalidRequest("The cursor is not one of this listing.", code="malformed_cursor", param="cursor")
    return int(cursor)
