"""Permit a client to send one file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from services.domain.errors import ContentRejected
from services.domain.object_key import ObjectKey, Retention
from services.ports.clock import Clock
from services.ports.objects import ObjectStore, SignedUpload
from services.ports.uploads import Upload, UploadStore
from services.settings import Settings

# Raster pictures, sound and video that the engine's decoders read. No SVG or HTML: they carry scripts. PDF only as the
# evidence of a consent, which is kept and never opened here; tables and lines of JSON only as batches.
MEDIA_TYPES: Final = {
    "application/jsonl": "jsonl",
    "application/pdf": "pdf",
    "image/avif": "avif",
    "image/bmp": "bmp",
    "image/gif": "gif",
    "image/heic": "heic",
    "image/jpeg": "jpg",
    "image/png": "png",
    "image/tiff": "tiff",
    "image/webp": "webp",
    "audio/aac": "aac",
    "audio/flac": "flac",
    "audio/mp4": "m4a",
    "audio/mpeg": "mp3",
    "audio/ogg": "ogg",
    "audio/wav": "wav",
    "audio/webm": "weba",
    "text/csv": "csv",
    "video/mp4": "mp4",
    "video/quicktime": "mov",
    "video/webm": "webm",
    "video/x-matroska": "mkv",
    "video/x-msvideo": "avi",
}
_ALIASES: Final = {
    "application/csv": "text/csv",
    "application/json-lines": "application/jsonl",
    "application/vnd.ms-excel": "text/csv",  # as browsers call a .csv where a spreadsheet program is installed
    "application/x-jsonlines": "application/jsonl",
    "application/x-ndjson": "application/jsonl",
    "audio/m4a": "audio/mp4",
    "audio/mp3": "audio/mpeg",
    "audio/vnd.wave": "audio/wav",
    "audio/wave": "audio/wav",
    "audio/x-aac": "audio/aac",
    "audio/x-flac": "audio/flac",
    "audio/x-m4a": "audio/mp4",
    "audio/x-wav": "audio/wav",
    "image/jpg": "image/jpeg",
    "image/pjpeg": "image/jpeg",
    "image/x-ms-bmp": "image/bmp",
    "image/x-png": "image/png",
    "text/jsonl": "application/jsonl",
    "text/tab-separated-values": "text/csv",
    "video/avi": "video/x-msvideo",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PermittedUpload:
    """The upload's row, and the request that sends its bytes."""

    upload: Upload
    signed: SignedUpload


def create_upload(
    *,
    upload_id: str,
    tenant_id: str,
    file_name: str,
    media_type: str,
    size_bytes: int,
    uploads: UploadStore,
    objects: ObjectStore,
    clock: Clock,
    settings: Settings,
) -> PermittedUpload:
    """A new upload with its signed request. Asked again with the same id, the answer is the same upload.

    Raises:
        ContentRejected: ``unsupported_media_type``, ``upload_too_large``, ``empty_file``.
    """
    kind = media_type.partition(";")[0].strip().lower()
    kind = _ALIASES.get(kind, kind)
    if kind not in MEDIA_TYPES:
        raise ContentRejected(
            f"Files of type {media_type!r} are not taken; send one of {', '.join(sorted(MEDIA_TYPES))}.",
            code="unsupported_media_type",
            param="media_type",
        )
    if size_bytes > settings.max_upload_bytes:
        raise ContentRejected(
            f"The file has {size_bytes} bytes; the limit is {settings.max_upload_bytes}.",
            code="upload_too_large",
            param="size_bytes",
        )
    if size_bytes < 1:
        raise ContentRejected("The file is empty.", code="empty_file", param="size_bytes")
    key = ObjectKey(
        retention=Retention.UPLOAD,
        tenant_id=tenant_id,
        owner_id=upload_id,
        attempt=0,
        name=f"file.{MEDIA_TYPES[kind]}",
    )
    upload = Upload(
        id=upload_id,
        tenant_id=tenant_id,
        object_key=str(key),
        media_type=kind,
        size_bytes=size_bytes,
        file_name=file_name,
        created_at=clock.now(),
    )
    uploads.add(upload)
    signed = objects.sign_upload(key, media_type=kind, size_bytes=size_bytes, expires_in_s=settings.link_lifetime_s)
    return PermittedUpload(upload=upload, signed=signed)
