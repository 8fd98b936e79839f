"""What every function shares: the container of adapters, built at the first event, and how records are served."""

from __future__ import annotations

import json
import threading
import traceback
from collections.abc import Callable, Mapping
from typing import Any, Final

from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from services.bootstrap import Services, bootstrap
from services.domain.errors import InvalidRequest, NotFound, SpokesmodelError
from services.domain.job import Job

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
    return _services


def use_services(container: Services | None) -> None:
    """Serve with ``container`` from now on; None builds one from the environment when next asked for."""
    global _services
    with _lock:
        _services = container


def serve_records(event: Mapping[str, Any], context: Any, serve: Callable[[str], None]) -> dict[str, Any]:
    """Give ``serve`` the body of each SQS record; the answer names the records that must come again.

    Logs carry ids and error codes, no text that a client wrote and no message of a foreign exception.
    """

    def serve_record(record: SQSRecord) -> None:
        try:
            serve(record.body)
        except Exception as error:
            _log_failure(record.message_id, error)
            raise

    # One processor an event: it holds the event's state, and on one machine events are served by several threads.
    processor = BatchProcessor(event_type=EventType.SQS, raise_on_entire_batch_failure=False)
    answer = process_partial_response(
        event=dict(event), record_handler=serve_record, processor=processor, context=context
    )
    return dict(answer)


def serve_steps(event: Mapping[str, Any], context: Any, step: Callable[[str], Job | None]) -> dict[str, Any]:
    """``serve_records`` for bodies ``{"job_id": ...}``; a job that has been deleted is nothing to come again for."""

    def serve(body: str) -> None:
        try:
            log_job(step(_job_id(body)))
        except NotFound as error:
            if error.code != "job_not_found":
                raise

    return serve_records(event, context, serve)


def log_job(job: Job | None) -> None:
    """One line that says where a job is."""
    if job is not None:
        logger.info(
            "job served",
            job_id=job.id,
            tenant_id=job.tenant_id,
            state=job.state,
            step=job.step,
            attempt=job.attempt,
            failure=None if job.failure is None else job.failure.code,
        )


def _job_id(body: str) -> str:
    try:
        job_id = json.loads(body)["job_id"]
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidRequest("A step's message is an object with job_id.", code="malformed_payload") from error
    if not isinstance(job_id, str):
        raise InvalidRequest("job_id is a string.", code="malformed_payload", param="job_id")
    return job_id


def _log_failure(message_id: str, error: Exception) -> None:
    if isinstance(error, SpokesmodelError):
        logger.warning("record failed", message_id=message_id, code=error.code, retryable=error.retryable)
    else:
        frames = "".join(traceback.format_tb(error.__traceback__))
        logger.error("record failed", message_id=message_id, error=type(error).__name__, frames=frames)
