"""Tenants and keys in dicts."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from services.domain.errors import NotFound
from services.ports.tenants import ApiKey, Tenant


class FakeTenantStore:
    def __init__(self, *tenants: Tenant) -> None:
        self._tenants = {tenant.id: tenant for tenant in tenants}
        self._keys: dict[str, ApiKey] = {}

    def add(self, tenant: Tenant) -> None:
        self._tenants[tenant.id] = tenant

    def get(self, tenant_id: str) -> Tenant:
        if tenant_id not in self._tenants:
            raise NotFound(f"There is no tenant {tenant_id}.", code="tenant_not_found")
        return self._tenants[tenant_id]

    def add_key(self, key: ApiKey) -> None:
        self._keys[key.sha256] = key

    def find_key(self, sha256: str) -> ApiKey | None:
        return self._keys.get(sha256)

    def revoke_key(self, key_id: str, now: datetime) -> None:
        for sha256, key in self._keys.items():
            if key.id == key_id:
                self._keys[sha256] = replace(key, revoked_at=now)
