"""The avatar catalogue in DynamoDB."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from services.adapters.aws.clients import Clients
from services.adapters.aws.table import ConditionFailed, Table
from services.adapters.cursors import last_id_of, page_of
from services.domain import wire
from services.domain.errors import NotFound
from services.ports.catalogue import Avatar
from services.ports.jobs import Page

_SHARED: Final = "shared"  # no tenant's id: those begin with `tenant_`


class DynamoAvatarCatalogue:
    """``AvatarCatalogue`` in one table: a partition a tenant, and one of the built-in ones; read consistently."""

    def __init__(self, clients: Clients, *, table_prefix: str) -> None:
        self._table = Table(clients, f"{table_prefix}avatars")

    def add(self, avatar: Avatar) -> None:
        item = {"owner": avatar.tenant_id or _SHARED, "id": avatar.id, "body": wire.encode(avatar).decode()}
        with suppress(ConditionFailed):
            self._table.put(item, condition="attribute_not_exists(#id)")

    def get(self, tenant_id: str, avatar_id: str) -> Avatar:
        for owner in (tenant_id, _SHARED):
            item = self._table.get({"owner": owner, "id": avatar_id})
            if item is not None:
                return wire.decode(Avatar, item["body"])
        raise NotFound(f"There is no avatar {avatar_id}.", code="avatar_not_found")

    def list(self, tenant_id: str, *, cursor: str | None = None, limit: int = 50) -> Page[Avatar]:
        before = last_id_of(cursor, "avatar")
        found: list[Avatar] = []
        for owner in (tenant_id, _SHARED):
            items = self._table.query(
                "#owner = :owner AND #id < :before",
                {"owner": owner, "before": before},
                limit=limit + 1,
                descending=True,
                consistent=True,
            )
            found += (wire.decode(Avatar, item["body"]) for item in items)
        return page_of(sorted(found, key=lambda avatar: avatar.id, reverse=True), limit)

    def delete(self, tenant_id: str, avatar_id: str) -> None:
        self._table.delete({"owner": tenant_id, "id": avatar_id})
