"""Who may call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from services.domain.scope import ALL_SCOPES, Scope
from services.ports.jobs import Page


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """A customer. ``webhook_secret`` signs callbacks (Standard Webhooks, ``whsec_...``).

    Attributes:
        max_outstanding: Jobs that an engine may hold at once.
        requests_per_s: None takes the setting of that name; so do ``request_burst`` and ``max_queued_jobs``.
        monthly_output_s: Seconds of video a calendar month (UTC); None without limit.
        deleting_since: Set while everything of the tenant is being deleted; its keys are refused.
    """

    id: str
    name: str
    webhook_secret: str
    created_at: datetime
    max_outstanding: int = 8
    requests_per_s: float | None = None
    request_burst: int | None = None
    max_queued_jobs: int | None = None
    monthly_output_s: float | None = None
    deleting_since: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """A credential of which only the SHA-256 is kept.

    Attributes:
        expires_at: First moment at which it is refused; None without end.
        last_used_at: Coarse: noted at most once an hour.
    """

    id: str
    tenant_id: str
    sha256: str
    created_at: datetime
    name: str = ""
    scopes: frozenset[Scope] = ALL_SCOPES
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None


class TenantStore(Protocol):
    def add(self, tenant: Tenant) -> None:
        """Raises:
        Conflict: ``tenant_exists``.
        """
        ...

    def get(self, tenant_id: str) -> Tenant:
        """Raises:
        NotFound: ``tenant_not_found``.
        """
        ...

    def update(self, tenant: Tenant) -> None:
        """Store ``tenant`` in place of the one with its id.

        Raises:
            NotFound: ``tenant_not_found``.
        """
        ...

    def list(self, *, cursor: str | None = None, limit: int = 50) -> Page[Tenant]: ...

    def delete(self, tenant_id: str) -> None:
        """Remove the tenant and its keys; removing what is not there is no error."""
        ...

    def add_key(self, key: ApiKey) -> None:
        """Raises:
        Conflict: ``key_exists``.
        """
        ...

    def find_key(self, sha256: str) -> ApiKey | None: ...

    def get_key(self, tenant_id: str, key_id: str) -> ApiKey:
        """Raises:
        NotFound: ``key_not_found``, for another tenant's too.
        """
        ...

    def list_keys(self, tenant_id: str) -> Sequence[ApiKey]:
        """All of the tenant's keys, newest first, revoked and expired ones too."""
        ...

    def revoke_key(self, tenant_id: str, key_id: str, now: datetime) -> None:
        """Refuse the key from now on; a second revocation changes nothing.

        Raises:
            NotFound: ``key_not_found``.
        """
        ...

    def expire_key(self, key: ApiKey, at: datetime) -> None:
        """Let the key expire at ``at``, unless it does earlier, if nobody else ended it since ``key`` was read.

        Raises:
            Conflict: ``key_changed``: it was revoked or its expiry set meanwhile.
            NotFound: ``key_not_found``.
        """
        ...

    def note_use(self, key: ApiKey, now: datetime) -> None:
        """Set ``last_used_at``; of a key that is gone, nothing."""
        ...
