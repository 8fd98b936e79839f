"""Make an uploaded picture or video a presenter that can be used again, and take it out again."""

from __future__ import annotations

from services.domain.errors import ContentRejected, Forbidden
from services.domain.object_key import ObjectKey, Retention
from services.ports.catalogue import Avatar, AvatarCatalogue
from services.ports.clock import Clock
from services.ports.objects import ObjectStore
from services.ports.uploads import UploadStore
from services.usecases.check_text import check_characters
from services.usecases.check_upload import check_bytes, find_upload


def register_avatar(
    *,
    avatar_id: str,
    tenant_id: str,
    name: str,
    upload_id: str,
    avatars: AvatarCatalogue,
    uploads: UploadStore,
    objects: ObjectStore,
    clock: Clock,
) -> Avatar:
    """A new avatar with its own copy of the upload, which may then expire.

    Raises:
        ContentRejected: ``upload_not_found``, ``upload_incomplete``, ``empty_file``, ``not_a_picture_or_video``,
            ``unsupported_media``, ``control_character``.
    """
    check_characters(name, param="name")
    upload = find_upload(upload_id, tenant_id=tenant_id, uploads=uploads, param="upload_id")
    announced = upload.media_type.partition("/")[0]
    kind = {"image": "picture", "video": "video"}.get(announced)
    if kind is None:
        raise ContentRejected(
            f"The upload is of type {upload.media_type}; an avatar is a picture or a video.",
            code="not_a_picture_or_video",
            param="upload_id",
        )
    check_bytes(upload, (announced,), objects=objects, param="upload_id")
    source = ObjectKey.parse(upload.object_key)
    target = ObjectKey(
        retention=Retention.CATALOGUE, tenant_id=tenant_id, owner_id=avatar_id, attempt=0, name=source.name
    )
    objects.copy(source, target)
    avatar = Avatar(
        id=avatar_id,
        tenant_id=tenant_id,
        name=name,
        kind=kind,
        object_key=str(target),
        media_type=upload.media_type,
        created_at=clock.now(),
    )
    avatars.add(avatar)
    return avatar


def delete_avatar(*, avatar_id: str, tenant_id: str, avatars: AvatarCatalogue, objects: ObjectStore) -> None:
    """Remove a tenant's own avatar and its file; jobs that already took a copy are not touched.

    Raises:
        NotFound: ``avatar_not_found``.
        Forbidden: ``avatar_built_in``.
    """
    avatar = avatars.get(tenant_id, avatar_id)
    if avatar.tenant_id is None:
        raise Forbidden(f"Avatar {avatar_id} is built in and cannot be deleted.", code="avatar_built_in")
    avatars.delete(tenant_id, avatar_id)
    objects.delete_owner(tenant_id, avatar_id)
