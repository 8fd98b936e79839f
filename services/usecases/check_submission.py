"""Whether a video would be accepted: everything that needs no media opened."""

from __future__ import annotations

from typing import Final

from services.domain.consent import Likeness
from services.domain.errors import ContentRejected, NotFound
from services.domain.video import Presenter, SpokenText, VideoRequest
from services.ports.catalogue import AvatarCatalogue, VoiceCatalogue
from services.ports.clock import Clock
from services.ports.consents import ConsentStore
from services.ports.objects import ObjectStore
from services.ports.uploads import UploadStore
from services.settings import Settings
from services.usecases.check_consent import LikenessClaim, check_claim, claim_on_upload
from services.usecases.check_upload import check_upload
from services.usecases.check_video import check_callback, check_video
from services.usecases.check_voice import check_voice

_FAMILIES: Final = {"presenter": ("image", "video"), "speech": ("audio", "video"), "background": ("image",)}


def check_submission(
    request: VideoRequest,
    *,
    tenant_id: str,
    uploads: UploadStore,
    avatars: AvatarCatalogue,
    voices: VoiceCatalogue,
    objects: ObjectStore,
    consents: ConsentStore,
    clock: Clock,
    settings: Settings,
    callback_url: str | None = None,
    callback_id: str | None = None,
    has_language_model: bool = False,
) -> LikenessClaim | None:
    """By what right the presenter is shown, when the video would be accepted; None where none is needed any more.

    Nothing is stored, so a batch asks it for each row before any runs.

    Args:
        has_language_model: Whether one will write the scripts of briefs; the template writer knows fewer languages.

    Raises:
        InvalidRequest: a rule of the form is broken: ``exactly_one``, ``out_of_range`` and others of ``check_video``.
        ContentRejected: ``nothing_to_say``, ``text_too_long``, ``callback_url_refused``; what is referred to is not
            there or of the wrong kind: ``avatar_not_found``, ``upload_not_found``, ``upload_incomplete``,
            ``empty_file``, ``wrong_media_type``, ``unsupported_media``, ``picture_too_large``,
            ``voice_not_found``, ``language_not_spoken``,
            ``language_not_written``, ``facts_in_other_language``, ``consent_not_found``.
        Forbidden: ``consent_required``, ``consent_revoked``, ``consent_expired``.
    """
    check_video(request, settings)
    check_callback(callback_url, callback_id, settings)
    if isinstance(request.speech, SpokenText):
        check_voice(request.speech, voices, has_language_model=has_language_model)
    claim = _claim_of(request.presenter, tenant_id=tenant_id, avatars=avatars)
    upload_id = request.presenter.upload_id
    if claim is not None and upload_id is not None:
        claim = claim_on_upload(claim, upload_id, tenant_id=tenant_id, consents=consents, clock=clock)
    for param, upload_id in _uploads_of(request).items():
        check_upload(
            upload_id,
            _FAMILIES[param.partition(".")[0]],
            tenant_id=tenant_id,
            uploads=uploads,
            objects=objects,
            settings=settings,
            param=param,
        )
    if claim is not None:
        check_claim(claim, Likeness.FACE, tenant_id=tenant_id, consents=consents, clock=clock, settings=settings)
    return claim


def _claim_of(presenter: Presenter, *, tenant_id: str, avatars: AvatarCatalogue) -> LikenessClaim | None:
    """The avatar's own right where it has one, so that a revoked consent cannot be talked away; else the request's."""
    asked = LikenessClaim(consent_id=presenter.consent_id, synthetic=presenter.synthetic, param="presenter")
    if presenter.avatar_id is None:
        return asked
    try:
        avatar = avatars.get(tenant_id, presenter.avatar_id)
    except NotFound as error:
        raise ContentRejected(error.detail, code=error.code, param="presenter.avatar_id") from error
    if avatar.consent_id is not None:
        return LikenessClaim(consent_id=avatar.consent_id, param="presenter")
    if (avatar.tenant_id is None or avatar.synthetic) and asked.consent_id is None:
        return None  # built in, or declared when it was made
    return asked


def _uploads_of(request: VideoRequest) -> dict[str, str]:
    """Upload ids by the request field that names them."""
    speech = request.speech
    found = {
        "presenter.upload_id": request.presenter.upload_id,
        "speech.audio_upload_id": None if isinstance(speech, SpokenText) else speech.upload_id,
        "background.upload_id": request.background.upload_id,
    }
    return {param: upload_id for param, upload_id in found.items() if upload_id is not None}
