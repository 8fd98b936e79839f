"""Hears the engine: ``{"type": "answer", "answer": ...}`` ends an attempt, ``{"type": "event", ...}`` is progress."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from lambdas.runtime import serve_job, serve_records, services
from services.domain import wire
from services.domain.engine import EngineAnswer, EngineEvent
from services.domain.errors import InvalidRequest
from services.domain.job import Job
from services.usecases.complete_attempt import complete_attempt
from services.usecases.record_progress import record_progress


def lambda_handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Partial batch response; an answer that came too early or met a failing store comes again."""
    return serve_records(event, context, _serve)


def _serve(body: str) -> None:
    ours = services()
    match _notice(body):
        case {"type": "answer", "answer": values}:
            answer = wire.from_values(EngineAnswer, values)
            serve_job(answer.job_id, lambda _: _complete(answer), stage="complete")
        case {"type": "event", "event": values}:
            record_progress(wire.from_values(EngineEvent, values), jobs=ours.jobs, clock=ours.clock)
        case _:
            raise InvalidRequest("Neither an answer nor an event of an engine.", code="malformed_payload")


def _complete(answer: EngineAnswer) -> Job | None:
    ours = services()
    return complete_attempt(
        answer,
        jobs=ours.jobs,
        objects=ours.objects,
        usage=ours.usage,
        clock=ours.clock,
        settings=ours.settings,
        prices=ours.prices,
    )


def _notice(body: str) -> Any:
    try:
        return json.loads(body)
    except ValueError as error:
        raise InvalidRequest("An engine's notice is JSON.", code="malformed_payload") from error
