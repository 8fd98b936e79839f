"""Notices on AWS: our container's own, and SageMaker's about an asynchronous invocation, which SNS wraps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from services.adapters.aws.clients import Clients, error_code, translated
from services.domain import wire
from services.domain.engine import AnswerState, EngineAnswer, EngineEvent, Failure
from services.domain.errors import InvalidRequest
from services.domain.notice import notice_values, read_notice

_MAX_ANSWER_BYTES: Final = 1024 * 1024  # keys and facts; media lie elsewhere
_GONE: Final = ("NoSuchKey", "404")


class SageMakerNotices:
    """``services.ports.notices.NoticeReader``.

    A success notice names the object that holds what ``/invocations`` returned: an ``EngineAnswer``. A failure notice
    means that the container gave none: the invocation timed out, expired in the queue, or its instance went away.

    Args:
        bucket: Where results may lie; a notice that names another one is refused.
    """

    def __init__(self, clients: Clients, *, bucket: str) -> None:
        self._clients = clients
        self._bucket = bucket

    def read(self, body: str) -> EngineAnswer | EngineEvent:
        """What the message says, read from where its result lies.

        Raises:
            InvalidRequest: ``malformed_payload``.
            Unavailable: ``store_unavailable`` and others of ``translated``.
        """
        values = notice_values(body)
        if isinstance(values, dict) and values.get("Type") == "Notification":
            values = notice_values(str(values.get("Message", "")))
        match values:
            case {"eventSource": "aws:sagemaker", "inferenceId": str(inference_id)}:
                return self._answer(inference_id, values)
            case _:
                return read_notice(values)

    def _answer(self, inference_id: str, values: Mapping[str, Any]) -> EngineAnswer:
        job_id, _, attempt = inference_id.rpartition(".")
        if not job_id or not attempt.isascii() or not attempt.isdigit():
            raise InvalidRequest("The notice is about no attempt of ours.", code="malformed_payload")
        match values:
            case {"invocationStatus": "Completed", "responseParameters": {"outputLocation": str(location)}}:
                answer = self._output(location)
            case {"invocationStatus": "Failed"}:
                return _failed(job_id, int(attempt), "engine_failed", "The endpoint gave no answer to this attempt.")
            case _:
                raise InvalidRequest("The notice says neither success nor failure.", code="malformed_payload")
        if answer is None:
            return _failed(job_id, int(attempt), "output_missing", "The endpoint's answer is not in the store.")
        if (answer.job_id, answer.attempt) != (job_id, int(attempt)):
            raise InvalidRequest("The answer is to another attempt than its notice.", code="malformed_payload")
        return answer

    def _output(self, location: str) -> EngineAnswer | None:
        from botocore.exceptions import ClientError

        bucket, _, key = location.removeprefix("s3://").partition("/")
        if bucket != self._bucket or not key:
            raise InvalidRequest("The notice names an object outside the product's bucket.", code="malformed_payload")
        with translated("the bucket"):
            try:
                answer = self._clients.get("s3").get_object(Bucket=bucket, Key=key)
                data: bytes = answer["Body"].read(_MAX_ANSWER_BYTES + 1)
            except ClientError as error:
                if error_code(error) not in _GONE:
                    raise
                return None
        if len(data) > _MAX_ANSWER_BYTES:
            raise InvalidRequest(f"An answer is at most {_MAX_ANSWER_BYTES} bytes.", code="malformed_payload")
        return wire.decode(EngineAnswer, data)


def _failed(job_id: str, attempt: int, code: str, detail: str) -> EngineAnswer:
    """SageMaker's own words stay out: a client reads this."""
    failure = Failure(code=code, detail=detail, retryable=True)
    return EngineAnswer(job_id=job_id, attempt=attempt, state=AnswerState.FAILED, failure=failure)
