"""Who may call."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """A customer. ``webhook_secret`` signs callbacks (Standard Webhooks, ``whsec_...``)."""

    id: str
    name: str
    webhook_secret: str
    created_at: datetime
    max_outstanding: int = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """A credential of which only the SHA-256 is kept."""

    id: str
    tenant_id: str
    sha256: str
    created_at: datetime
    revoked_at: datetime | None = None


class TenantStore(Protocol):
    def add(self, tenant: Tenant) -> None: ...

    def get(self, tenant_id: str) -> Tenant:
        """Raises:
        NotFound: ``tenant_not_found``.
        """
        ...

    def add_key(self, key: ApiKey) -> None: ...

    def find_key(self, sha256: str) -> ApiKey | None: ...

    def revoke_key(self, key_id: str, now: datetime) -> None: ...
