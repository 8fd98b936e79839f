"""The consent register."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from services.domain.consent import Consent
from services.ports.jobs import Page


class ConsentStore(Protocol):
    """Consents, and what was made under each, so that a subject's traces can be found and deleted."""

    def add(self, consent: Consent) -> None:
        """Store it; one whose id is there already changes nothing."""
        ...

    def get(self, tenant_id: str, consent_id: str) -> Consent:
        """Raises:
        NotFound: ``consent_not_found``, for another tenant's too.
        """
        ...

    def list(
        self, tenant_id: str, *, subject: str | None = None, cursor: str | None = None, limit: int = 50
    ) -> Page[Consent]:
        """Newest first."""
        ...

    def revoke(self, tenant_id: str, consent_id: str, now: datetime) -> Consent:
        """The consent as it is now; a second revocation changes nothing.

        Raises:
            NotFound: ``consent_not_found``.
        """
        ...

    def delete(self, tenant_id: str, consent_id: str) -> None:
        """Remove the consent and the notes of its uses; removing what is not there is no error."""
        ...

    def record_use(self, consent_id: str, used_by: str) -> None:
        """Note that the avatar, upload or job ``used_by`` shows the subject; noting twice is once."""
        ...

    def forget_use(self, consent_id: str, used_by: str) -> None:
        """Remove the note, once what it is about has been deleted; removing what is not there is no error."""
        ...

    def consents_of(self, upload_id: str) -> Sequence[str]:
        """Ids of the consents under which the upload was noted, oldest first."""
        ...

    def uses(self, consent_id: str) -> Sequence[str]:
        """Ids of everything that was noted."""
        ...
