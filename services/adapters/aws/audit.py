"""The audit log in DynamoDB."""

from __future__ import annotations

from contextlib import suppress

from services.adapters.aws.clients import Clients
from services.adapters.aws.table import ConditionFailed, Table
from services.adapters.cursors import last_id_of, page_of
from services.domain import wire
from services.ports.audit import AuditEntry
from services.ports.jobs import Page


class DynamoAuditLog:
    """``services.ports.audit.AuditLog``; ``add`` never replaces an entry, and functions may only put and query."""

    def __init__(self, clients: Clients, *, table_prefix: str) -> None:
        self._table = Table(clients, f"{table_prefix}audit")

    def add(self, entry: AuditEntry) -> None:
        item = {"tenant_id": entry.tenant_id, "id": entry.id, "body": wire.encode(entry).decode()}
        with suppress(ConditionFailed):
            self._table.put(item, condition="attribute_not_exists(#id)")

    def list(self, tenant_id: str, *, cursor: str | None = None, limit: int = 50) -> Page[AuditEntry]:
        items = self._table.query(
            "#tenant_id = :tenant AND #id < :before",
            {"tenant": tenant_id, "before": last_id_of(cursor, "audit")},
            limit=limit + 1,
            descending=True,
        )
        return page_of([wire.decode(AuditEntry, item["body"]) for item in items], limit)

    def forget(self, tenant_id: str) -> None:
        keys = self._table.query(
            "#tenant_id = :tenant", {"tenant": tenant_id}, consistent=True, attributes=("tenant_id", "id")
        )
        self._table.delete_all(keys)
