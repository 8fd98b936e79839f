"""Tenants and their API keys: create, issue, recognise, revoke."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from typing import Final

from services.domain.errors import InvalidRequest, Unauthenticated
from services.domain.ids import new_id
from services.ports.clock import Clock
from services.ports.tenants import ApiKey, Tenant, TenantStore

_KEY: Final = re.compile(r"^sk_[A-Za-z0-9_-]{20,200}$")


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedKey:
    """A new key; ``secret`` is shown once and kept nowhere."""

    key: ApiKey
    secret: str


def create_tenant(name: str, *, tenants: TenantStore, clock: Clock) -> Tenant:
    """A new tenant with its own webhook secret.

    Raises:
        InvalidRequest: ``invalid_name``.
    """
    if not name.strip() or len(name) > 200:
        raise InvalidRequest("A tenant's name has 1 to 200 characters.", code="invalid_name", param="name")
    secret = base64.b64encode(secrets.token_bytes(32)).decode()
    tenant = Tenant(id=new_id("tenant"), name=name, webhook_secret=f"whsec_{secret}", created_at=clock.now())
    tenants.add(tenant)
    return tenant


def issue_key(tenant_id: str, *, tenants: TenantStore, clock: Clock) -> IssuedKey:
    """A new key for a tenant, beside those it has.

    Raises:
        NotFound: ``tenant_not_found``.
    """
    tenants.get(tenant_id)
    secret = f"sk_{secrets.token_urlsafe(32)}"
    key = ApiKey(id=new_id("key"), tenant_id=tenant_id, sha256=_sha256(secret), created_at=clock.now())
    tenants.add_key(key)
    return IssuedKey(key=key, secret=secret)


def authenticate(secret: str | None, *, tenants: TenantStore) -> Tenant:
    """The tenant whose key ``secret`` is.

    Raises:
        Unauthenticated: ``api_key_missing``, ``api_key_unknown``, ``api_key_revoked``.
    """
    if not secret:
        raise Unauthenticated(
            "Send an API key as `Authorization: Bearer sk_...` or `X-Api-Key: sk_...`.", code="api_key_missing"
        )
    digest = _sha256(secret)
    key = tenants.find_key(digest) if _KEY.match(secret) else None
    # The look-up is by hash, so its timing tells nothing about a key; the comparison guards a lenient store.
    if key is None or not hmac.compare_digest(key.sha256, digest):
        raise Unauthenticated("The API key is not known.", code="api_key_unknown")
    if key.revoked_at is not None:
        raise Unauthenticated(f"API key {key.id} has been revoked.", code="api_key_revoked")
    return tenants.get(key.tenant_id)


def _sha256(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
