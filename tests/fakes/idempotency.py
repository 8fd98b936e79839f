"""First answers in a dict."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import datetime, timedelta

from services.domain.errors import Conflict, ContentRejected
from services.ports.clock import Clock
from services.ports.idempotency import Reservation, StoredAnswer


@dataclass
class _Entry:
    fingerprint: str
    resource_id: str
    created_at: datetime
    reserved_until: datetime
    answer: StoredAnswer | None = None


class FakeIdempotencyStore:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._entries: dict[tuple[str, str], _Entry] = {}

    def reserve(
        self, tenant_id: str, key: str, *, fingerprint: str, new_resource_id: str
    ) -> Reservation | StoredAnswer:
        now = self._clock.now()
        with self._lock:
            entry = self._entries.get((tenant_id, key))
            if entry is None or entry.created_at < now - timedelta(hours=24):
                entry = self._entries[tenant_id, key] = _Entry(fingerprint, new_resource_id, now, now)
            if entry.fingerprint != fingerprint:
                raise ContentRejected("Another body.", code="idempotency_key_reused", param="Idempotency-Key")
            if entry.answer is not None:
                return entry.answer
            if entry.reserved_until > now:
                raise Conflict("In flight.", code="idempotency_key_in_flight", param="Idempotency-Key", retryable=True)
            entry.reserved_until = now + timedelta(seconds=30)
            return Reservation(tenant_id=tenant_id, key=key, resource_id=entry.resource_id)

    def finish(self, reservation: Reservation, answer: StoredAnswer) -> None:
        entry = self._unanswered(reservation)
        if entry is not None:
            entry.answer = answer

    def abandon(self, reservation: Reservation) -> None:
        if self._unanswered(reservation) is not None:
            del self._entries[reservation.tenant_id, reservation.key]

    def forget(self, tenant_id: str) -> None:
        self._entries = {at: entry for at, entry in self._entries.items() if at[0] != tenant_id}

    def release(self, reservation: Reservation) -> None:
        entry = self._unanswered(reservation)
        if entry is not None:
            entry.reserved_until = self._clock.now()

    def _unanswered(self, reservation: Reservation) -> _Entry | None:
        entry = self._entries.get((reservation.tenant_id, reservation.key))
        if entry is None or entry.resource_id != reservation.resource_id or entry.answer is not None:
            return None
        return entry
