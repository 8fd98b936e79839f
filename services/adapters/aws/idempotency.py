"""First answers by ``Idempotency-Key`` in DynamoDB."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, Final

from services.adapters.aws.clients import Clients
from services.adapters.aws.items import Item
from services.adapters.aws.table import ConditionFailed, Table
from services.adapters.instants import to_expiry, to_micros
from services.domain.errors import Conflict, ContentRejected
from services.ports.clock import Clock
from services.ports.idempotency import Reservation, StoredAnswer

_KEPT: Final = timedelta(hours=24)
_ANSWERED_WITHIN: Final = timedelta(seconds=30)  # no gateway waits longer for an answer
_UNANSWERED: Final = "#resource_id = :resource_id AND attribute_not_exists(#status)"


class DynamoIdempotencyStore:
    """``IdempotencyStore`` in one table.

    A first comer is one conditional write; whoever fails it sees in the refusal what is stored. DynamoDB removes old
    keys in its own time, so their age is looked at here, too.
    """

    def __init__(self, clients: Clients, *, table_prefix: str, clock: Clock) -> None:
        self._table = Table(clients, f"{table_prefix}idempotency")
        self._clock = clock

    def reserve(
        self, tenant_id: str, key: str, *, fingerprint: str, new_resource_id: str
    ) -> Reservation | StoredAnswer:
        now = self._clock.now()
        item: Item = {
            "tenant_id": tenant_id,
            "key": key,
            "fingerprint": fingerprint,
            "resource_id": new_resource_id,
            "reserved_until": to_micros(now + _ANSWERED_WITHIN),
            "created_at": to_micros(now),
            "expires_at": to_expiry(now + _KEPT),
        }
        try:
            self._table.put(
                item,
                condition="attribute_not_exists(#key) OR #created_at < :oldest",
                values={"oldest": to_micros(now - _KEPT)},
            )
        except ConditionFailed as failure:
            stored = failure.item
            if stored is None:  # abandoned in this very moment
                raise _in_flight() from failure
            return self._repeated(stored, fingerprint, now)
        return Reservation(tenant_id=tenant_id, key=key, resource_id=new_resource_id)

    def finish(self, reservation: Reservation, answer: StoredAnswer) -> None:
        try:
            self._table.update(
                _key_of(reservation),
                "#status = :status, #headers = :headers, #body = :body",
                condition=_UNANSWERED,
                values={
                    "resource_id": reservation.resource_id,
                    "status": answer.status,
                    "headers": json.dumps(dict(answer.headers)),
                    "body": answer.body,
                },
            )
        except ConditionFailed:  # answered by whoever took over
            return
        except ContentRejected:  # too long to keep: a repeat is answered anew, about the same resource
            self.release(reservation)

    def abandon(self, reservation: Reservation) -> None:
        self._table.delete(_key_of(reservation), condition=_UNANSWERED, values={"resource_id": reservation.resource_id})

    def release(self, reservation: Reservation) -> None:
        with suppress(ConditionFailed):
            self._table.update(
                _key_of(reservation),
                "#reserved_until = :nothing",
                condition=_UNANSWERED,
                values={"resource_id": reservation.resource_id, "nothing": 0},
            )

    def forget(self, tenant_id: str) -> None:
        keys = self._table.query(
            "#tenant_id = :tenant", {"tenant": tenant_id}, consistent=True, attributes=("tenant_id", "key")
        )
        self._table.delete_all(keys)

    def _repeated(self, stored: dict[str, Any], fingerprint: str, now: datetime) -> Reservation | StoredAnswer:
        if stored["fingerprint"] != fingerprint:
            raise ContentRejected(
                "This Idempotency-Key came with another request before; use a new one.",
                code="idempotency_key_reused",
                param="Idempotency-Key",
            )
        if "status" in stored:
            return StoredAnswer(status=stored["status"], body=stored["body"], headers=json.loads(stored["headers"]))
        if stored["reserved_until"] > to_micros(now):
            raise _in_flight()
        reservation = Reservation(tenant_id=stored["tenant_id"], key=stored["key"], resource_id=stored["resource_id"])
        try:
            self._table.update(
                _key_of(reservation),
                "#reserved_until = :until",
                condition=f"{_UNANSWERED} AND #reserved_until = :seen",
                values={
                    "resource_id": reservation.resource_id,
                    "seen": stored["reserved_until"],
                    "until": to_micros(now + _ANSWERED_WITHIN),
                },
            )
        except ConditionFailed as failure:  # another repeat was faster
            raise _in_flight() from failure
        return reservation


def _key_of(reservation: Reservation) -> Item:
    return {"tenant_id": reservation.tenant_id, "key": reservation.key}


def _in_flight() -> Conflict:
    return Conflict(
        "A request with this Idempotency-Key is being answered; try again in a moment.",
        code="idempotency_key_in_flight",
        param="Idempotency-Key",
        retryable=True,
    )
