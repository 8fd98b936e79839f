"""What a person allowed: use of their face or voice, until when, with what evidence."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Likeness(StrEnum):
    FACE = "face"
    VOICE = "voice"


@dataclass(frozen=True, slots=True, kw_only=True)
class Consent:
    """One person's permission to one tenant.

    Attributes:
        subject: Who, in the tenant's own words or numbers; the handle for deletion by subject.
        likenesses: What may be cloned.
        purpose: For what, as the person was told.
        evidence_key: The object that proves it (a signed form, a recording), under ``catalogue/``.
        expires_at: First moment at which it no longer holds; None without end.
    """

    id: str
    tenant_id: str
    subject: str
    likenesses: frozenset[Likeness]
    purpose: str
    evidence_key: str
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None

    def holds(self, likeness: Likeness, now: datetime) -> bool:
        """Whether ``likeness`` may be used at ``now``."""
        is_over = self.revoked_at is not None or (self.expires_at is not None and now >= self.expires_at)
        return likeness in self.likenesses and not is_over
