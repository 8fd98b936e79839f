"""Uploads."""

from __future__ import annotations

from typing import Annotated, Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body

from lambdas import runtime
from lambdas.api.answers import answered_once, caller, json_answer, outcomes
from lambdas.api.request_parts import IdempotencyKey
from lambdas.api.resolver import new_router
from lambdas.api.schemas.uploads import UploadBody, UploadRequestBody
from lambdas.api.scopes import needs
from services.domain.scope import Scope
from services.usecases.create_upload import create_upload

router: Final = new_router()


@router.post(
    "/v1/uploads",
    summary="Permit an upload",
    description="Answers a signed request; send the file's bytes with exactly that method, URL and headers. Then name "
    "the upload's id in other requests.",
    operation_id="createUpload",
    openapi_extensions=needs(Scope.CREATE),
    tags=["uploads"],
    responses=outcomes(
        {201: ("The upload, with the request that sends its bytes.", UploadBody)}, (400, 409, 413, 415, 422)
    ),
)
def create(body: Annotated[UploadRequestBody, Body()], idempotency_key: IdempotencyKey = None) -> Response[str]:
    services, tenant = runtime.services(), caller(router)

    def permit(upload_id: str) -> Response[str]:
        permitted = create_upload(
            upload_id=upload_id,
            tenant_id=tenant.id,
            file_name=body.file_name,
            media_type=body.media_type,
            size_bytes=body.size_bytes,
            uploads=services.uploads,
            objects=services.objects,
            clock=services.clock,
            settings=services.settings,
        )
        return json_answer(UploadBody.of(permitted), status=201)

    return answered_once(router, idempotency_key, kind="upload", create=permit)
