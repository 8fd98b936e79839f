"""API keys, and the audit log."""

from __future__ import annotations

from typing import Annotated, Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body, Path

from lambdas import runtime
from lambdas.api.answers import acting_key, caller, json_answer, outcomes
from lambdas.api.resolver import new_router
from lambdas.api.routes.jobs import Cursor, Limit
from lambdas.api.schemas.base import PageBody
from lambdas.api.schemas.keys import (
    AuditEntryBody,
    IssuedKeyBody,
    KeyBody,
    KeyRequestBody,
    KeysBody,
    RotationBody,
)
from lambdas.api.scopes import needs
from services.domain.scope import Scope
from services.usecases.manage_keys import issue_key, revoke_key, rotate_key

router: Final = new_router()

KeyId = Annotated[str, Path(description="The key's id.", examples=["key_01JDV3M0Q8T2A4B6C8D0E2F4G6"])]


class AuditBody(PageBody[AuditEntryBody]):
    """A slice of the audit log, newest first."""


@router.get(
    "/v1/keys",
    summary="List API keys",
    description="Every key of the tenant, without secrets; revoked and expired ones too.",
    operation_id="listKeys",
    openapi_extensions=needs(Scope.MANAGE),
    tags=["account"],
    responses=outcomes({200: ("The keys.", KeysBody)}),
)
def list_keys() -> Response[str]:
    keys = runtime.services().tenants.list_keys(caller(router).id)
    return json_answer(KeysBody(items=[KeyBody.of(key) for key in keys]))


@router.post(
    "/v1/keys",
    summary="Issue an API key",
    description="The secret is in this answer and nowhere else. No `Idempotency-Key`: a remembered answer would keep "
    "the secret. When the answer gets lost, revoke the key that the list shows, and issue another.",
    operation_id="createKey",
    openapi_extensions=needs(Scope.MANAGE),
    tags=["account"],
    responses=outcomes({201: ("The key and its secret.", IssuedKeyBody)}, (400, 409, 413, 415, 422)),
)
def create(body: Annotated[KeyRequestBody, Body()]) -> Response[str]:
    services = runtime.services()
    issued = issue_key(
        caller(router).id,
        actor=acting_key(router).id,
        name=body.name,
        scopes=frozenset(Scope(scope) for scope in body.scopes),
        within=acting_key(router).scopes,
        expires_at=body.expires_at,
        tenants=services.tenants,
        audit=services.audit,
        clock=services.clock,
    )
    return json_answer(IssuedKeyBody.of(issued), status=201)


@router.post(
    "/v1/keys/<key_id>/rotate",
    summary="Replace an API key",
    description="A new key with the same name, scopes and expiry; the old one serves for `grace_s` more, so that "
    "programs can change over one by one.",
    operation_id="rotateKey",
    openapi_extensions=needs(Scope.MANAGE),
    tags=["account"],
    responses=outcomes({201: ("The new key and its secret.", IssuedKeyBody)}, (400, 404, 409, 413, 415)),
)
def rotate(key_id: KeyId, body: Annotated[RotationBody, Body()]) -> Response[str]:
    services = runtime.services()
    issued = rotate_key(
        key_id,
        tenant_id=caller(router).id,
        actor=acting_key(router).id,
        within=acting_key(router).scopes,
        grace_s=body.grace_s,
        tenants=services.tenants,
        audit=services.audit,
        clock=services.clock,
    )
    return json_answer(IssuedKeyBody.of(issued), status=201)


@router.delete(
    "/v1/keys/<key_id>",
    summary="Revoke an API key",
    description="Refused from now on. A key may revoke itself.",
    operation_id="revokeKey",
    openapi_extensions=needs(Scope.MANAGE),
    tags=["account"],
    responses=outcomes({204: ("Revoked.", None)}, (404,)),
)
def revoke(key_id: KeyId) -> Response[None]:
    services = runtime.services()
    revoke_key(
        key_id,
        tenant_id=caller(router).id,
        actor=acting_key(router).id,
        tenants=services.tenants,
        audit=services.audit,
        clock=services.clock,
    )
    return Response(status_code=204, body=None)


@router.get(
    "/v1/audit",
    summary="Read the audit log",
    description="Who did what to which thing, newest first: keys, consents and their uses, declarations, deletions, "
    "labels turned off, acts of the operator. Ids, codes and numbers only.",
    operation_id="listAudit",
    openapi_extensions=needs(Scope.MANAGE),
    tags=["account"],
    responses=outcomes({200: ("A slice of the log.", AuditBody)}, (400,)),
)
def list_audit(cursor: Cursor = None, limit: Limit = 50) -> Response[str]:
    page = runtime.services().audit.list(caller(router).id, cursor=cursor, limit=limit)
    return json_answer(AuditBody(items=[AuditEntryBody.of(entry) for entry in page.items], next_cursor=page.cursor))
