"""Called on a schedule: ends attempts past their deadline, rings again for rows left lying, lets old rows go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lambdas import metrics
from lambdas.runtime import log_job, log_keys, logger, services
from services.bootstrap import Services
from services.domain.errors import Unavailable
from services.usecases.expire_rows import expire_rows
from services.usecases.measure_backlog import measure_backlog
from services.usecases.reap_jobs import reap_jobs
from services.usecases.resend_steps import resend_steps


def lambda_handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """How many attempts were given up, how many bells rung again, and how many rows removed."""
    ours = services()
    reaped = reap_jobs(jobs=ours.jobs, objects=ours.objects, clock=ours.clock, settings=ours.settings)
    with log_keys(stage="reap", request_id=getattr(context, "aws_request_id", None)):
        for job in reaped:
            log_job(job)
            if ours.settings.profile == "aws":
                metrics.reaped(job)
    expired = expire_rows(
        jobs=ours.jobs,
        batches=ours.batches,
        objects=ours.objects,
        uploads=ours.uploads,
        deliveries=ours.deliveries,
        usage=ours.usage,
        clock=ours.clock,
        settings=ours.settings,
    )
    if ours.settings.profile == "aws":
        _report_backlog(ours)
    # Last: queues that do not answer make this fail, and must keep nothing else from being done.
    num_rung = resend_steps(
        jobs=ours.jobs,
        batches=ours.batches,
        deliveries=ours.deliveries,
        step_queue=ours.step_queue,
        clock=ours.clock,
        settings=ours.settings,
    )
    return {
        "num_reaped": len(reaped),
        "num_rung": num_rung,
        "num_expired": expired.num_jobs + expired.num_batches + expired.num_uploads,
    }


def _report_backlog(ours: Services) -> None:
    """Scaling follows this metric. Where nobody can say, none is sent, which scaling takes for "busy"."""
    try:
        measured = measure_backlog(jobs=ours.jobs, engine=ours.engine)
    except Unavailable as error:
        logger.warning("backlog unknown", code=error.code)
    else:
        metrics.backlog(measured, stack=ours.settings.table_prefix.removesuffix("-"))
