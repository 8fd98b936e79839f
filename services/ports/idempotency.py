"""First answers by ``Idempotency-Key``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAnswer:
    status: int
    body: str
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """The right to answer a key for the first time.

    Attributes:
        resource_id: Id for what the request creates. It survives a crash: whoever takes over an abandoned
            reservation gets the same one, so that nothing is created twice.
    """

    tenant_id: str
    key: str
    resource_id: str


class IdempotencyStore(Protocol):
    """Keys are forgotten a day after first use; a reservation without an answer lasts as long as a request may."""

    def reserve(
        self, tenant_id: str, key: str, *, fingerprint: str, new_resource_id: str
    ) -> Reservation | StoredAnswer:
        """The stored answer, or the right to give it.

        Raises:
            ContentRejected: ``idempotency_key_reused``, when the key came with another body.
            Conflict: ``idempotency_key_in_flight``.
        """
        ...

    def finish(self, reservation: Reservation, answer: StoredAnswer) -> None: ...

    def abandon(self, reservation: Reservation) -> None:
        """Forget a reservation whose request was refused, so that a corrected one may use the key."""
        ...

    def forget(self, tenant_id: str) -> None:
        """Remove every key of a tenant that is being deleted."""
        ...

    def release(self, reservation: Reservation) -> None:
        """End the right to answer after an unforeseen failure; the next repeat gets the same ``resource_id``."""
        ...
