"""The consent register in DynamoDB."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

from services.adapters.aws.clients import Clients
from services.adapters.aws.table import ConditionFailed, Table
from services.adapters.cursors import last_id_of, page_of
from services.adapters.instants import from_micros, to_micros
from services.domain import wire
from services.domain.consent import Consent
from services.domain.errors import NotFound
from services.ports.jobs import Page


class DynamoConsentStore:
    """``services.ports.consents.ConsentStore`` in two tables; everything is read consistently.

    A revocation must hold from the moment it is answered, and a search by subject must miss nothing when traces of a
    person are deleted. A subject is any text, so the index holds its hash. The note that an upload was used is
    kept both ways round, so that the consents of an upload are found, too.
    """

    def __init__(self, clients: Clients, *, table_prefix: str) -> None:
        self._consents = Table(clients, f"{table_prefix}consents")
        self._uses = Table(clients, f"{table_prefix}consent_uses")

    def add(self, consent: Consent) -> None:
        item = {
            "tenant_id": consent.tenant_id,
            "id": consent.id,
            "subject_id": f"{_hash_of(consent.subject)}#{consent.id}",
            "revoked_at": None if consent.revoked_at is None else to_micros(consent.revoked_at),
            "body": wire.encode(consent).decode(),
        }
        with suppress(ConditionFailed):
            self._consents.put(item, condition="attribute_not_exists(#id)")

    def get(self, tenant_id: str, consent_id: str) -> Consent:
        item = self._consents.get({"tenant_id": tenant_id, "id": consent_id})
        if item is None:
            raise _not_found(consent_id)
        return _consent(item)

    def list(
        self, tenant_id: str, *, subject: str | None = None, cursor: str | None = None, limit: int = 50
    ) -> Page[Consent]:
        before = last_id_of(cursor, "consent")
        if subject is None:
            items = self._consents.query(
                "#tenant_id = :tenant AND #id < :before",
                {"tenant": tenant_id, "before": before},
                limit=limit + 1,
                descending=True,
                consistent=True,
            )
        else:
            head = f"{_hash_of(subject)}#"
            items = self._consents.query(  # BETWEEN takes its ends in, so the cursor's own row comes first
                "#tenant_id = :tenant AND #subject_id BETWEEN :first AND :last",
                {"tenant": tenant_id, "first": head, "last": f"{head}{before}"},
                index="by_subject",
                limit=limit + 2,
                descending=True,
                consistent=True,
            )
        return page_of([_consent(item) for item in items if item["id"] != before], limit)

    def revoke(self, tenant_id: str, consent_id: str, now: datetime) -> Consent:
        try:
            item = self._consents.update(
                {"tenant_id": tenant_id, "id": consent_id},
                "#revoked_at = if_not_exists(#revoked_at, :now)",
                condition="attribute_exists(#id)",
                values={"now": to_micros(now)},
            )
        except ConditionFailed as error:
            raise _not_found(consent_id) from error
        return _consent(item)

    def delete(self, tenant_id: str, consent_id: str) -> None:
        if self._consents.get({"tenant_id": tenant_id, "id": consent_id}) is None:
            return
        # Notes first: cut off between the two, the consent is still there and the deletion can be repeated.
        self._uses.delete_all([key for one in self.uses(consent_id) for key in _keys(consent_id, one)])
        self._consents.delete({"tenant_id": tenant_id, "id": consent_id})

    def record_use(self, consent_id: str, used_by: str) -> None:
        for key in _keys(consent_id, used_by):
            self._uses.put(key)

    def forget_use(self, consent_id: str, used_by: str) -> None:
        self._uses.delete_all(_keys(consent_id, used_by))

    def consents_of(self, upload_id: str) -> Sequence[str]:
        return self.uses(upload_id)

    def uses(self, consent_id: str) -> Sequence[str]:
        items = self._uses.query("#consent_id = :consent", {"consent": consent_id}, consistent=True)
        return tuple(str(item["used_by"]) for item in items)


def _keys(consent_id: str, used_by: str) -> Sequence[dict[str, str]]:
    """Of the note; and of its reverse, by which an upload's consents are found."""
    note = {"consent_id": consent_id, "used_by": used_by}
    return (note, {"consent_id": used_by, "used_by": consent_id}) if used_by.startswith("upload_") else (note,)


def _hash_of(subject: str) -> str:
    return hashlib.sha256(subject.encode()).hexdigest()


def _consent(item: Mapping[str, Any]) -> Consent:
    revoked_at = item.get("revoked_at")
    return replace(
        wire.decode(Consent, item["body"]), revoked_at=None if revoked_at is None else from_micros(revoked_at)
    )


def _not_found(consent_id: str) -> NotFound:
    return NotFound(f"There is no consent {consent_id}.", code="consent_not_found")
