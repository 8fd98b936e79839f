"""Serves the step ``notify``: clients are called back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lambdas.runtime import counted, serve_steps, services
from services.domain.job import Job, JobStep
from services.usecases.deliver_webhook import deliver_webhook


def lambda_handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Partial batch response. A client that does not answer fails no record: the job's row says when to try again."""
    return serve_steps(event, context, counted(_serve, JobStep.NOTIFY), stage="notify")


def _serve(job_id: str) -> Job | None:
    ours = services()
    return deliver_webhook(
        job_id,
        jobs=ours.jobs,
        objects=ours.objects,
        tenants=ours.tenants,
        deliveries=ours.deliveries,
        sender=ours.webhook_sender,
        clock=ours.clock,
        settings=ours.settings,
    )
