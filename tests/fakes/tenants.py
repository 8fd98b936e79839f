"""Tenants and keys in dicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from services.domain.errors import Conflict, NotFound
from services.ports.jobs import Page
from services.ports.tenants import ApiKey, Tenant
from tests.fakes.pages import page_of


class FakeTenantStore:
    def __init__(self, *tenants: Tenant) -> None:
        self._tenants = {tenant.id: tenant for tenant in tenants}
        self._keys: dict[str, ApiKey] = {}

    def add(self, tenant: Tenant) -> None:
        if tenant.id in self._tenants:
            raise Conflict(f"There is a tenant {tenant.id} already.", code="tenant_exists")
        self._tenants[tenant.id] = tenant

    def get(self, tenant_id: str) -> Tenant:
        if tenant_id not in self._tenants:
            raise NotFound(f"There is no tenant {tenant_id}.", code="tenant_not_found")
        return self._tenants[tenant_id]

    def update(self, tenant: Tenant) -> None:
        self.get(tenant.id)
        self._tenants[tenant.id] = tenant

    def list(self, *, cursor: str | None = None, limit: int = 50) -> Page[Tenant]:
        return page_of(self._tenants.values(), kind="tenant", cursor=cursor, limit=limit)

    def delete(self, tenant_id: str) -> None:
        self._tenants.pop(tenant_id, None)
        self._keys = {sha256: key for sha256, key in self._keys.items() if key.tenant_id != tenant_id}

    def add_key(self, key: ApiKey) -> None:
        if key.sha256 in self._keys:
            raise Conflict(f"API key {key.id} is there already.", code="key_exists")
        self._keys[key.sha256] = key

    def find_key(self, sha256: str) -> ApiKey | None:
        return self._keys.get(sha256)

    def get_key(self, tenant_id: str, key_id: str) -> ApiKey:
        for key in self._keys.values():
            if (key.tenant_id, key.id) == (tenant_id, key_id):
                return key
        raise NotFound(f"There is no API key {key_id}.", code="key_not_found")

    def list_keys(self, tenant_id: str) -> Sequence[ApiKey]:
        mine = (key for key in self._keys.values() if key.tenant_id == tenant_id)
        return sorted(mine, key=lambda key: key.id, reverse=True)

    def revoke_key(self, tenant_id: str, key_id: str, now: datetime) -> None:
        key = self.get_key(tenant_id, key_id)
        self._keys[key.sha256] = replace(key, revoked_at=key.revoked_at or now)

    def expire_key(self, key: ApiKey, at: datetime) -> None:
        present = self.get_key(key.tenant_id, key.id)
        if (present.expires_at, present.revoked_at) != (key.expires_at, key.revoked_at):
            raise Conflict(f"API key {key.id} was changed by someone else.", code="key_changed")
        self._keys[key.sha256] = replace(present, expires_at=min(at, key.expires_at or at))

    def note_use(self, key: ApiKey, now: datetime) -> None:
        if key.sha256 in self._keys:
            self._keys[key.sha256] = replace(self._keys[key.sha256], last_used_at=now)
