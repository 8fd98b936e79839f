"""The key of Content Credentials on one machine: made at first use, kept in the state folder."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from services.adapters.own_certificate import own_chain
from services.domain.errors import Unavailable

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

FILE_NAME: Final = "content_credentials.pem"
_SIGNATURE_HALF_BYTES: Final = 32


class LocalSigner:
    """A P-256 key with a certificate of its own making, which no verifier trusts and which is reported so.

    One file (mode 0600) holds the key and its chain (``services.adapters.own_certificate``).
    """

    is_trusted = False

    def __init__(self, state_dir: Path) -> None:
        self._path = state_dir / FILE_NAME
        self._loaded: tuple[EllipticCurvePrivateKey, bytes] | None = None

    def certificate_chain_pem(self) -> bytes:
        """See ``Signer``; the first call ever makes the key.

        Raises:
            Unavailable: ``signing_unavailable``.
        """
        return self._load()[1]

    def sign(self, data: bytes) -> bytes:
        """See ``Signer``."""
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric.ec import ECDSA
        from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

        r, s = decode_dss_signature(self._load()[0].sign(data, ECDSA(hashes.SHA256())))
        return r.to_bytes(_SIGNATURE_HALF_BYTES, "big") + s.to_bytes(_SIGNATURE_HALF_BYTES, "big")

    def _load(self) -> tuple[EllipticCurvePrivateKey, bytes]:
        if self._loaded is None:
            try:
                self._loaded = _parsed(self._read_or_make())
            except OSError as error:
                raise Unavailable(
                    f"The signing key {FILE_NAME} in the state folder cannot be used: {error.strerror}. "
                    "Let this user read it.",
                    code="signing_unavailable",
                ) from error
        return self._loaded

    def _read_or_make(self) -> bytes:
        try:
            return self._path.read_bytes()
        except FileNotFoundError:
            self._path.parent.mkdir(parents=True, exist_ok=True)
        draft = self._path.with_name(f"{FILE_NAME}.{secrets.token_hex(8)}")
        draft.touch(mode=0o600)
        try:
            draft.write_bytes(_made(datetime.now(UTC)))
            self._path.hardlink_to(draft)  # atomic, and fails when another process was first
        except FileExistsError:
            pass
        finally:
            draft.unlink()
        return self._path.read_bytes()


def _parsed(pem: bytes) -> tuple[EllipticCurvePrivateKey, bytes]:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

    try:
        key = load_pem_private_key(pem, password=None)
        chain = x509.load_pem_x509_certificates(pem)
    except (ValueError, TypeError) as error:
        raise _damaged() from error
    form = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    if not isinstance(key, EllipticCurvePrivateKey) or (
        key.public_key().public_bytes(*form) != chain[0].public_key().public_bytes(*form)
    ):
        raise _damaged()
    return key, b"".join(certificate.public_bytes(Encoding.PEM) for certificate in chain)


def _damaged() -> Unavailable:
    return Unavailable(
        f"The signing key {FILE_NAME} in the state folder is damaged. Remove the file; a new key is then made.",
        code="signing_unavailable",
    )


def _made(now: datetime) -> bytes:
    """A new key and the chain for it, PEM."""
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = generate_private_key(SECP256R1())
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return private + own_chain(key.public_key(), now)
