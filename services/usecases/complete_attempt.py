"""Take in how an attempt ended: once, whatever is repeated, late or lost."""

from __future__ import annotations

from contextlib import suppress

from services.domain.engine import AnswerState, EngineAnswer, EngineKind, Failure
from services.domain.errors import Conflict, InvalidRequest, NotFound
from services.domain.job import DISPATCHED, Job, JobState, JobStep, Result
from services.domain.object_key import ObjectKey, Retention
from services.domain.outcome import fail_or_retry, finish
from services.domain.pricing import PriceList, work_of
from services.ports.clock import Clock
from services.ports.jobs import JobStore
from services.ports.objects import ObjectStore
from services.ports.products import ProductStore
from services.ports.usage import UsageStore
from services.settings import Settings
from services.usecases.record_usage import record_usage
from services.usecases.revise import revise
from services.usecases.settle_product import quality_fault, reject_product, settle_from


def complete_attempt(
    answer: EngineAnswer,
    *,
    jobs: JobStore,
    objects: ObjectStore,
    usage: UsageStore,
    clock: Clock,
    settings: Settings,
    products: ProductStore,
    prices: PriceList | None = None,
) -> Job | None:
    """The job after the answer; None when it has been deleted.

    Answers of other attempts and of final jobs change nothing. The row is saved first, usage and what became of a
    product are recorded after, all idempotent: when a crash comes between, the repeated notice records them.

    Raises:
        Conflict: ``attempt_not_recorded`` (retryable): the answer overtook the row that dispatch is about to save.
        Unavailable: A store does not answer; to be tried again.
    """
    try:
        job = jobs.get(answer.job_id)
        failure = None
        if _is_awaited(job, answer):
            failure, reasons = quality_fault(answer, job)  # a product that cannot be used has no files, either
            if reasons and failure is not None:
                reject_product(job, reasons, products=products)
            failure = failure or _fault(answer, job, objects)
        job = revise(
            answer.job_id,
            lambda job: _ended(job, answer, failure, clock, settings, prices) if _is_awaited(job, answer) else None,
            get=jobs.get,
            save=jobs.save,
        )
    except NotFound as error:
        if error.code != "job_not_found":
            raise
        _remove_orphans(answer, objects)
        return None
    record_usage(job, usage=usage)
    settle_from(job, products=products, objects=objects)
    return job


def _is_awaited(job: Job, answer: EngineAnswer) -> bool:
    """Raises:
    Conflict: ``attempt_not_recorded``.
    """
    if job.step in DISPATCHED and answer.attempt == job.attempt + 1:
        raise Conflict(
            f"Attempt {answer.attempt} of job {job.id} is not recorded yet.",
            code="attempt_not_recorded",
            retryable=True,
        )
    return job.step is JobStep.RUN and answer.attempt == job.attempt


def _ended(
    job: Job,
    answer: EngineAnswer,
    failure: Failure | None,
    clock: Clock,
    settings: Settings,
    prices: PriceList | None,
) -> Job:
    now = clock.now()
    if answer.state is AnswerState.CANCELED:
        return finish(job, JobState.CANCELED, now=now)
    if failure is not None:
        return fail_or_retry(job, failure, now=now, max_attempts=settings.max_attempts)
    cost = None
    if prices is not None and job.kind is not EngineKind.NOOP:
        cost = prices.cost(work_of(job.request, usage=answer.usage, facts=answer.facts))
    result = Result(outputs=answer.outputs, facts=answer.facts, usage=answer.usage, cost=cost)
    return finish(job, JobState.SUCCEEDED, now=now, result=result)


def _fault(answer: EngineAnswer, job: Job, objects: ObjectStore) -> Failure | None:
    """What is wrong with the answer's result; None when it can be handed to the client."""
    if answer.state is AnswerState.CANCELED:
        return None
    if answer.state is AnswerState.FAILED:
        return answer.failure or Failure(code="engine_failed", detail="The engine gave no reason.", retryable=True)
    if not answer.outputs and job.kind is not EngineKind.NOOP:
        return Failure(code="empty_output", detail="The engine made no file.", retryable=True)
    for output in answer.outputs:
        try:
            key = ObjectKey.parse(output.key)
            owner = (key.retention, key.tenant_id, key.owner_id, key.attempt)
            if owner != (Retention.RESULT, job.tenant_id, job.id, job.attempt):
                return Failure(code="foreign_output", detail=f"{output.name} is not an object of this attempt.")
            size_bytes = objects.head(key).size_bytes
        except (InvalidRequest, NotFound):
            return Failure(code="output_missing", detail=f"{output.name} is not in the store.", retryable=True)
        if size_bytes == 0:
            return Failure(code="empty_output", detail=f"{output.name} has no bytes.", retryable=True)
        if size_bytes != output.size_bytes:
            detail = f"{output.name} has {size_bytes} bytes, not {output.size_bytes}."
            return Failure(code="damaged_output", detail=detail, retryable=True)
    return None


def _remove_orphans(answer: EngineAnswer, objects: ObjectStore) -> None:
    """Delete what an attempt made for a job that was deleted meanwhile."""
    for output in answer.outputs:
        with suppress(InvalidRequest):  # an answer that names no object must not come again for ever
            key = ObjectKey.parse(output.key)
            if key.owner_id == answer.job_id:
                objects.delete_owner(key.tenant_id, key.owner_id)
