"""What views of jobs, batches and events share."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from services.domain.engine import Failure
from services.ports.webhooks import Delivery


def rfc3339(moment: datetime) -> str:
    """A moment of UTC with milliseconds, such as ``2026-11-30T09:15:00.123Z``."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def view_failure(failure: Failure | None) -> dict[str, Any] | None:
    """JSON values, in the words of a problem document."""
    if failure is None:
        return None
    return {
        "code": failure.code,
        "detail": failure.detail,
        "param": failure.param,
        "retryable": failure.retryable,
    }


def view_deliveries(deliveries: Sequence[Delivery]) -> list[dict[str, Any]]:
    """JSON values of a webhook's log."""
    return [
        {"event_id": one.event_id, "at": rfc3339(one.at), "status": one.status, "error": one.error}
        for one in deliveries
    ]
