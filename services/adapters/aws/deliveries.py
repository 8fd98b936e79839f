"""The log of webhook deliveries in DynamoDB."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from datetime import timedelta

from services.adapters.aws.clients import Clients
from services.adapters.aws.table import Table
from services.adapters.instants import sortable, to_expiry
from services.domain import wire
from services.ports.webhooks import Delivery


class DynamoDeliveryLog:
    """``services.ports.webhooks.DeliveryLog`` in one table, whose items DynamoDB removes some time after ``kept``."""

    def __init__(self, clients: Clients, *, table_prefix: str, kept: timedelta) -> None:
        self._table = Table(clients, f"{table_prefix}deliveries")
        self._kept = kept

    def add(self, delivery: Delivery) -> None:
        # Tries of one job are seconds apart; the machine's own clock orders what one process wrote faster than that.
        number = f"{sortable(delivery.at)}#{time.time_ns():020d}#{secrets.token_hex(4)}"
        self._table.put(
            {
                "job_id": delivery.job_id,
                "number": number,
                "body": wire.encode(delivery).decode(),
                "expires_at": to_expiry(delivery.at + self._kept),
            }
        )

    def list(self, job_id: str) -> Sequence[Delivery]:
        items = self._table.query("#job_id = :job", {"job": job_id}, consistent=True)
        return tuple(wire.decode(Delivery, item["body"]) for item in items)

    def forget(self, job_id: str) -> None:
        keys = self._table.query("#job_id = :job", {"job": job_id}, consistent=True, attributes=("job_id", "number"))
        self._table.delete_all(keys)
