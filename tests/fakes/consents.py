"""Consents in a dict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from services.domain.consent import Consent
from services.domain.errors import NotFound
from services.ports.jobs import Page
from tests.fakes.pages import page_of


class FakeConsentStore:
    def __init__(self, *consents: Consent) -> None:
        self._consents = {consent.id: consent for consent in consents}
        self._uses: dict[str, set[str]] = {}

    def add(self, consent: Consent) -> None:
        self._consents.setdefault(consent.id, consent)

    def get(self, tenant_id: str, consent_id: str) -> Consent:
        consent = self._consents.get(consent_id)
        if consent is None or consent.tenant_id != tenant_id:
            raise NotFound(f"There is no consent {consent_id}.", code="consent_not_found")
        return consent

    def list(
        self, tenant_id: str, *, subject: str | None = None, cursor: str | None = None, limit: int = 50
    ) -> Page[Consent]:
        found = (
            one for one in self._consents.values() if one.tenant_id == tenant_id and subject in (None, one.subject)
        )
        return page_of(found, kind="consent", cursor=cursor, limit=limit)

    def revoke(self, tenant_id: str, consent_id: str, now: datetime) -> Consent:
        consent = self.get(tenant_id, consent_id)
        self._consents[consent_id] = replace(consent, revoked_at=consent.revoked_at or now)
        return self._consents[consent_id]

    def delete(self, tenant_id: str, consent_id: str) -> None:
        if consent_id in self._consents and self._consents[consent_id].tenant_id == tenant_id:
            del self._consents[consent_id]
            self._uses.pop(consent_id, None)

    def record_use(self, consent_id: str, used_by: str) -> None:
        self._uses.setdefault(consent_id, set()).add(used_by)

    def forget_use(self, consent_id: str, used_by: str) -> None:
        self._uses.get(consent_id, set()).discard(used_by)

    def consents_of(self, upload_id: str) -> Sequence[str]:
        return sorted(consent_id for consent_id, uses in self._uses.items() if upload_id in uses)

    def uses(self, consent_id: str) -> Sequence[str]:
        return sorted(self._uses.get(consent_id, ()))
