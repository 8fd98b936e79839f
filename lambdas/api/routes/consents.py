"""Consents, and the deletion of what shows a person."""

from __future__ import annotations

from typing import Annotated, Final
from urllib.parse import unquote

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body, Path, Query

from lambdas import runtime
from lambdas.api.answers import acting_key, answered_once, caller, json_answer, outcomes
from lambdas.api.request_parts import IdempotencyKey
from lambdas.api.resolver import new_router
from lambdas.api.routes.jobs import Cursor, Limit
from lambdas.api.schemas.base import PageBody
from lambdas.api.schemas.consents import ConsentBody, ConsentDetailBody, ConsentRequestBody, DeletedSubjectBody
from lambdas.api.scopes import needs
from services.domain.consent import Consent, Likeness
from services.domain.object_key import ObjectKey
from services.domain.scope import Scope
from services.usecases.delete_subject import delete_subject
from services.usecases.register_consent import check_subject, register_consent
from services.usecases.revoke_consent import revoke_consent

router: Final = new_router()
_MAX_USES: Final = 1000  # an answer has its limit, and a batch has 50,000 rows

ConsentId = Annotated[str, Path(description="The consent's id.", examples=["consent_01JDV3M0Q8T2A4B6C8D0E2F4G6"])]


class ConsentsBody(PageBody[ConsentBody]):
    """A slice of the consents, newest first."""


@router.get(
    "/v1/consents",
    summary="List consents",
    operation_id="listConsents",
    openapi_extensions=needs(Scope.READ),
    tags=["consents"],
    responses=outcomes({200: ("A slice of the consents.", ConsentsBody)}, (400,)),
)
def list_consents(
    subject: Annotated[str | None, Query(max_length=200, description="Only this person's.")] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response[str]:
    page = runtime.services().consents.list(
        caller(router).id,
        subject=None if subject is None else check_subject(subject),
        cursor=cursor,
        limit=limit,
    )
    return json_answer(ConsentsBody(items=[ConsentBody.of(one) for one in page.items], next_cursor=page.cursor))


@router.post(
    "/v1/consents",
    summary="Record a consent",
    description="A person allowed the use of their face or voice. The consent gets its own copy of the evidence. Name "
    "it as `consent_id` wherever that person is shown.",
    operation_id="createConsent",
    openapi_extensions=needs(Scope.CREATE),
    tags=["consents"],
    responses=outcomes({201: ("The consent.", ConsentDetailBody)}, (400, 409, 410, 413, 415, 422)),
)
def create(body: Annotated[ConsentRequestBody, Body()], idempotency_key: IdempotencyKey = None) -> Response[str]:
    services, tenant = runtime.services(), caller(router)

    def register(consent_id: str) -> Response[str]:
        consent = register_consent(
            consent_id=consent_id,
            tenant_id=tenant.id,
            actor=acting_key(router).id,
            subject=body.subject,
            likenesses=[Likeness(name) for name in body.likenesses],
            purpose=body.purpose,
            evidence_upload_id=body.evidence_upload_id,
            expires_at=body.expires_at,
            consents=services.consents,
            uploads=services.uploads,
            objects=services.objects,
            audit=services.audit,
            clock=services.clock,
            settings=services.settings,
        )
        return json_answer(_detail(consent), status=201, headers={"Location": f"/v1/consents/{consent.id}"})

    def find(consent_id: str) -> object:
        return services.consents.get(tenant.id, consent_id)

    return answered_once(router, idempotency_key, kind="consent", create=register, find=find)


@router.get(
    "/v1/consents/<consent_id>",
    summary="Read a consent",
    description="With its evidence and what was made under it.",
    operation_id="getConsent",
    openapi_extensions=needs(Scope.READ),
    tags=["consents"],
    responses=outcomes({200: ("The consent.", ConsentDetailBody)}, (404,)),
)
def read(consent_id: ConsentId) -> Response[str]:
    return json_answer(_detail(runtime.services().consents.get(caller(router).id, consent_id)))


@router.post(
    "/v1/consents/<consent_id>/revoke",
    summary="Revoke a consent",
    description="It permits nothing from now on: avatars made under it are refused, jobs that wait or run fail with "
    "`consent_revoked` and cost nothing. What was made before stays until it is deleted "
    "(`DELETE /v1/subjects/{subject}`).",
    operation_id="revokeConsent",
    openapi_extensions=needs(Scope.CREATE),
    tags=["consents"],
    responses=outcomes({200: ("The consent as it is now.", ConsentDetailBody)}, (404,)),
)
def revoke(consent_id: ConsentId) -> Response[str]:
    services = runtime.services()
    consent = revoke_consent(
        consent_id,
        tenant_id=caller(router).id,
        actor=acting_key(router).id,
        consents=services.consents,
        jobs=services.jobs,
        objects=services.objects,
        audit=services.audit,
        clock=services.clock,
    )
    return json_answer(_detail(consent))


@router.delete(
    "/v1/subjects/<subject>",
    summary="Delete a person's traces",
    description="Every avatar, upload, job and result that was noted under the subject's consents, then the consents "
    "with their evidence; running jobs are canceled. Usage stays on the bill; the audit log keeps ids. Asked again "
    "after an interruption it goes on.",
    operation_id="deleteSubject",
    openapi_extensions=needs(Scope.MANAGE),
    tags=["consents"],
    responses=outcomes({200: ("How much was deleted.", DeletedSubjectBody)}, (400, 404)),
)
def delete(
    subject: Annotated[str, Path(description="As in the consents.", examples=["model 4711"])],
) -> Response[str]:
    # Gateways differ in whether they decode paths; no subject has a percent sign, so decoding twice harms none.
    deleted = delete_subject(
        unquote(subject), tenant_id=caller(router).id, actor=acting_key(router).id, stores=runtime.services()
    )
    return json_answer(
        DeletedSubjectBody(
            num_consents=deleted.num_consents,
            num_avatars=deleted.num_avatars,
            num_products=deleted.num_products,
            num_uploads=deleted.num_uploads,
            num_jobs=deleted.num_jobs,
        )
    )


def _detail(consent: Consent) -> ConsentDetailBody:
    services, url = runtime.services(), None
    if Scope.MANAGE in acting_key(router).scopes:
        key = ObjectKey.parse(consent.evidence_key)
        url = services.objects.sign_download(
            key, file_name=f"{consent.id}-{key.name}", expires_in_s=services.settings.link_lifetime_s
        )
    uses = services.consents.uses(consent.id)
    return ConsentDetailBody(
        **ConsentBody.of(consent).model_dump(),
        evidence_url=url,
        num_uses=len(uses),
        used_by=list(uses[:_MAX_USES]),
    )
