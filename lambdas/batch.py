"""Serves batches: checks their files, submits their rows, takes in what has ended, calls their clients back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from lambdas import metrics
from lambdas.api import creations
from lambdas.runtime import Served, log_batch, serve_records, serve_row, services
from services.bootstrap import Services
from services.domain.allowance import Allowance
from services.domain.batch import Batch
from services.domain.errors import InvalidRequest, NotFound
from services.usecases.check_quota import check_job_quota, check_open_jobs
from services.usecases.notify_batch import notify_batch
from services.usecases.remove_batch import remove_batch
from services.usecases.serve_batch import BatchServer


def lambda_handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Partial batch response; a record fails when a store does not answer."""
    return serve_records(event, context, _serve)


def server(ours: Services) -> BatchServer:
    """Serves batches with these adapters."""

    def notify(batch: Batch) -> Batch:
        return notify_batch(
            batch,
            batches=ours.batches,
            objects=ours.objects,
            tenants=ours.tenants,
            deliveries=ours.deliveries,
            sender=ours.webhook_sender,
            clock=ours.clock,
            settings=ours.settings,
        )

    def remove(batch: Batch) -> bool:
        return remove_batch(
            batch,
            batches=ours.batches,
            objects=ours.objects,
            deliveries=ours.deliveries,
            clock=ours.clock,
            settings=ours.settings,
        )

    def check_quota(batch: Batch) -> Allowance | None:
        try:
            tenant = ours.tenants.get(batch.tenant_id)
        except NotFound:
            return None  # as dispatch has it: a tenant without a row has the usual share
        if not batch.kind.makes_video:
            check_open_jobs(tenant, jobs=ours.jobs, settings=ours.settings)
            return None
        return check_job_quota(tenant, jobs=ours.jobs, usage=ours.usage, clock=ours.clock, settings=ours.settings)

    return BatchServer(
        creations={kind: partial(make, ours) for kind, make in creations.CREATIONS.items()},
        batches=ours.batches,
        jobs=ours.jobs,
        objects=ours.objects,
        clock=ours.clock,
        settings=ours.settings,
        check_quota=check_quota,
        notify=notify,
        remove=remove,
    )


def _serve(body: str) -> None:
    ours = services()
    kind: Served[Batch] = Served(
        id_key="batch_id",
        gone="batch_not_found",
        get=ours.batches.get,
        keys=lambda batch: {"tenant_id": batch.tenant_id},
        log=log_batch,
        measure=lambda before, after, duration_s: metrics.batch_served(before, after, duration_s=duration_s),
    )
    serve_row(_batch_id(body), server(ours).serve, stage="batch", of=kind)


def _batch_id(body: str) -> str:
    try:
        batch_id = json.loads(body)["batch_id"]
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidRequest("A batch's message is an object with batch_id.", code="malformed_payload") from error
    if not isinstance(batch_id, str):
        raise InvalidRequest("batch_id is a string.", code="malformed_payload", param="batch_id")
    return batch_id
