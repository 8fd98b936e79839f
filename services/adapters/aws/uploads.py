"""Uploads in DynamoDB."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta

from services.adapters.aws.clients import Clients
from services.adapters.aws.items import Item
from services.adapters.aws.table import ConditionFailed, Table
from services.adapters.cursors import last_id_of, page_of
from services.adapters.instants import to_expiry
from services.domain import wire
from services.domain.errors import NotFound
from services.ports.jobs import Page
from services.ports.uploads import Upload


class DynamoUploadStore:
    """``UploadStore`` in one table, whose items DynamoDB itself removes some time after ``kept``."""

    def __init__(self, clients: Clients, *, table_prefix: str, kept: timedelta) -> None:
        self._table = Table(clients, f"{table_prefix}uploads")
        self._kept = kept

    def add(self, upload: Upload) -> None:
        item: Item = {
            "id": upload.id,
            "tenant_id": upload.tenant_id,
            "body": wire.encode(upload).decode(),
            "expires_at": to_expiry(upload.created_at + self._kept),
        }
        with suppress(ConditionFailed):
            self._table.put(item, condition="attribute_not_exists(#id)")

    def get(self, tenant_id: str, upload_id: str) -> Upload:
        item = self._table.get({"id": upload_id})
        if item is None or item["tenant_id"] != tenant_id:
            raise NotFound(f"There is no upload {upload_id}.", code="upload_not_found")
        return wire.decode(Upload, item["body"])

    def list(self, tenant_id: str, *, cursor: str | None = None, limit: int = 50) -> Page[Upload]:
        items = self._table.query(
            "#tenant_id = :tenant AND #id < :before",
            {"tenant": tenant_id, "before": last_id_of(cursor, "upload")},
            index="by_tenant",
            limit=limit + 1,
            descending=True,
        )
        return page_of([wire.decode(Upload, item["body"]) for item in items], limit)

    def created_before(self, moment: datetime, *, limit: int) -> Sequence[Upload]:
        return ()  # the table's TTL removes the rows, the bucket's lifecycle the objects

    def delete(self, tenant_id: str, upload_id: str) -> None:
        self._table.delete({"id": upload_id}, condition="#tenant_id = :tenant", values={"tenant": tenant_id})
