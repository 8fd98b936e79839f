"""Make an uploaded picture or video a presenter that can be used again, and take it out again."""

from __future__ import annotations

from services.domain.consent import Likeness
from services.domain.errors import ContentRejected, Forbidden, SpokesmodelError
from services.domain.object_key import ObjectKey, Retention
from services.ports.audit import AuditLog
from services.ports.catalogue import Avatar, AvatarCatalogue
from services.ports.clock import Clock
from services.ports.consents import ConsentStore
from services.ports.objects import ObjectStore
from services.ports.uploads import UploadStore
from services.settings import Settings
from services.usecases.check_consent import LikenessClaim, check_claim, claim_on_upload, note_claim
from services.usecases.check_text import check_characters
from services.usecases.check_upload import check_bytes, check_whole, find_upload
from services.usecases.record_act import record_act


def register_avatar(
    *,
    avatar_id: str,
    tenant_id: str,
    name: str,
    upload_id: str,
    claim: LikenessClaim,
    actor: str,
    avatars: AvatarCatalogue,
    uploads: UploadStore,
    objects: ObjectStore,
    consents: ConsentStore,
    audit: AuditLog,
    clock: Clock,
    settings: Settings,
) -> Avatar:
    """A new avatar with its own copy of the upload, which may then expire.

    Raises:
        ContentRejected: ``upload_not_found``, ``upload_incomplete``, ``empty_file``, ``not_a_picture_or_video``,
            ``unsupported_media``, ``unreadable_media``, ``picture_too_large``, ``control_character``,
            ``consent_not_found``.
        InvalidRequest: ``exactly_one``.
        Forbidden: ``consent_required``, ``consent_revoked``, ``consent_expired``.
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
    check_bytes(upload, (announced,), objects=objects, settings=settings, param="upload_id")
    if kind == "picture":
        check_whole(upload, objects=objects, param="upload_id")
    claim = claim_on_upload(claim, upload_id, tenant_id=tenant_id, consents=consents, clock=clock)
    check_claim(claim, Likeness.FACE, tenant_id=tenant_id, consents=consents, clock=clock, settings=settings)
    note_claim(
        claim,
        Likeness.FACE,
        avatar_id,
        upload_id,
        tenant_id=tenant_id,
        actor=actor,
        consents=consents,
        audit=audit,
        clock=clock,
    )
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
        consent_id=claim.consent_id,
        synthetic=claim.synthetic,
    )
    avatars.add(avatar)
    try:  # the subject may have been deleted since the first look, and would not find this avatar
        check_claim(claim, Likeness.FACE, tenant_id=tenant_id, consents=consents, clock=clock, settings=settings)
    except SpokesmodelError:
        avatars.delete(tenant_id, avatar_id)
        objects.delete_owner(tenant_id, avatar_id)
        raise
    return avatar


def delete_avatar(
    *,
    avatar_id: str,
    tenant_id: str,
    actor: str,
    avatars: AvatarCatalogue,
    objects: ObjectStore,
    audit: AuditLog,
    clock: Clock,
) -> None:
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
    record_act("avatar.deleted", avatar_id, tenant_id=tenant_id, actor=actor, audit=audit, clock=clock)
