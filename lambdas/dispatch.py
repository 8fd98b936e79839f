"""Serves the step ``dispatch``: a prepared job is handed to the engine when there is room."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lambdas.runtime import serve_steps, services
from services.domain.job import Job
from services.usecases.dispatch_attempt import dispatch_attempt


def lambda_handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Partial batch response; a record fails when the engine cannot be reached."""
    return serve_steps(event, context, _serve, stage="dispatch")


def _serve(job_id: str) -> Job:
    ours = services()
    return dispatch_attempt(
        job_id,
        jobs=ours.jobs,
        engine=ours.engine,
        tenants=ours.tenants,
        objects=ours.objects,
        clock=ours.clock,
        settings=ours.settings,
    )
