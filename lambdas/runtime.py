"""What every function shares: the container of adapters, built at the first event, and how records are served.

Every line that is logged while a job is served carries ``job_id``, ``tenant_id``, ``attempt``, ``stage`` and
``request_id``; lines of other modules, too, when their logger's name begins with ``spokesmodel.``.
"""

from __future__ import annotations

import json
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from lambdas import metrics
from services.adapters import tracing
from services.bootstrap import Services, bootstrap
from services.domain.batch import Batch
from services.domain.errors import InvalidRequest, NotFound, SpokesmodelError
from services.domain.job import Job, JobStep
from services.domain.retry import backoff_s
from services.usecases.put_back import put_back

R = TypeVar("R", Job, Batch)
logger: Final = Logger(service="spokesmodel")
_lock: Final = threading.Lock()
_services: Services | None = None


def services() -> Services:
    """This process's container, built when first asked for."""
    global _services
    if _services is None:
        with _lock:
            if _services is None:
                _services = bootstrap()
                tracing.start(_services.settings)
    return _services


def use_services(container: Services | None) -> None:
    """Serve with ``container`` from now on; None builds one from the environment when next asked for."""
    global _services
    with _lock:
        _services = container


@contextmanager
def log_keys(**keys: str | int | None) -> Iterator[None]:
    """Put ``keys`` on every line that this thread logs meanwhile; a key that is None is left out."""
    before = logger.thread_safe_get_current_keys()
    logger.thread_safe_append_keys(**{name: value for name, value in keys.items() if value is not None})
    try:
        yield
    finally:
        logger.thread_safe_clear_keys()
        logger.thread_safe_append_keys(**before)


def serve_records(event: Mapping[str, Any], context: Any, serve: Callable[[str], None]) -> dict[str, Any]:
    """Give ``serve`` the body of each SQS record; the answer names the records that must come again.

    Logs carry ids and error codes, no text that a client wrote and no message of a foreign exception.
    """

    def serve_record(record: SQSRecord) -> None:
        with log_keys(message_id=record.message_id, tenant_id=_group(record)):
            try:
                serve(record.body)
            except Exception as error:
                log_failure("record failed", error)
                _put_off(record)
                raise

    # One processor an event: it holds the event's state, and on one machine events are served by several threads.
    processor = BatchProcessor(event_type=EventType.SQS, raise_on_entire_batch_failure=False)
    with log_keys(request_id=getattr(context, "aws_request_id", None)):
        answer = process_partial_response(
            event=dict(event), record_handler=serve_record, processor=processor, context=context
        )
    tracing.flush()
    return dict(answer)


def serve_steps(
    event: Mapping[str, Any], context: Any, step: Callable[[str], Job | None], *, stage: str
) -> dict[str, Any]:
    """``serve_records`` for bodies ``{"job_id": ...}``; a job that has been deleted is nothing to come again for."""
    return serve_records(event, context, lambda body: serve_job(job_id_of(body), step, stage=stage))


def counted(step: Callable[[str], Job | None], of: JobStep) -> Callable[[str], Job | None]:
    """``step``, whose failed tries are counted on the row, which then rings again by itself.

    So a job ends by name after ``max_step_tries``, whatever its messages come to. A record fails only when the row
    cannot be written either. On one machine it fails each time: the runner counts.
    """

    def serve(job_id: str) -> Job | None:
        try:
            return step(job_id)
        except Exception as error:
            ours = services()
            is_gone = isinstance(error, NotFound) and error.code == "job_not_found"
            if is_gone or not ours.step_queue.is_used:
                raise
            note_failed_step(error)
            return put_back(job_id, of, jobs=ours.jobs, clock=ours.clock)

    return serve


