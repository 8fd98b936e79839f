"""The rules of what is behind the person shown."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from typing import Final

from services.domain.errors import InvalidRequest
from services.domain.outside_url import SOURCE, parse_outside_url
from services.domain.video import Background, BackgroundKind
from services.settings import Settings
from services.usecases.check_choice import exactly_one
from services.usecases.check_upload import check_upload
from services.usecases.sources import Sources

OF_VIDEOS: Final = frozenset(BackgroundKind) - {BackgroundKind.STUDIO}
OF_PICTURES: Final = frozenset(BackgroundKind)
_COLOR: Final = re.compile(r"#[0-9a-fA-F]{6}")


def check_background(
    background: Background, settings: Settings, *, kinds: Collection[BackgroundKind], param: str = "background"
) -> None:
    """Nothing, when the background is of one of ``kinds`` and has what that needs, and nothing else.

    Raises:
        InvalidRequest: ``exactly_one``, ``missing``, ``not_used``, ``malformed_color``, ``out_of_range``.
        ContentRejected: ``source_url_refused``.
    """
    kind = background.kind
    if kind not in kinds:
        known = ", ".join(sorted(kinds))
        raise InvalidRequest(
            f"{param}.kind is {kind}; possible are {known}.", code="out_of_range", param=f"{param}.kind"
        )
    if background.upload_id is not None and background.source_url is not None:
        exactly_one(param, upload_id=background.upload_id, source_url=background.source_url)
    picture = "source_url" if background.source_url is not None else "upload_id"
    may_have_color = kind is BackgroundKind.STUDIO
    for field, needed_by in (("color", BackgroundKind.COLOR), (picture, BackgroundKind.IMAGE)):
        given = getattr(background, field) is not None
        if given != (kind is needed_by) and not (field == "color" and may_have_color):
            fault = f"{field} is only for" if given else f"{field} is needed for"
            code = "not_used" if given else "missing"
            raise InvalidRequest(f"{param}.{fault} kind {needed_by}.", code=code, param=f"{param}.{field}")
    if background.color is not None:
        check_color(background.color, param=f"{param}.color")
    if background.source_url is not None:
        purpose = replace(SOURCE, param=f"{param}.source_url")
        parse_outside_url(background.source_url, allow_private=settings.allow_private_callbacks, purpose=purpose)


def check_background_upload(
    background: Background, *, tenant_id: str, sources: Sources, param: str = "background"
) -> None:
    """Nothing, when the upload that the background names, if it names one, is a picture that has arrived.

    Raises:
        ContentRejected: What ``check_upload`` says.
    """
    if background.upload_id is not None:
        check_upload(
            background.upload_id,
            ("image",),
            tenant_id=tenant_id,
            uploads=sources.uploads,
            objects=sources.objects,
            settings=sources.settings,
            param=f"{param}.upload_id",
        )


def check_color(color: str, *, param: str) -> None:
    """Nothing, when ``color`` is of the form ``#rrggbb``.

    Raises:
        InvalidRequest: ``malformed_color``.
    """
    if not _COLOR.fullmatch(color):
        raise InvalidRequest(f"{color!r} is no colour of the form #rrggbb.", code="malformed_color", param=param)
