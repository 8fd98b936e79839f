"""Ring again for rows that nobody has served: their message was lost, or lies among the dead letters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final, TypeVar

from services.domain.batch import Batch
from services.domain.engine import Failure
from services.domain.errors import Conflict, NotFound, Unavailable
from services.domain.job import Job, JobState, JobStep
from services.domain.outcome import finish
from services.ports.batches import BatchStore
from services.ports.clock import Clock
from services.ports.jobs import JobStore
from services.ports.step_queue import StepQueue
from services.ports.webhooks import Delivery, DeliveryLog
from services.settings import Settings
from services.usecases.deliver_webhook import event_id
from services.usecases.revise import revise

R = TypeVar("R", Job, Batch)

_DUE_FOR_S: Final = 120.0  # a message that is well gets served sooner
# How long a queue hides a message that is being served (template.yaml): no second one is sent meanwhile.
_LEASE_S: Final = {JobStep.PREPARE: 360.0, JobStep.NOTIFY: 720.0}
_BATCH_LEASE_S: Final = 720.0


def resend_steps(
    *,
    jobs: JobStore,
    batches: BatchStore,
    deliveries: DeliveryLog,
    step_queue: StepQueue,
    clock: Clock,
    settings: Settings,
    limit: int = 500,
) -> int:
    """Number of bells that were rung for rows left lying; the step ``dispatch`` is rung besides, as a whole.

    Each claim counts as a try once it runs out, so that a job whose message kills its function, or is never served,
    does not wait for ever: after ``max_step_tries`` it fails by name, and a webhook is given up.

    Raises:
        Unavailable: A store or queue does not answer; what could not be rung for is left as it was.
    """
    if not step_queue.is_used:
        return 0
    num_rung = 0
    for step, lease_s in _LEASE_S.items():
        waiting = []
        for job in jobs.claim(step, limit=limit, lease_s=lease_s, due_for_s=_DUE_FOR_S):
            if job.step_tries > settings.max_step_tries:
                _give_up(job, jobs=jobs, deliveries=deliveries, clock=clock)
            else:
                waiting.append(job)
        num_rung += _send(step, waiting, jobs.save, step_queue)
    batch_rows = batches.claim(limit=limit, lease_s=_BATCH_LEASE_S, due_for_s=_DUE_FOR_S)
    num_rung += _send("batch", batch_rows, batches.save, step_queue)
    step_queue.ring(tenant_id="reaper")
    return num_rung


def _send(step: str, rows: Sequence[R], save: Callable[[R], R], step_queue: StepQueue) -> int:
    """Ring for each; when the queue fails, end the claims of those left over, without counting a try."""
    for number, row in enumerate(rows):
        try:
            step_queue.send(step, row.id, tenant_id=row.tenant_id)
        except Unavailable:
            for left in rows[number:]:
                with suppress(Conflict, NotFound):  # somebody served it
                    save(left)
            raise
    return len(rows)


def _give_up(job: Job, *, jobs: JobStore, deliveries: DeliveryLog, clock: Clock) -> None:
    now = clock.now()
    reason = f"Nothing has served this in {job.step_tries} tries."
    if job.step is JobStep.NOTIFY:
        deliveries.add(Delivery(job_id=job.id, event_id=event_id(job), at=now, status=None, error=reason))

    def over(present: Job) -> Job | None:
        if present.step is not job.step:
            return None
        if present.step is JobStep.NOTIFY:
            return replace(present, step=JobStep.NONE)
        failure = Failure(code="prepare_failed", detail=reason)
        return finish(present, JobState.FAILED, now=now, failure=failure)

    revise(job.id, over, get=jobs.get, save=jobs.save)
