"""The engine's log: one JSON object a line on standard error, with the attempt it belongs to.

The keys are those of the functions' logs, so that one query finds a job in both.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Final

from services.domain.engine import EngineRequest

_attempt: Final[ContextVar[Mapping[str, str | int] | None]] = ContextVar("attempt", default=None)


class JsonLines(logging.Formatter):
    """A record as JSON; of an exception its class and place, not its message, which may quote a customer."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        values: dict[str, object] = {
            "level": record.levelname,
            "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "service": "spokesmodel-engine",
            "logger": record.name,
            "message": record.getMessage(),
            **(_attempt.get() or {}),
            **getattr(record, "values", {}),
        }
        if record.exc_info and record.exc_info[0] is not None:
            values["error"] = record.exc_info[0].__name__
            values["frames"] = "".join(traceback.format_tb(record.exc_info[2]))
        return json.dumps(values, ensure_ascii=False, default=str)


def start() -> None:
    """Log so from now on, every module of the process."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(handlers=[handler], level=logging.INFO, force=True)
    for chatty in ("uvicorn", "botocore", "urllib3", "httpx"):
        logging.getLogger(chatty).setLevel(logging.WARNING)


@contextmanager
def serving(request: EngineRequest) -> Iterator[None]:
    """Put the attempt on every line that this thread logs meanwhile."""
    keys: dict[str, str | int] = {
        "job_id": request.job_id,
        "tenant_id": request.tenant_id,
        "attempt": request.attempt,
        "request_id": request.inference_id,
        "stage": "run",
    }
    token = _attempt.set(keys)
    try:
        yield
    finally:
        _attempt.reset(token)
