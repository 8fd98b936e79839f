"""The key of Content Credentials on one machine: made at first use, kept in the state folder."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from services.domain.errors import Unavailable

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.x509 import Certificate, CertificateBuilder, KeyUsage, Name

FILE_NAME: Final = "content_credentials.pem"
ORGANIZATION: Final = "Spokesmodel"
_ROOT_NAME: Final = "Spokesmodel root made on this machine"
_SIGNER_NAME: Final = "Spokesmodel signer made on this machine"
_SIGNATURE_HALF_BYTES: Final = 32
# Without a timestamp authority, a signature is valid as long as its certificate is: longer than films are shown.
_LIFETIME: Final = timedelta(days=3652)
_CLOCK_SKEW: Final = timedelta(days=1)  # of other machines, which look at the certificate's first moment


class LocalSigner:
    """A P-256 key with a certificate of its own making, which no verifier trusts and which is reported so.

    One file (mode 0600) holds the key and its chain. The root's key signs the one certificate and is forgotten.
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
    """A new key and its chain, PEM: what C2PA 2.4 asks of a signer's certificate ("X.509 Certificates")."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
    from cryptography.x509.oid import ExtendedKeyUsageOID

    root_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    root_name = _name(_ROOT_NAME)
    root = (
        _certificate(root_name, root_name, root_key, now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .sign(root_key, hashes.SHA256())
    )
    leaf: Certificate = (
        _certificate(_name(_SIGNER_NAME), root_name, key, now)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.EMAIL_PROTECTION]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(root_key.public_key()), critical=False)
        .sign(root_key, hashes.SHA256())
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return private + leaf.public_bytes(Encoding.PEM) + root.public_bytes(Encoding.PEM)


def _name(common_name: str) -> Name:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, ORGANIZATION),
            x509.NameAttribute(NameOID.COMMON_NAME, common_name),
        ]
    )


def _certificate(subject: Name, issuer: Name, key: EllipticCurvePrivateKey, now: datetime) -> CertificateBuilder:
    from cryptography import x509

    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + _LIFETIME)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _usage(*, signs_certificates: bool) -> KeyUsage:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
