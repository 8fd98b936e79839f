"""Tenants and keys in DynamoDB."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from services.adapters.aws.clients import Clients
from services.adapters.aws.table import ConditionFailed, Table
from services.adapters.cursors import last_id_of, page_of
from services.adapters.instants import from_micros, to_micros
from services.domain import wire
from services.domain.errors import Conflict, NotFound
from services.ports.jobs import Page
from services.ports.tenants import ApiKey, Tenant


class DynamoTenantStore:
    """``TenantStore`` in one table.

    A request finds its key by the hash, read consistently: a key that was revoked a moment ago is refused. Only the
    listings go by an index, which follows a moment later. What changes in a key's life are attributes of their own, so
    that noting its use never undoes its revocation.
    """

    def __init__(self, clients: Clients, *, table_prefix: str) -> None:
        self._table = Table(clients, f"{table_prefix}tenants")

    def add(self, tenant: Tenant) -> None:
        try:
            self._table.put(_tenant_item(tenant), condition="attribute_not_exists(#id)")
        except ConditionFailed as error:
            raise Conflict(f"There is a tenant {tenant.id} already.", code="tenant_exists") from error

    def get(self, tenant_id: str) -> Tenant:
        item = self._table.get({"id": f"tenant#{tenant_id}"})
        if item is None:
            raise _no_tenant(tenant_id)
        return wire.decode(Tenant, item["body"])

    def update(self, tenant: Tenant) -> None:
        try:
            self._table.put(_tenant_item(tenant), condition="attribute_exists(#id)")
        except ConditionFailed as error:
            raise _no_tenant(tenant.id) from error

    def list(self, *, cursor: str | None = None, limit: int = 50) -> Page[Tenant]:
        items = self._table.query(
            "#listing = :listing AND #listed_id < :before",
            {"listing": "tenants", "before": last_id_of(cursor, "tenant")},
            index="by_listing",
            limit=limit + 1,
            descending=True,
        )
        return page_of([wire.decode(Tenant, item["body"]) for item in items], limit)

    def delete(self, tenant_id: str) -> None:
        for key in self.list_keys(tenant_id):
            self._table.delete({"id": f"key#{key.sha256}"})
            self._table.delete({"id": f"key_id#{key.id}"})
        self._table.delete({"id": f"tenant#{tenant_id}"})

    def add_key(self, key: ApiKey) -> None:
        exists = Conflict(f"API key {key.id} is there already, or its tenant is not.", code="key_exists")
        if self._table.get({"id": f"tenant#{key.tenant_id}"}) is None:
            raise exists
        # Two items, this one first: should the second be lost, no key opens anything, and no one knows this id yet.
        named = {"id": f"key_id#{key.id}", "tenant_id": key.tenant_id, "sha256": key.sha256}
        try:
            self._table.put(named, condition="attribute_not_exists(#id)")
            self._table.put(_key_item(key), condition="attribute_not_exists(#id)")
        except ConditionFailed as error:
            raise exists from error

    def find_key(self, sha256: str) -> ApiKey | None:
        item = self._table.get({"id": f"key#{sha256}"})
        return None if item is None else _key(item)

    def get_key(self, tenant_id: str, key_id: str) -> ApiKey:
        key = self.find_key(self._hash_of(tenant_id, key_id))
        if key is None:
            raise _no_key(key_id)
        return key

    def list_keys(self, tenant_id: str) -> Sequence[ApiKey]:
        items = self._table.query(
            "#listing = :listing", {"listing": f"keys#{tenant_id}"}, index="by_listing", descending=True
        )
        return tuple(_key(item) for item in items)

    def revoke_key(self, tenant_id: str, key_id: str, now: datetime) -> None:
        self._change(tenant_id, key_id, "revoked_at", now, condition="attribute_not_exists(#revoked_at)")

    def expire_key(self, key: ApiKey, at: datetime) -> None:
        values = {"at": to_micros(min(at, key.expires_at or at))}
        conditions = ["attribute_exists(#id)"]
        for name, moment in (("expires_at", key.expires_at), ("revoked_at", key.revoked_at)):
            if moment is None:
                conditions.append(f"attribute_not_exists(#{name})")
            else:
                conditions.append(f"#{name} = :seen_{name}")
                values[f"seen_{name}"] = to_micros(moment)
        try:
            self._table.update(
                {"id": f"key#{self._hash_of(key.tenant_id, key.id)}"},
                "#expires_at = :at",
                condition=" AND ".join(conditions),
                values=values,
            )
        except ConditionFailed as failure:
            if failure.item is None:
                raise _no_key(key.id) from failure
            raise Conflict(f"API key {key.id} was changed by someone else.", code="key_changed") from failure

    def note_use(self, key: ApiKey, now: datetime) -> None:
        try:
            self._table.update(
                {"id": f"key#{key.sha256}"},
                "#last_used_at = :at",
                condition="attribute_exists(#id)",
                values={"at": to_micros(now)},
            )
        except ConditionFailed:
            return

    def _change(self, tenant_id: str, key_id: str, name: str, at: datetime, *, condition: str) -> None:
        try:
            self._table.update(
                {"id": f"key#{self._hash_of(tenant_id, key_id)}"},
                f"#{name} = :at",
                condition=f"attribute_exists(#id) AND {condition}",
                values={"at": to_micros(at)},
            )
        except ConditionFailed as failure:
            if failure.item is None:
                raise _no_key(key_id) from failure

    def _hash_of(self, tenant_id: str, key_id: str) -> str:
        named = self._table.get({"id": f"key_id#{key_id}"})
        if named is None or named["tenant_id"] != tenant_id:
            raise _no_key(key_id)
        return str(named["sha256"])


def _tenant_item(tenant: Tenant) -> Mapping[str, str]:
    return {
        "id": f"tenant#{tenant.id}",
        "listing": "tenants",
        "listed_id": tenant.id,
        "body": wire.encode(tenant).decode(),
    }


def _key_item(key: ApiKey) -> Mapping[str, str | int | None]:
    return {
        "id": f"key#{key.sha256}",
        "listing": f"keys#{key.tenant_id}",
        "listed_id": key.id,
        "body": wire.encode(key).decode(),
        "expires_at": _micros(key.expires_at),
        "revoked_at": _micros(key.revoked_at),
        "last_used_at": _micros(key.last_used_at),
    }


def _key(item: Mapping[str, Any]) -> ApiKey:
    """The stored key; attributes win over the body, which is as the key was issued."""
    return replace(
        wire.decode(ApiKey, item["body"]),
        expires_at=_moment(item.get("expires_at")),
        revoked_at=_moment(item.get("revoked_at")),
        last_used_at=_moment(item.get("last_used_at")),
    )


def _micros(moment: datetime | None) -> int | None:
    return None if moment is None else to_micros(moment)


def _moment(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)


def _no_tenant(tenant_id: str) -> NotFound:
    return NotFound(f"There is no tenant {tenant_id}.", code="tenant_not_found")


def _no_key(key_id: str) -> NotFound:
    return NotFound(f"There is no API key {key_id}.", code="key_not_found")
