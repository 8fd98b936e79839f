"""Hears the engine: an answer ends an attempt, an event is progress (``services.ports.notices``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lambdas.runtime import logger, serve_job, serve_records, services
from services.domain.engine import EngineAnswer
from services.domain.job import Job
from services.usecases.complete_attempt import complete_attempt
from services.usecases.record_progress import record_progress


def lambda_handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Partial batch response; an answer that came too early or met a failing store comes again."""
    return serve_records(event, context, _serve)


def _serve(body: str) -> None:
    ours = services()
    notice = ours.notices.read(body)
    if isinstance(notice, EngineAnswer):
        answer = notice
        serve_job(answer.job_id, lambda _: _complete(answer), stage="complete")
    else:
        logger.thread_safe_append_keys(stage="complete", job_id=notice.job_id, attempt=notice.attempt)
        record_progress(notice, jobs=ours.jobs, clock=ours.clock)


def _complete(answer: EngineAnswer) -> Job | None:
    ours = services()
    return complete_attempt(
        answer,
        jobs=ours.jobs,
        objects=ours.objects,
        usage=ours.usage,
        clock=ours.clock,
        settings=ours.settings,
        products=ours.products,
        prices=ours.prices,
    )
