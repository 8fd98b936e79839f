"""What engines say, as it travels: ``{"type": "answer", "answer": ...}`` or ``{"type": "event", "event": ...}``."""

from __future__ import annotations

import json
from typing import Any

from services.domain import wire
from services.domain.engine import EngineAnswer, EngineEvent
from services.domain.errors import InvalidRequest


def parse_notice(body: str) -> EngineAnswer | EngineEvent:
    """The answer or event in ``body``.

    Raises:
        InvalidRequest: ``malformed_payload``.
    """
    return read_notice(notice_values(body))


def notice_values(body: str) -> Any:
    """The JSON of ``body``.

    Raises:
        InvalidRequest: ``malformed_payload``.
    """
    try:
        return json.loads(body)
    except ValueError as error:
        raise InvalidRequest("An engine's notice is JSON.", code="malformed_payload") from error


def read_notice(values: Any) -> EngineAnswer | EngineEvent:
    """The answer or event in JSON values.

    Raises:
        InvalidRequest: ``malformed_payload``.
    """
    match values:
        case {"type": "answer", "answer": answer}:
            return wire.from_values(EngineAnswer, answer)
        case {"type": "event", "event": event}:
            return wire.from_values(EngineEvent, event)
        case _:
            raise InvalidRequest("Neither an answer nor an event of an engine.", code="malformed_payload")


def item_named(body: str) -> str:
    """Id of the job or batch that a queue's message is about; "" when it tells none.

    Knows bells, what engines say, and SageMaker's notices, plain or wrapped by SNS; gives nothing else of a body away.
    """
    try:
        values = json.loads(body)
        if isinstance(values, dict) and "Message" in values:
            values = json.loads(values["Message"])
    except (ValueError, TypeError):
        return ""
    match values:
        case {"answer": {"job_id": str(name)}} | {"event": {"job_id": str(name)}}:
            return name
        case {"job_id": str(name)} | {"batch_id": str(name)}:
            return name
        case {"inferenceId": str(attempt)}:  # job and number
            return attempt.rpartition(".")[0]
        case _:
            return ""