def note_failed_step(error: Exception) -> None:
    """The line and the metric of a step that failed while its record does not."""
    log_failure("step failed", error)
    settings = services().settings
    if settings.profile == "aws":
        metrics.step_failed(stack=settings.table_prefix.removesuffix("-"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Served(Generic[R]):
    """What serving a kind of row has of its own.

    Attributes:
        id_key: What its id is called in logs and traces.
        gone: The code of a row that is not there.
        get: Reads the row.
        keys: What every line says of the row besides its id.
        log: The line that says where the row is now.
        measure: Sends the metrics of a row before and after, which took some seconds.
    """

    id_key: str
    gone: str
    get: Callable[[str], R]
    keys: Callable[[R], dict[str, str | int]]
    log: Callable[[R], None]
    measure: Callable[[R, R, float], None]


def serve_row(row_id: str, step: Callable[[str], R | None], *, stage: str, of: Served[R]) -> None:
    """Let ``step`` serve one row of a record: with its keys on each line, its trace continued, the stage measured.

    The row is read before: what its keys are, and what the step changed, is then known whatever happens.
    """
    outer = logger.thread_safe_get_current_keys()
    ids = {of.id_key: row_id}
    logger.thread_safe_append_keys(stage=stage, **ids)  # kept when it fails: that is a line of its caller's
    started = time.monotonic()
    before: R | None
    try:
        before = of.get(row_id)
        logger.thread_safe_append_keys(**of.keys(before))
    except NotFound:
        before = None  # deleted: the step knows what is left to do
    keys = {} if before is None else {"tenant_id": str(of.keys(before)["tenant_id"])}
    with tracing.span(stage, parent=getattr(before, "traceparent", None), **ids, **keys):
        try:
            after = step(row_id)
        except NotFound as error:
            if error.code != of.gone:
                raise
            after = None
        if after is not None:
            of.log(after)
            if before is not None and services().settings.profile == "aws":
                of.measure(before, after, time.monotonic() - started)
    logger.thread_safe_clear_keys()
    logger.thread_safe_append_keys(**outer)


def serve_job(job_id: str, step: Callable[[str], Job | None], *, stage: str) -> None:
    """``serve_row`` of a job."""

    def log(job: Job) -> None:
        tracing.note(attempt=job.attempt, state=job.state, step=job.step)
        log_job(job)

    kind: Served[Job] = Served(
        id_key="job_id",
        gone="job_not_found",
        get=services().jobs.get,
        keys=lambda job: {"tenant_id": job.tenant_id, "attempt": job.attempt},
        log=log,
        measure=lambda before, after, duration_s: metrics.served(stage, before, after, duration_s=duration_s),
    )
    serve_row(job_id, step, stage=stage, of=kind)


def log_job(job: Job | None) -> None:
    """One line that says where a job is."""
    if job is not None:
        logger.info("job served", job_id=job.id, attempt=job.attempt, **_where(job))


def log_batch(batch: Batch) -> None:
    """One line that says where a batch is."""
    logger.info("batch served", batch_id=batch.id, counts=dict(batch.counts), **_where(batch))


def _where(row: Job | Batch) -> dict[str, Any]:
    failure = None if row.failure is None else row.failure.code
    return {"tenant_id": row.tenant_id, "state": row.state, "step": row.step, "failure": failure}


def log_submitted(job: Job) -> None:
    """A line for a job that was accepted; the outbox counts it."""
    logger.info(
        "job accepted",
        job_id=job.id,
        tenant_id=job.tenant_id,
        attempt=job.attempt,
        stage="submit",
        kind=job.kind,
        state=job.state,
    )


def log_failure(message: str, error: Exception) -> None:
    """A line that says by code, or by class and place, what broke."""
    if isinstance(error, SpokesmodelError):
        logger.warning(message, code=error.code, retryable=error.retryable)
    else:
        frames = "".join(traceback.format_tb(error.__traceback__))
        logger.error(message, error=type(error).__name__, frames=frames)


def _put_off(record: SQSRecord) -> None:
    """Let a record that failed come again soon, then ever later, instead of after the queue's visibility timeout."""
    if _services is not None:
        num_tries = int(record.attributes.approximate_receive_count)
        delay_s = backoff_s(num_tries)
        _services.step_queue.put_off(record.event_source_arn, record.receipt_handle, delay_s=delay_s)


def _group(record: SQSRecord) -> str | None:
    """The tenant that a record belongs to, where its queue is fair by tenant."""
    group: str | None = record.attributes.get("MessageGroupId")
    return group


def job_id_of(body: str) -> str:
    """The job that a step's message names.

    Raises:
        InvalidRequest: ``malformed_payload``.
    """
    try:
        job_id = json.loads(body)["job_id"]
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidRequest("A step's message is an object with job_id.", code="malformed_payload") from error
    if not isinstance(job_id, str):
        raise InvalidRequest("job_id is a string.", code="malformed_payload", param="job_id")
    return job_id
