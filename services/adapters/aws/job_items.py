"""A job as an item of the table ``jobs``: its body, and beside it what indexes, conditions and the stream need."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from services.adapters.aws.items import Item
from services.adapters.instants import sortable, to_expiry, to_micros
from services.domain import wire
from services.domain.engine import Lane
from services.domain.job import DISPATCHED, Job, JobState, JobStep

SERVED: Final = (JobStep.PREPARE, *DISPATCHED, JobStep.NOTIFY)  # the steps whose jobs are claimed
RUNNING: Final = {Lane.LONG: "run", Lane.INTERACTIVE: "run_now"}  # where the index ``by_run`` keeps a lane's jobs
_NO_DEADLINE: Final = 10**16  # in 2286


def item_of(job: Job, *, retention: timedelta) -> Item:
    """``step_tenant`` with ``due_id``, and ``running`` with ``deadline_at``, are there only while they apply.

    ``due_id`` is when the step may next be claimed: ``available_at``, or the end of the running claim.
    """
    item: dict[str, str | int | bool | None] = {
        "id": job.id,
        "tenant_id": job.tenant_id,
        "kind": job.kind,
        "tenant_state": tenant_state(job.tenant_id, job.state),
        "step": job.step,
        "available_at": to_micros(job.available_at),
        "step_tries": job.step_tries,
        "version": job.version,
        "body": wire.encode(job).decode(),
    }
    if job.step in SERVED:
        item["step_tenant"] = partition(job.step, job.tenant_id)
        item["due_id"] = due_id(job.available_at, job.id)
    if job.step is JobStep.RUN:
        item["running"] = RUNNING[job.kind.lane]
        item["deadline_at"] = _NO_DEADLINE if job.deadline_at is None else to_micros(job.deadline_at)
    if job.state.is_final:
        item["expires_at"] = to_expiry((job.finished_at or job.updated_at) + retention)
    return item


def job_of(item: Item) -> Job:
    """The stored job; what claims change lives beside the body only, and wins."""
    job = wire.decode(Job, str(item["body"]))
    return replace(job, step_tries=int(item["step_tries"] or 0), version=int(item["version"] or 0))


def partition(step: JobStep, tenant_id: str) -> str:
    """Where the index ``by_step`` keeps a tenant's jobs at a step."""
    return f"{step}#{tenant_id}"


def tenant_state(tenant_id: str, state: JobState) -> str:
    """Where the index ``by_state`` keeps a tenant's jobs in a state."""
    return f"{tenant_id}#{state}"


def due_id(moment: datetime, job_id: str) -> str:
    """Sorts by time, then by id."""
    return f"{sortable(moment)}#{job_id}"
