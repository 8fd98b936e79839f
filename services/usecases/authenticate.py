"""Recognise a caller by its API key, and what it may do."""

from __future__ import annotations

import hmac
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from services.domain.errors import Forbidden, NotFound, Unauthenticated, Unavailable
from services.domain.scope import Scope
from services.ports.clock import Clock
from services.ports.tenants import ApiKey, Tenant, TenantStore
from services.usecases.manage_keys import sha256_of

_KEY: Final = re.compile(r"^sk_[A-Za-z0-9_-]{20,200}$")
_NOTED_AFTER: Final = timedelta(hours=1)  # so that ``last_used_at`` costs one write an hour and key


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Whose request it is, and with which key."""

    tenant: Tenant
    key: ApiKey


def authenticate(secret: str | None, *, tenants: TenantStore, clock: Clock) -> Caller:
    """The tenant whose key ``secret`` is.

    Raises:
        Unauthenticated: ``api_key_missing``, ``api_key_unknown``, ``api_key_revoked``, ``api_key_expired``.
    """
    if not secret:
        raise Unauthenticated(
            "Send an API key as `Authorization: Bearer sk_...` or `X-Api-Key: sk_...`.", code="api_key_missing"
        )
    digest = sha256_of(secret)
    key = tenants.find_key(digest) if _KEY.match(secret) else None
    # The look-up is by hash, so its timing tells nothing about a key; the comparison guards a lenient store.
    if key is None or not hmac.compare_digest(key.sha256, digest):
        raise _unknown()
    now = clock.now()
    if key.revoked_at is not None:
        raise Unauthenticated(f"API key {key.id} has been revoked.", code="api_key_revoked")
    if key.expires_at is not None and now >= key.expires_at:
        raise Unauthenticated(f"API key {key.id} has expired.", code="api_key_expired")
    try:
        tenant = tenants.get(key.tenant_id)
    except NotFound as error:
        raise _unknown() from error
    if tenant.deleting_since is not None:
        raise _unknown()
    if key.last_used_at is None or now - key.last_used_at >= _NOTED_AFTER:
        with suppress(Unavailable):  # noted with the next request
            tenants.note_use(key, now)
    return Caller(tenant=tenant, key=key)


def check_scope(key: ApiKey, needed: Scope) -> None:
    """Nothing, when the key may do what needs this scope.

    Raises:
        Forbidden: ``scope_missing``.
    """
    if needed not in key.scopes:
        raise Forbidden(
            f"This needs a key with the scope `{needed}`; {key.id} has {', '.join(sorted(key.scopes))}.",
            code="scope_missing",
        )


def _unknown() -> Unauthenticated:
    return Unauthenticated("The API key is not known.", code="api_key_unknown")
