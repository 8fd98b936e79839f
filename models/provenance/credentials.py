"""Content Credentials: a C2PA manifest in the file, signed by the service's key."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from models.provenance.marks import GENERATOR, GENERATOR_VERSION, Marks
from services.domain.errors import EngineFailed, SpokesmodelError, Unavailable
from services.ports.signer import Signer

# What can carry a manifest; the container of webm cannot (C2PA 2.4, "Embedding manifests").
SIGNED_TYPES: Final = {
    ".mp4": "video/mp4",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".png": "image/png",
    ".webp": "image/webp",
    ".gif": "image/gif",
}
# Nothing is fetched, and no thumbnail is made: it would be a second face in the file, and 0.7 MB.
OFFLINE: Final[dict[str, Any]] = {
    "version": 1,
    "builder": {"thumbnail": {"enabled": False}},
    "verify": {"remote_manifest_fetch": False, "ocsp_fetch": False},
}
_SIGNATURE_BYTES: Final = 64  # r and s of P-256
_GOOD_STATES: Final = ("Valid", "Trusted")


def sign_file(
    path: Path,
    marks: Marks,
    signer: Signer,
    *,
    ingredients: Sequence[str] = (),
    timestamp_url: str = "",
    now: datetime | None = None,
) -> None:
    """Put a signed manifest into the file at ``path``; it is replaced at once or stays as it was.

    Args:
        ingredients: Media types of what went into the file. They are named by type only: no name, no hash, no thumbnail
            and no manifest of their own, which may hold their author.
        timestamp_url: An RFC 3161 authority that vouches for the time; empty asks none and works offline.
        now: For the check of the certificate; None asks the clock.

    Raises:
        Unavailable: ``signing_unavailable`` (retryable): the key, its certificate or the authority cannot be used.
        EngineFailed: ``signing_failed`` (retryable): a manifest could not be written, or does not verify.
    """
    import c2pa

    now = now or datetime.now(UTC)
    chain = signer.certificate_chain_pem()
    _require_current(chain, now)
    media_type = SIGNED_TYPES[path.suffix.lower()]
    signed = path.with_name(f".{path.name[-100:]}.signed")
    refusals: list[SpokesmodelError] = []

    def sign(data: bytes) -> bytes:
        try:
            signature = signer.sign(data)
        except SpokesmodelError as error:  # the native library tells only that there was one
            refusals.append(error)
            raise
        if len(signature) != _SIGNATURE_BYTES:
            raise ValueError("not an r and s of P-256")
        return signature

    try:
        with (
            c2pa.Context.from_dict(OFFLINE) as context,
            c2pa.Signer.from_callback(
                sign, c2pa.C2paSigningAlg.ES256, chain.decode("ascii"), timestamp_url or None
            ) as native,
            c2pa.Builder(_manifest(path.name, media_type, marks, ingredients, now), context=context) as builder,
        ):
            builder.sign_file(str(path), str(signed), native)
        _require_valid(signed, media_type)
        signed.replace(path)
    except c2pa.C2paError as error:
        if refusals:
            raise refusals[0] from error
        if timestamp_url and isinstance(error, c2pa.C2paError.Signature):
            raise Unavailable(
                "The authority that timestamp_url names did not vouch for the time of signing.",
                code="signing_unavailable",
            ) from error
        raise EngineFailed(
            "The result could not be given its Content Credentials.", code="signing_failed", retryable=True
        ) from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            signed.unlink()


def _manifest(name: str, media_type: str, marks: Marks, ingredients: Sequence[str], now: datetime) -> dict[str, Any]:
    labels = [f"ingredient-{number}" for number in range(len(ingredients))]
    when = now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    created = {"action": "c2pa.created", "digitalSourceType": marks.source_type.value, "when": when}
    actions: list[dict[str, Any]] = [created]
    actions += [{"action": "c2pa.placed", "parameters": {"ingredientIds": [label]}} for label in labels]
    return {
        "claim_generator_info": [{"name": GENERATOR, "version": GENERATOR_VERSION}],
        "title": name,
        "format": media_type,
        "ingredients": [
            {"title": "source", "format": ingredient_type, "relationship": "componentOf", "label": label}
            for label, ingredient_type in zip(labels, ingredients, strict=True)
        ],
        "assertions": [{"label": "c2pa.actions.v2", "data": {"actions": actions}}],
    }


def _require_valid(path: Path, media_type: str) -> None:
    """What was written is read back, so that no broken credential leaves the house."""
    import c2pa

    with (
        c2pa.Context.from_dict(OFFLINE) as context,
        path.open("rb") as file,
        c2pa.Reader(media_type, file, context=context) as reader,
    ):
        state = reader.get_validation_state()
    if state not in _GOOD_STATES:
        raise EngineFailed(
            "The Content Credentials that were written do not verify.", code="signing_failed", retryable=True
        )


def _require_current(chain: bytes, now: datetime) -> None:
    """Raises:
    Unavailable: ``signing_unavailable``: a verifier would call every signature of this certificate invalid.
    """
    from cryptography import x509

    try:
        leaf = x509.load_pem_x509_certificates(chain)[0]
    except (ValueError, IndexError) as error:
        raise Unavailable(
            "The certificate chain of the signing key cannot be read.", code="signing_unavailable"
        ) from error
    if not leaf.not_valid_before_utc <= now <= leaf.not_valid_after_utc:
        raise Unavailable(
            f"The signing certificate is valid from {leaf.not_valid_before_utc:%Y-%m-%d} to "
            f"{leaf.not_valid_after_utc:%Y-%m-%d}; this machine's clock says {now:%Y-%m-%d}.",
            code="signing_unavailable",
        )
