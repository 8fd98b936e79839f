"""API keys and the audit log."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AwareDatetime, ConfigDict, Field

from lambdas.api.schemas.base import AnswerBody, Moment, RequestBody
from services.ports.audit import AuditEntry
from services.ports.tenants import ApiKey
from services.usecases.manage_keys import IssuedKey

ScopeName = Literal["read", "create", "manage"]
# JSON has no type for moments: a strict model would take none.
LaterMoment = Annotated[AwareDatetime, Field(strict=False, examples=["2027-11-30T00:00:00Z"])]


class KeyRequestBody(RequestBody):
    """A key wanted."""

    model_config = ConfigDict(json_schema_extra={"example": {"name": "dashboard", "scopes": ["read"]}})

    name: str = Field(default="", max_length=100, description="For your own list.")
    scopes: list[ScopeName] = Field(
        default=["read", "create", "manage"], min_length=1, max_length=3, description="What it may do."
    )
    expires_at: LaterMoment | None = Field(default=None, description="Refused from then on; null without end.")


class RotationBody(RequestBody):
    """How a key is replaced."""

    grace_s: float = Field(
        default=86_400, ge=0, le=2_592_000, description="Seconds for which the old key serves beside the new one."
    )


class KeyBody(AnswerBody):
    """A key without its secret, of which only a hash is kept."""

    id: str = Field(examples=["key_01JDV3M0Q8T2A4B6C8D0E2F4G6"])
    name: str
    scopes: list[ScopeName]
    created_at: Moment
    expires_at: Moment | None
    revoked_at: Moment | None
    last_used_at: Moment | None = Field(description="To the hour.")

    @classmethod
    def of(cls, key: ApiKey) -> KeyBody:
        """A key as clients see it."""
        return cls(
            id=key.id,
            name=key.name,
            scopes=[scope.value for scope in sorted(key.scopes)],
            created_at=key.created_at,
            expires_at=key.expires_at,
            revoked_at=key.revoked_at,
            last_used_at=key.last_used_at,
        )


class KeysBody(AnswerBody):
    """Every key of the tenant, newest first."""

    items: list[KeyBody]


class IssuedKeyBody(AnswerBody):
    """A new key. Its secret is shown this once."""

    key: KeyBody
    secret: str = Field(description="Send it as `Authorization: Bearer ...`.", examples=["sk_…"])

    @classmethod
    def of(cls, issued: IssuedKey) -> IssuedKeyBody:
        """A new key as its receiver sees it."""
        return cls(key=KeyBody.of(issued.key), secret=issued.secret)


class AuditEntryBody(AnswerBody):
    """One act."""

    id: str = Field(examples=["audit_01JDV3M0Q8T2A4B6C8D0E2F4G6"])
    at: Moment
    actor: str = Field(description="The key's id; `operator` or `system`.", examples=["key_01JDV3M0Q8T2A4B6C8D0E2F4G6"])
    action: str = Field(examples=["consent.revoked"])
    target: str = Field(examples=["consent_01JDV3M0Q8T2A4B6C8D0E2F4G6"])
    details: dict[str, str]

    @classmethod
    def of(cls, entry: AuditEntry) -> AuditEntryBody:
        """An entry as clients see it."""
        return cls(
            id=entry.id,
            at=entry.at,
            actor=entry.actor,
            action=entry.action,
            target=entry.target,
            details=dict(entry.details),
        )
