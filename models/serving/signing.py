"""The engine's signer, and the signing of what an attempt made."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from models.provenance.credentials import sign_file
from models.provenance.marks import Marks
from services.domain.media_format import START_BYTES, format_of
from services.ports.signer import Signer
from services.settings import Settings

_MEDIA_TYPES: Final = {
    "JPEG": "image/jpeg",
    "PNG": "image/png",
    "GIF": "image/gif",
    "TIFF": "image/tiff",
    "WebP": "image/webp",
    "HEIC": "image/heic",
    "AVIF": "image/avif",
    "BMP": "image/bmp",
    "MP4 or MOV": "video/mp4",
    "QuickTime": "video/quicktime",
    "WebM or Matroska": "video/webm",
    "M4A": "audio/mp4",
    "MP3 or AAC": "audio/mpeg",
    "WAV": "audio/wav",
    "FLAC": "audio/flac",
    "Ogg": "audio/ogg",
}


def signer_of(settings: Settings) -> Signer:
    """The signer for one attempt; it looks at no key before it is used.

    On AWS it has a session of its own, so that it signs with the credentials of the attempt.
    """
    if not settings.signing_key_id:
        from services.adapters.local.signer import LocalSigner

        return LocalSigner(settings.state_dir)
    import boto3

    from services.adapters.aws.clients import Clients
    from services.adapters.aws.kms_signer import KmsSigner
    from services.adapters.aws.secrets import SecretsManagerSecrets

    clients = Clients(boto3.Session())
    return KmsSigner(
        clients,
        settings.signing_key_id,
        secrets=SecretsManagerSecrets(clients),
        certificate_secret=settings.certificate_secret,
    )


def sign_outputs(
    files: Mapping[str, Path],
    marks: Mapping[str, Marks],
    signer: Signer,
    *,
    sources: tuple[str, ...],
    timestamp_url: str,
) -> None:
    """Give each of ``files`` that has marks its Content Credentials, in place.

    Args:
        sources: Media types of what the client sent and the files were made of.

    Raises:
        Unavailable: ``signing_unavailable`` (retryable).
        EngineFailed: ``signing_failed`` (retryable).
    """
    for role, mark in marks.items():
        sign_file(files[role], mark, signer, ingredients=sources, timestamp_url=timestamp_url)


def media_type_of(path: Path) -> str:
    """The media type of the file at ``path`` by its first bytes."""
    with path.open("rb") as file:
        found = format_of(file.read(START_BYTES))
    return _MEDIA_TYPES.get(found.name if found else "", "application/octet-stream")
