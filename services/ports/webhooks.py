"""Calling clients back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One try to deliver an event; ``status`` is the HTTP status, None when there was no answer."""

    job_id: str
    event_id: str
    at: datetime
    status: int | None
    error: str | None = None


class WebhookSender(Protocol):
    def post(self, url: str, *, body: bytes, headers: Mapping[str, str], timeout_s: float) -> int:
        """Send once, following no redirects; the HTTP status.

        Raises:
            Unavailable: ``callback_unreachable``.
            ContentRejected: ``callback_url_refused`` (scheme, or an address that may not be called).
        """
        ...


class DeliveryLog(Protocol):
    def add(self, delivery: Delivery) -> None: ...

    def list(self, job_id: str) -> Sequence[Delivery]: ...

    def forget(self, job_id: str) -> None:
        """Remove the deliveries of a job that is being deleted."""
        ...
