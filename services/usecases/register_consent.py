"""Keep a person's permission with its evidence."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection
from datetime import datetime
from typing import Final

from services.domain.consent import Consent, Likeness
from services.domain.errors import ContentRejected, InvalidRequest
from services.domain.object_key import ObjectKey, Retention
from services.ports.audit import AuditLog
from services.ports.clock import Clock
from services.ports.consents import ConsentStore
from services.ports.objects import ObjectStore
from services.ports.uploads import UploadStore
from services.settings import Settings
from services.usecases.check_text import check_characters
from services.usecases.check_upload import check_bytes, find_upload
from services.usecases.record_act import record_act

MAX_EVIDENCE_BYTES: Final = 25 * 1024 * 1024
_EVIDENCE: Final = ("image", "audio", "video", "document")
_MAX_SUBJECT: Final = 200
_MAX_PURPOSE: Final = 1000
_IN_SUBJECTS: Final = " -._~@+:,;'()&!*=$"  # what a path can carry beside letters, marks and digits


def register_consent(
    *,
    consent_id: str,
    tenant_id: str,
    actor: str,
    subject: str,
    likenesses: Collection[Likeness],
    purpose: str,
    evidence_upload_id: str,
    expires_at: datetime | None,
    consents: ConsentStore,
    uploads: UploadStore,
    objects: ObjectStore,
    audit: AuditLog,
    clock: Clock,
    settings: Settings,
) -> Consent:
    """A new consent with its own copy of the evidence: a signed form, a recording, a film of the person agreeing.

    Raises:
        InvalidRequest: ``malformed_subject``, ``out_of_range``, ``missing``.
        ContentRejected: ``upload_not_found``, ``upload_incomplete``, ``empty_file``, ``unsupported_media``,
            ``evidence_too_large``, ``control_character``.
    """
    subject = check_subject(subject)
    check_characters(purpose, param="purpose", allowed="\n")
    now = clock.now()
    if not likenesses:
        raise InvalidRequest("A consent covers the face, the voice, or both.", code="missing", param="likenesses")
    if not 1 <= len(purpose.strip()) <= _MAX_PURPOSE:
        raise InvalidRequest(f"A purpose has 1 to {_MAX_PURPOSE} characters.", code="out_of_range", param="purpose")
    if expires_at is not None and expires_at <= now:
        raise InvalidRequest("This consent has expired already.", code="out_of_range", param="expires_at")
    param = "evidence_upload_id"
    upload = find_upload(evidence_upload_id, tenant_id=tenant_id, uploads=uploads, param=param)
    check_bytes(upload, _EVIDENCE, objects=objects, settings=settings, param=param)
    source = ObjectKey.parse(upload.object_key)
    size_bytes = objects.head(source).size_bytes
    if size_bytes > MAX_EVIDENCE_BYTES:
        raise ContentRejected(
            f"The evidence has {size_bytes} bytes; the limit is {MAX_EVIDENCE_BYTES}.",
            code="evidence_too_large",
            param=param,
        )
    target = ObjectKey(
        retention=Retention.CATALOGUE,
        tenant_id=tenant_id,
        owner_id=consent_id,
        attempt=0,
        name="evidence." + source.name.rpartition(".")[2],
    )
    objects.copy(source, target)
    consents.add(
        Consent(
            id=consent_id,
            tenant_id=tenant_id,
            subject=subject,
            likenesses=frozenset(likenesses),
            purpose=purpose,
            evidence_key=str(target),
            created_at=now,
            expires_at=expires_at,
        )
    )
    consents.record_use(consent_id, upload.id)  # the evidence shows the subject, too
    details = {"likenesses": " ".join(sorted(likenesses))}
    record_act(
        "consent.registered", consent_id, tenant_id=tenant_id, actor=actor, audit=audit, clock=clock, details=details
    )
    return consents.get(tenant_id, consent_id)


def check_subject(subject: str) -> str:
    """``subject`` in Unicode's composed form, so that it is found again however it is typed.

    Raises:
        InvalidRequest: ``malformed_subject``.
    """
    plain = unicodedata.normalize("NFC", subject).strip()
    if not 1 <= len(plain) <= _MAX_SUBJECT:
        raise InvalidRequest(
            f"A subject has 1 to {_MAX_SUBJECT} characters.", code="malformed_subject", param="subject"
        )
    for character in plain:
        if unicodedata.category(character)[0] not in "LMN" and character not in _IN_SUBJECTS:
            raise InvalidRequest(
                f"A subject cannot have {_shown(character)}; it can have letters, digits, spaces and "
                f"{_IN_SUBJECTS.strip()}, which an address can carry.",
                code="malformed_subject",
                param="subject",
            )
    return plain


def _shown(character: str) -> str:
    code = f"U+{ord(character):04X}"
    return f"{character} ({code})" if character.isprintable() else code
