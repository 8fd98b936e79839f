"""Whether somebody's face or voice may be used: by a consent that holds, or by the word that nobody real is shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from services.domain.consent import Consent, Likeness
from services.domain.errors import ContentRejected, Forbidden, InvalidRequest, NotFound
from services.domain.job import Job
from services.ports.audit import AuditLog
from services.ports.clock import Clock
from services.ports.consents import ConsentStore
from services.settings import Settings
from services.usecases.record_act import record_act

_PLACES: Final = ("presenter", "model", "wig", "garment", "image", "")  # where requests name a consent; "": themselves


@dataclass(frozen=True, slots=True, kw_only=True)
class LikenessClaim:
    """By what right a likeness is used: at most one of the two is set.

    Attributes:
        param: The request field that carries ``consent_id`` and ``synthetic``, empty for the body itself.
    """

    consent_id: str | None = None
    synthetic: bool = False
    param: str = ""

    def field(self, name: str) -> str:
        """The name of one of the two in the request."""
        return f"{self.param}.{name}" if self.param else name


def claim_on_upload(
    claim: LikenessClaim, upload_id: str, *, tenant_id: str, consents: ConsentStore, clock: Clock
) -> LikenessClaim:
    """``claim``; without a consent of its own, the one under which the upload was used before.

    So what was once noted as a person's is not declared to be nobody's, after a revocation least of all, and deletion
    of the person finds what is made of it.
    """
    held = () if claim.consent_id is not None else consents.consents_of(upload_id)
    if not held:
        return claim
    now = clock.now()
    good = [one for one in held if consents.get(tenant_id, one).holds(Likeness.FACE, now)]
    return LikenessClaim(consent_id=(good or held)[-1], param=claim.param)


def check_claim(
    claim: LikenessClaim,
    likeness: Likeness,
    *,
    tenant_id: str,
    consents: ConsentStore,
    clock: Clock,
    settings: Settings,
) -> None:
    """Nothing, when ``likeness`` may be used by this claim: an uploaded face, a cloned voice.

    Raises:
        InvalidRequest: ``exactly_one``, when both ways are taken.
        Forbidden: ``consent_required``, ``consent_revoked``, ``consent_expired``.
        ContentRejected: ``consent_not_found``.
    """
    if claim.consent_id is not None and claim.synthetic:
        raise InvalidRequest(
            "Either a consent of the person shown, or `synthetic` because there is no such person; not both.",
            code="exactly_one",
            param=claim.field("consent_id"),
        )
    if claim.consent_id is not None:
        try:
            consent = consents.get(tenant_id, claim.consent_id)
        except NotFound as error:
            raise ContentRejected(error.detail, code=error.code, param=claim.field("consent_id")) from error
        _check_holds(consent, likeness, clock=clock, param=claim.field("consent_id"))
    elif settings.require_consent and not claim.synthetic:
        raise Forbidden(
            f"Using a person's {likeness} needs that person's consent: record it with POST /v1/consents and name it "
            f'as consent_id; or, when nobody real is shown or heard, declare "synthetic": true.',
            code="consent_required",
            param=claim.field("consent_id"),
        )


def note_claim(
    claim: LikenessClaim,
    likeness: Likeness,
    *used_by: str,
    tenant_id: str,
    actor: str,
    consents: ConsentStore,
    audit: AuditLog,
    clock: Clock,
) -> None:
    """Remember that the avatar, upload or job ``used_by`` shows the subject, or was declared to show nobody.

    Written before what it is about, so that nothing of a subject exists that deletion would not find.
    """
    act, target = "likeness.declared_synthetic", used_by[0]
    if claim.consent_id is not None:
        act, target = "consent.used", claim.consent_id
        for one in used_by:
            consents.record_use(claim.consent_id, one)
    elif not claim.synthetic:
        return
    details = {"used_by": " ".join(used_by), "likeness": str(likeness)}
    record_act(act, target, tenant_id=tenant_id, actor=actor, audit=audit, clock=clock, details=details)


def check_still_allowed(job: Job, *, consents: ConsentStore, clock: Clock) -> None:
    """Nothing, unless the job shows a person whose consent has ended since it was accepted.

    Raises:
        Forbidden: ``consent_revoked``, ``consent_expired``.
    """
    for param, consent_id in consents_named(job.request).items():
        try:
            consent = consents.get(job.tenant_id, consent_id)
        except NotFound as error:  # deleted with its subject
            detail = f"Consent {consent_id} is not there any more."
            raise Forbidden(detail, code="consent_revoked", param=param) from error
        _check_holds(consent, Likeness.FACE, clock=clock, param=param)


def consents_named(request: Mapping[str, Any]) -> dict[str, str]:
    """The consents under which a job's request was accepted, by the field that names each."""
    found = {}
    for place in _PLACES:
        fields = request.get(place) if place else request
        consent_id = fields.get("consent_id") if isinstance(fields, Mapping) else None
        if consent_id is not None:
            found[f"{place}.consent_id" if place else "consent_id"] = str(consent_id)
    return found


def _check_holds(consent: Consent, likeness: Likeness, *, clock: Clock, param: str) -> None:
    if consent.holds(likeness, clock.now()):
        return
    if consent.revoked_at is not None:
        raise Forbidden(f"Consent {consent.id} was revoked.", code="consent_revoked", param=param)
    if likeness not in consent.likenesses:
        raise Forbidden(f"Consent {consent.id} does not cover the {likeness}.", code="consent_required", param=param)
    raise Forbidden(f"Consent {consent.id} has expired.", code="consent_expired", param=param)
