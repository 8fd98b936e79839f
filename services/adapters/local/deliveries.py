"""The log of webhook deliveries in SQLite."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from services.adapters.instants import from_micros, to_micros
from services.adapters.local.sqlite import Database
from services.ports.webhooks import Delivery

_MIGRATIONS: Final = (
    """
    CREATE TABLE deliveries (
        number INTEGER PRIMARY KEY,
        job_id TEXT NOT NULL,
        event_id TEXT NOT NULL,
        at INTEGER NOT NULL,
        status INTEGER,
        error TEXT
    ) STRICT;
    CREATE INDEX deliveries_by_job ON deliveries (job_id, number);
    """,
)


class SqliteDeliveryLog:
    """``services.ports.webhooks.DeliveryLog``."""

    def __init__(self, path: Path) -> None:
        self._database = Database(path, _MIGRATIONS)

    def add(self, delivery: Delivery) -> None:
        self._database.execute(
            "INSERT INTO deliveries (job_id, event_id, at, status, error) VALUES (?, ?, ?, ?, ?)",
            (delivery.job_id, delivery.event_id, to_micros(delivery.at), delivery.status, delivery.error),
        )

    def list(self, job_id: str) -> Sequence[Delivery]:
        rows = self._database.all("SELECT * FROM deliveries WHERE job_id = ? ORDER BY number", (job_id,))
        return tuple(
            Delivery(
                job_id=row["job_id"],
                event_id=row["event_id"],
                at=from_micros(row["at"]),
                status=row["status"],
                error=row["error"],
            )
            for row in rows
        )

    def forget(self, job_id: str) -> None:
        self._database.execute("DELETE FROM deliveries WHERE job_id = ?", (job_id,))
