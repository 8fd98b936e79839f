"""Tenants and their API keys: create, issue, rotate, revoke."""

from __future__ import annotations

import base64
import hashlib
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from services.domain.errors import Conflict, Forbidden, InvalidRequest
from services.domain.ids import new_id
from services.domain.scope import ALL_SCOPES, Scope
from services.ports.audit import AuditLog
from services.ports.clock import Clock
from services.ports.tenants import ApiKey, Tenant, TenantStore
from services.usecases.check_text import check_characters
from services.usecases.record_act import OPERATOR, record_act

DEFAULT_GRACE_S: Final = 24 * 3600.0
MAX_GRACE_S: Final = 30 * 24 * 3600.0
_MAX_NAME: Final = 100
_MAX_KEYS: Final = 100  # that serve, of one tenant: who needs more forgets to revoke


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedKey:
    """A new key; ``secret`` is shown once and kept nowhere."""

    key: ApiKey
    secret: str


def create_tenant(name: str, *, tenants: TenantStore, audit: AuditLog, clock: Clock) -> Tenant:
    """A new tenant with its own webhook secret.

    Raises:
        InvalidRequest: ``invalid_name``.
    """
    if not name.strip() or len(name) > 200:
        raise InvalidRequest("A tenant's name has 1 to 200 characters.", code="invalid_name", param="name")
    secret = base64.b64encode(secrets.token_bytes(32)).decode()
    tenant = Tenant(id=new_id("tenant"), name=name, webhook_secret=f"whsec_{secret}", created_at=clock.now())
    tenants.add(tenant)
    record_act("tenant.created", tenant.id, tenant_id=tenant.id, actor=OPERATOR, audit=audit, clock=clock)
    return tenant


def issue_key(
    tenant_id: str,
    *,
    tenants: TenantStore,
    audit: AuditLog,
    clock: Clock,
    actor: str = OPERATOR,
    name: str = "",
    scopes: Collection[Scope] = ALL_SCOPES,
    within: Collection[Scope] = ALL_SCOPES,
    expires_at: datetime | None = None,
) -> IssuedKey:
    """A new key for a tenant, beside those it has.

    Args:
        within: What the actor may do itself; it grants no more.

    Raises:
        NotFound: ``tenant_not_found``.
        Forbidden: ``scope_missing``.
        InvalidRequest: ``out_of_range`` (name, expiry in the past), ``missing`` (no scope).
        ContentRejected: ``control_character``.
        Conflict: ``too_many_keys``.
    """
    tenants.get(tenant_id)
    now = clock.now()
    check_characters(name, param="name")
    if len(name) > _MAX_NAME:
        raise InvalidRequest(f"A key's name has at most {_MAX_NAME} characters.", code="out_of_range", param="name")
    if not scopes:
        raise InvalidRequest("A key without any scope could do nothing.", code="missing", param="scopes")
    _check_within(scopes, within)
    if expires_at is not None and expires_at <= now:
        raise InvalidRequest("This key would have expired already.", code="out_of_range", param="expires_at")
    if sum(serves(key, now) for key in tenants.list_keys(tenant_id)) >= _MAX_KEYS:
        raise Conflict(f"There are {_MAX_KEYS} keys already; revoke one first.", code="too_many_keys")
    issued = _new_key(tenant_id, name, frozenset(scopes), expires_at, now)
    tenants.add_key(issued.key)
    details = {"scopes": " ".join(sorted(scopes))}
    record_act("key.issued", issued.key.id, tenant_id=tenant_id, actor=actor, audit=audit, clock=clock, details=details)
    return issued


def rotate_key(
    key_id: str,
    *,
    tenant_id: str,
    actor: str,
    within: Collection[Scope] = ALL_SCOPES,
    grace_s: float = DEFAULT_GRACE_S,
    tenants: TenantStore,
    audit: AuditLog,
    clock: Clock,
) -> IssuedKey:
    """A new key with the old one's name, scopes and expiry; the old one serves for ``grace_s`` more.

    Raises:
        NotFound: ``key_not_found``.
        Forbidden: ``scope_missing``, of a key that may do more than the actor.
        Conflict: ``key_not_in_service``: it was revoked or has expired; ``key_changed``: at this very moment.
        InvalidRequest: ``out_of_range``.
    """
    if not 0 <= grace_s <= MAX_GRACE_S:
        raise InvalidRequest(
            f"grace_s is {grace_s:g}; it is 0 to {MAX_GRACE_S:g}.", code="out_of_range", param="grace_s"
        )
    old, now = tenants.get_key(tenant_id, key_id), clock.now()
    if not serves(old, now):
        raise Conflict(f"API key {key_id} serves no more; issue a new one.", code="key_not_in_service")
    _check_within(old.scopes, within)
    issued = _new_key(tenant_id, old.name, old.scopes, old.expires_at, now)
    tenants.add_key(issued.key)  # before the old one ends: a crash leaves two keys, never none
    try:
        tenants.expire_key(old, now + timedelta(seconds=grace_s))
    except Conflict as error:  # rotated or revoked at the same moment: its secret is told to nobody
        tenants.revoke_key(tenant_id, issued.key.id, now)
        raise Conflict(f"API key {key_id} is being changed by someone else.", code="key_changed") from error
    details = {"replaced_by": issued.key.id, "grace_s": f"{grace_s:g}"}
    record_act("key.rotated", key_id, tenant_id=tenant_id, actor=actor, audit=audit, clock=clock, details=details)
    return issued


def revoke_key(key_id: str, *, tenant_id: str, actor: str, tenants: TenantStore, audit: AuditLog, clock: Clock) -> None:
    """Refuse the key from now on.

    Raises:
        NotFound: ``key_not_found``.
    """
    was_revoked = tenants.get_key(tenant_id, key_id).revoked_at is not None
    tenants.revoke_key(tenant_id, key_id, clock.now())
    if not was_revoked:
        record_act("key.revoked", key_id, tenant_id=tenant_id, actor=actor, audit=audit, clock=clock)


def serves(key: ApiKey, now: datetime) -> bool:
    """Whether the key is neither revoked nor expired."""
    return key.revoked_at is None and (key.expires_at is None or now < key.expires_at)


def sha256_of(secret: str) -> str:
    """What is stored of a key."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _check_within(scopes: Collection[Scope], within: Collection[Scope]) -> None:
    missing = sorted(set(scopes) - set(within))
    if missing:
        raise Forbidden(
            f"A key grants no more than it may do itself; this one has not {', '.join(missing)}.",
            code="scope_missing",
            param="scopes",
        )


def _new_key(
    tenant_id: str, name: str, scopes: frozenset[Scope], expires_at: datetime | None, now: datetime
) -> IssuedKey:
    secret = f"sk_{secrets.token_urlsafe(32)}"
    key = ApiKey(
        id=new_id("key"),
        tenant_id=tenant_id,
        sha256=sha256_of(secret),
        created_at=now,
        name=name,
        scopes=scopes,
        expires_at=expires_at,
    )
    return IssuedKey(key=key, secret=secret)
