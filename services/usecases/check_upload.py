"""Whether an upload can be used in the place for which it is named."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from services.domain.errors import ContentRejected, InvalidRequest, NotFound
from services.domain.media_format import START_BYTES, format_of
from services.domain.object_key import ObjectKey
from services.domain.picture_end import is_cut_off
from services.domain.picture_size import size_of
from services.ports.objects import ObjectStore
from services.ports.uploads import Upload, UploadStore
from services.settings import Settings

_MAX_SIDE: Final = 65_535  # what a JPEG can have: beyond, decoders and filters need memory that pixels do not tell of


def find_upload(upload_id: str, *, tenant_id: str, uploads: UploadStore, param: str) -> Upload:
    """The tenant's upload.

    Raises:
        ContentRejected: ``upload_not_found``.
    """
    try:
        return uploads.get(tenant_id, upload_id)
    except (NotFound, InvalidRequest) as error:
        raise ContentRejected(f"There is no upload {upload_id}.", code="upload_not_found", param=param) from error


def check_upload(
    upload_id: str,
    families: Collection[str],
    *,
    tenant_id: str,
    uploads: UploadStore,
    objects: ObjectStore,
    settings: Settings,
    param: str,
) -> None:
    """Nothing, when the upload is there, and announced as and begins like a file of one of ``families``.

    Raises:
        ContentRejected: ``wrong_media_type``, and what ``find_upload`` and ``check_bytes`` say.
    """
    upload = find_upload(upload_id, tenant_id=tenant_id, uploads=uploads, param=param)
    announced = upload.media_type.partition("/")[0]
    if announced not in families:
        raise ContentRejected(
            f"{upload.file_name!r} is of type {upload.media_type}; needed is {' or '.join(families)}.",
            code="wrong_media_type",
            param=param,
        )
    # Sound may come in a video's container and the other way round; a picture is no video.
    kinds = families if "audio" in families else (announced,)
    check_bytes(upload, kinds, objects=objects, settings=settings, param=param)


def check_bytes(
    upload: Upload, families: Collection[str], *, objects: ObjectStore, settings: Settings, param: str
) -> None:
    """Nothing, when the upload's bytes have arrived and begin like a file of one of ``families``.

    Args:
        families: First parts of media types: ``image``, ``audio``, ``video``; ``document``.

    Raises:
        ContentRejected: ``upload_incomplete``, ``empty_file``, ``unsupported_media``, ``picture_too_large``,
            ``unreadable_media``.
    """
    try:
        start = objects.start_of(ObjectKey.parse(upload.object_key), size_bytes=START_BYTES)
    except NotFound as error:
        raise ContentRejected(
            f"The bytes of {upload.file_name!r} have not arrived; send them to its signed URL first.",
            code="upload_incomplete",
            param=param,
        ) from error
    if not start:
        raise ContentRejected(f"{upload.file_name!r} is empty.", code="empty_file", param=param)
    found = format_of(start)
    if found is None or not found.families.intersection(families):
        what = "begins like no picture, sound or video that is taken" if found is None else f"is a {found.name} file"
        raise ContentRejected(
            f"{upload.file_name!r} was announced as {upload.media_type}, but it {what}; send the file itself, "
            "or announce it as what it is.",
            code="unsupported_media",
            param=param,
        )
    check_picture_size(start, name=repr(upload.file_name), settings=settings, param=param)


def check_whole(upload: Upload, *, objects: ObjectStore, param: str) -> None:
    """Nothing, unless the upload is a picture that was cut off on its way. Reads it once, and unpacks nothing.

    Raises:
        ContentRejected: ``unreadable_media``.
    """
    with objects.local_copy(ObjectKey.parse(upload.object_key)) as path, path.open("rb") as file:
        if is_cut_off(file):
            raise ContentRejected(
                f"{upload.file_name!r} is cut off: it ends before the picture does. Export or send it again.",
                code="unreadable_media",
                param=param,
            )


def check_picture_size(start: bytes, *, name: str, settings: Settings, param: str) -> None:
    """Nothing, unless the file that begins with ``start`` is a picture of no pixels, or that would unpack to too many.

    Raises:
        ContentRejected: ``picture_too_large``, ``unreadable_media``.
    """
    size = size_of(start)
    if size is None:
        return
    if 0 in size:
        raise ContentRejected(
            f"{name} is {size[0]}x{size[1]} pixels: there is nothing in it.", code="unreadable_media", param=param
        )
    if size[0] * size[1] > settings.max_picture_pixels or max(size) > _MAX_SIDE:
        raise ContentRejected(
            f"{name} is {size[0]}x{size[1]} pixels; at most {settings.max_picture_pixels:,} in all and {_MAX_SIDE:,} a "
            "side are accepted. Scale it down.",
            code="picture_too_large",
            param=param,
        )
