"""Avatars, voices, languages."""

from __future__ import annotations

from typing import Annotated, Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body, Path, Query

from lambdas import runtime
from lambdas.api.answers import acting_key, answered_once, caller, json_answer, outcomes
from lambdas.api.request_parts import IdempotencyKey
from lambdas.api.resolver import new_router
from lambdas.api.routes.jobs import Cursor, Limit
from lambdas.api.schemas.base import PageBody
from lambdas.api.schemas.catalogue import (
    AvatarBody,
    AvatarRequestBody,
    LanguageBody,
    LanguagesBody,
    VoiceInfoBody,
    VoicesBody,
)
from lambdas.api.scopes import needs
from services.domain.object_key import ObjectKey
from services.domain.scope import Scope
from services.ports.catalogue import Avatar
from services.usecases.check_consent import LikenessClaim
from services.usecases.register_avatar import delete_avatar, register_avatar

router: Final = new_router()

AvatarId = Annotated[str, Path(description="The avatar's id.", examples=["avatar_01M8PBZJY0G2HC7X6V5HT6Q7K4"])]


class AvatarsBody(PageBody[AvatarBody]):
    """A slice of the avatars: the tenant's own and the built-in ones."""


@router.get(
    "/v1/avatars",
    summary="List avatars",
    description="Presenters that can be named in a video: the tenant's own and the built-in ones.",
    operation_id="listAvatars",
    openapi_extensions=needs(Scope.READ),
    tags=["avatars"],
    responses=outcomes({200: ("A slice of the avatars.", AvatarsBody)}, (400,)),
)
def list_avatars(cursor: Cursor = None, limit: Limit = 50) -> Response[str]:
    page = runtime.services().avatars.list(caller(router).id, cursor=cursor, limit=limit)
    return json_answer(AvatarsBody(items=[_body(avatar) for avatar in page.items], next_cursor=page.cursor))


@router.post(
    "/v1/avatars",
    summary="Keep an upload as an avatar",
    description="The avatar gets its own copy of the upload. It needs the consent of the person shown, or the "
    "declaration that no real person is.",
    operation_id="createAvatar",
    openapi_extensions=needs(Scope.CREATE),
    tags=["avatars"],
    responses=outcomes({201: ("The avatar.", AvatarBody)}, (400, 409, 410, 413, 415, 422)),
)
def create(body: Annotated[AvatarRequestBody, Body()], idempotency_key: IdempotencyKey = None) -> Response[str]:
    services, tenant = runtime.services(), caller(router)

    def register(avatar_id: str) -> Response[str]:
        avatar = register_avatar(
            avatar_id=avatar_id,
            tenant_id=tenant.id,
            name=body.name,
            upload_id=body.upload_id,
            claim=LikenessClaim(consent_id=body.consent_id, synthetic=body.synthetic),
            actor=acting_key(router).id,
            avatars=services.avatars,
            uploads=services.uploads,
            objects=services.objects,
            consents=services.consents,
            audit=services.audit,
            clock=services.clock,
            settings=services.settings,
        )
        return json_answer(_body(avatar), status=201, headers={"Location": f"/v1/avatars/{avatar.id}"})

    def find(avatar_id: str) -> object:
        return services.avatars.get(tenant.id, avatar_id)

    return answered_once(router, idempotency_key, kind="avatar", create=register, find=find)


@router.get(
    "/v1/avatars/<avatar_id>",
    summary="Read an avatar",
    operation_id="getAvatar",
    openapi_extensions=needs(Scope.READ),
    tags=["avatars"],
    responses=outcomes({200: ("The avatar.", AvatarBody)}, (404,)),
)
def read(avatar_id: AvatarId) -> Response[str]:
    return json_answer(_body(runtime.services().avatars.get(caller(router).id, avatar_id)))


@router.delete(
    "/v1/avatars/<avatar_id>",
    summary="Delete an avatar",
    description="Jobs that use it already keep their copy. Built-in avatars cannot be deleted.",
    operation_id="deleteAvatar",
    openapi_extensions=needs(Scope.CREATE),
    tags=["avatars"],
    responses=outcomes({204: ("Deleted.", None)}, (403, 404)),
)
def delete(avatar_id: AvatarId) -> Response[None]:
    services = runtime.services()
    delete_avatar(
        avatar_id=avatar_id,
        tenant_id=caller(router).id,
        actor=acting_key(router).id,
        avatars=services.avatars,
        objects=services.objects,
        audit=services.audit,
        clock=services.clock,
    )
    return Response(status_code=204, body=None)


@router.get(
    "/v1/voices",
    summary="List voices",
    operation_id="listVoices",
    openapi_extensions=needs(Scope.READ),
    tags=["voices"],
    responses=outcomes({200: ("The voices.", VoicesBody)}, (400,)),
)
def list_voices(
    language: Annotated[
        str | None, Query(description="Only voices of this language: `en` takes `en-GB` too.", examples=["en"])
    ] = None,
) -> Response[str]:
    voices = runtime.services().voices.list(language=language)
    return json_answer(VoicesBody(items=[VoiceInfoBody.of(voice) for voice in voices]))


@router.get(
    "/v1/languages",
    summary="List languages",
    description="Every language that has a voice.",
    operation_id="listLanguages",
    openapi_extensions=needs(Scope.READ),
    tags=["voices"],
    responses=outcomes({200: ("The languages.", LanguagesBody)}),
)
def list_languages() -> Response[str]:
    languages = runtime.services().voices.languages()
    return json_answer(LanguagesBody(items=[LanguageBody.of(language) for language in languages]))


def _body(avatar: Avatar) -> AvatarBody:
    services = runtime.services()
    key = ObjectKey.parse(avatar.object_key)
    url = services.objects.sign_download(
        key, file_name=f"{avatar.id}-{key.name}", expires_in_s=services.settings.link_lifetime_s
    )
    return AvatarBody.of(avatar, preview_url=url)
