"""Hears the streams of jobs and batches, and rings the queue of the step that a row has come to.

The row is the outbox: whoever writes it sends nothing. A bell that is lost here is rung again by the reaper, one that
comes twice finds the row served.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from lambdas import metrics
from lambdas.runtime import log_failure, log_keys, services
from services.domain.batch import BatchStep
from services.domain.errors import Unavailable
from services.domain.job import DISPATCHED, JobState, JobStep
from services.ports.step_queue import StepQueue

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_JOB_STEPS: Final = (JobStep.PREPARE, JobStep.NOTIFY)
_BATCH_STEPS: Final = tuple(step for step in BatchStep if step is not BatchStep.NONE)


def lambda_handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Partial batch response of a stream: it comes again from the first record whose bell could not be rung."""
    ours = services()
    with log_keys(stage="outbox", request_id=getattr(context, "aws_request_id", None)):
        for record in event["Records"]:
            change = record["dynamodb"]
            try:
                _ring(change.get("OldImage"), change.get("NewImage"), ours.step_queue, ours.clock.now())
            except Unavailable as error:
                log_failure("stream record failed", error)
                return {"batchItemFailures": [{"itemIdentifier": change["SequenceNumber"]}]}
    return {"batchItemFailures": []}


def _ring(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None, bells: StepQueue, now: datetime) -> None:
    """Ring for what a change of a row asks for; most changes, such as progress and claims, ask for nothing."""
    if new is None:
        return  # deleted
    item_id, tenant_id, step = _text(new, "id"), _text(new, "tenant_id"), _text(new, "step")
    if not step:
        return  # what a tenant's jobs hold of its month: the template's filter leaves it out
    has_come = old is None or _text(old, "step") != step
    is_moved = old is not None and _micros(old, "available_at") != _micros(new, "available_at")
    delay_s = (_EPOCH + timedelta(microseconds=_micros(new, "available_at")) - now).total_seconds()
    if item_id.startswith("batch_"):
        if step in _BATCH_STEPS and (has_come or is_moved):
            bells.send("batch", item_id, tenant_id=tenant_id, delay_s=max(0.0, delay_s))
        return
    if step in _JOB_STEPS and (has_come or is_moved):
        bells.send(step, item_id, tenant_id=tenant_id, delay_s=max(0.0, delay_s))
    _count(old, new)
    was_running = old is not None and _text(old, "step") == JobStep.RUN
    if step in DISPATCHED and has_come:
        bells.ring(tenant_id=tenant_id, delay_s=max(0.0, delay_s))
    if was_running and step != JobStep.RUN and (step not in DISPATCHED or delay_s > 0):
        bells.ring(tenant_id=tenant_id)  # its slot is free, for whoever's turn it is


def _count(old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> None:
    """Every job passes here once when it comes, whoever submitted it, and once when it is canceled, by whomever."""
    kind, now = _text(new, "kind"), _text(new, "tenant_state")
    if old is None:
        metrics.submitted(kind)
    elif now.endswith(f"#{JobState.CANCELED}") and _text(old, "tenant_state") != now:
        metrics.canceled(kind)


def _text(image: Mapping[str, Any], name: str) -> str:
    value: str = image[name]["S"] if name in image else ""
    return value


def _micros(image: Mapping[str, Any], name: str) -> int:
    return int(image[name]["N"]) if name in image else 0
