"""Whether the person of a request may be shown: the rules of the choice, and by what right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from services.domain.errors import ContentRejected, NotFound
from services.domain.model_choice import DARKEST, LIGHTEST, ModelChoice, Pose
from services.domain.outside_url import SOURCE, parse_outside_url
from services.settings import Settings
from services.usecases.check_choice import exactly_one
from services.usecases.check_consent import LikenessClaim
from services.usecases.check_text import check_in_range
from services.usecases.check_upload import check_upload
from services.usecases.choose_model import choose_model
from services.usecases.sources import Sources

_MAX_FACE: Final = 1000
AVATAR: Final = "avatar_"


def check_model(choice: ModelChoice, settings: Settings, *, param: str) -> None:
    """Nothing, when the choice keeps every rule that needs nothing but itself.

    Raises:
        InvalidRequest: ``exactly_one``, ``out_of_range``.
        ContentRejected: ``source_url_refused``.
    """
    exactly_one(
        param,
        upload_id=choice.upload_id,
        source_url=choice.source_url,
        model_id=choice.model_id,
        specification=choice.specification,
    )
    if choice.face is not None:
        check_in_range(f"{param}.face", choice.face, 0, _MAX_FACE)
    tones = None if choice.specification is None else choice.specification.skin_tone
    if tones is not None:
        check_in_range(f"{param}.specification.skin_tone.darkest", tones.darkest, LIGHTEST, DARKEST)
        check_in_range(f"{param}.specification.skin_tone.lightest", tones.lightest, LIGHTEST, tones.darkest)
    if choice.source_url is not None:
        purpose = replace(SOURCE, param=f"{param}.source_url")
        parse_outside_url(choice.source_url, allow_private=settings.allow_private_callbacks, purpose=purpose)


def claim_on_model(
    choice: ModelChoice, *, tenant_id: str, sources: Sources, poses: Sequence[frozenset[Pose]], seed: int, param: str
) -> LikenessClaim | None:
    """By what right the person is shown; None where none is needed. What the choice names is there.

    An avatar keeps its own right, so that a revoked consent cannot be talked away.

    Raises:
        ContentRejected: ``model_not_found``, ``avatar_not_found``, ``not_a_picture``, ``checkpoint_not_configured``,
            and what ``check_upload`` says.
    """
    asked = LikenessClaim(consent_id=choice.consent_id, synthetic=choice.synthetic, param=param)
    if choice.upload_id is not None:
        check_upload(
            choice.upload_id,
            ("image",),
            tenant_id=tenant_id,
            uploads=sources.uploads,
            objects=sources.objects,
            settings=sources.settings,
            param=f"{param}.upload_id",
        )
    if choice.specification is not None:
        choose_model(
            choice.specification,
            models=sources.models,
            poses=poses,
            seed=seed,
            param=f"{param}.specification",
            may_generate=bool(sources.settings.model_checkpoint),
        )
        return None
    if choice.model_id is None:
        return asked
    try:
        if not choice.model_id.startswith(AVATAR):
            sources.models.get(choice.model_id)
            return None  # built in
        avatar = sources.avatars.get(tenant_id, choice.model_id)
    except NotFound as error:
        raise ContentRejected(error.detail, code=error.code, param=f"{param}.model_id") from error
    if avatar.kind != "picture":
        raise ContentRejected(
            f"Avatar {avatar.id} is a video; a model is a picture.", code="not_a_picture", param=f"{param}.model_id"
        )
    if avatar.consent_id is not None:
        return LikenessClaim(consent_id=avatar.consent_id, param=param)
    if (avatar.tenant_id is None or avatar.synthetic) and asked.consent_id is None:
        return None  # built in, or declared when it was made
    return asked
