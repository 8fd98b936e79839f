"""Serves the step ``dispatch``: a prepared job is handed to the engine when there is room.

On AWS its messages are bells: ``{"ring": "dispatch"}`` says that a job came or a slot is free, and whoever's turn it is
gets the room there is. So nothing spins while the engine is full, and a tenant with ten thousand waiting jobs gets no
further ahead with ten thousand messages. On one machine the runner claims in the same way and names the jobs:
``{"job_id": ...}``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from lambdas.runtime import job_id_of, note_failed_step, serve_job, serve_records, services
from services.domain.errors import Conflict, NotFound, Unavailable
from services.domain.job import Job, JobStep
from services.domain.retry import backoff_s
from services.usecases.claim_step import claim_step
from services.usecases.dispatch_attempt import dispatch_attempt

_BELL: Final = {"ring": "dispatch"}
_ROUND: Final = 10
_LEASE_S: Final = 60.0  # twice the function's timeout (template.yaml)
_TIME_FOR_A_ROUND_MS: Final = 10_000
_LONGEST_DELAY_S: Final = 300.0  # so that the tries of a job last through an hour without the engine


def lambda_handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Partial batch response; a bell fails when the store or the engine's capacity cannot be asked."""
    has_rung = False

    def serve(body: str) -> None:
        nonlocal has_rung
        if not _is_bell(body):
            serve_job(job_id_of(body), _dispatch, stage="dispatch")
        elif not has_rung:  # bells that come together are one
            _serve_bell(lambda: context is None or context.get_remaining_time_in_millis() > _TIME_FOR_A_ROUND_MS)
            has_rung = True

    return serve_records(event, context, serve)


def _is_bell(body: str) -> bool:
    try:
        return bool(json.loads(body) == _BELL)
    except ValueError:
        return False


def _serve_bell(has_time: Callable[[], bool]) -> None:
    """Dispatch jobs, turn about between tenants, until none waits or there is no more room; who sits and waits first.

    Raises:
        Unavailable: The store or one lane's engine cannot be asked; the other lane was served all the same.
    """
    failed: Unavailable | None = None
    for step in (JobStep.DISPATCH_NOW, JobStep.DISPATCH):
        try:
            _serve_lane(step, has_time)
        except Unavailable as error:
            failed = error
    if failed is not None:
        raise failed


def _serve_lane(step: JobStep, has_time: Callable[[], bool]) -> None:
    ours = services()
    while True:
        claimed = claim_step(
            step,
            limit=_ROUND,
            lease_s=_LEASE_S,
            jobs=ours.jobs,
            engine=ours.engine,
            tenants=ours.tenants,
        )
        for number, job in enumerate(claimed):
            try:
                serve_job(job.id, _dispatch, stage="dispatch")
            except Exception as error:
                note_failed_step(error)
                _try_later(job, claimed[number + 1 :])
                return
        if len(claimed) < _ROUND:
            return
        if not has_time():
            ours.step_queue.ring(tenant_id=claimed[-1].tenant_id)
            return


def _try_later(failed: Job, others: Sequence[Job]) -> None:
    """Count a try of the job that failed; what was claimed after it is served with the next bell, in its turn."""
    ours = services()
    delay_s = backoff_s(failed.step_tries + 1, longest_s=_LONGEST_DELAY_S)
    ours.jobs.release(failed.id, delay_s=delay_s)
    for job in others:
        with suppress(Conflict, NotFound):  # canceled, or deleted
            ours.jobs.save(job)
    ours.step_queue.ring(tenant_id=failed.tenant_id, delay_s=min(delay_s, 5.0) if others else delay_s)


def _dispatch(job_id: str) -> Job:
    ours = services()
    return dispatch_attempt(
        job_id,
        jobs=ours.jobs,
        engine=ours.engine,
        tenants=ours.tenants,
        objects=ours.objects,
        consents=ours.consents,
        clock=ours.clock,
        settings=ours.settings,
    )
