"""A certificate of our own making for a signer's key: complete, and trusted by nobody."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
    from cryptography.x509 import CertificateBuilder, KeyUsage, Name

ORGANIZATION: Final = "Spokesmodel"
_ROOT_NAME: Final = "Spokesmodel root of its own making"
_SIGNER_NAME: Final = "Spokesmodel signer of its own making"
# Without a timestamp authority, a signature is valid as long as its certificate is: longer than films are shown.
_LIFETIME: Final = timedelta(days=3652)
_CLOCK_SKEW: Final = timedelta(days=1)  # of other machines, which look at the certificate's first moment


def own_chain(key: EllipticCurvePublicKey, now: datetime) -> bytes:
    """A certificate for ``key`` and its root's, PEM: what C2PA 2.4 asks of a signer's ("X.509 Certificates").

    The root's key is made here, signs this one certificate and is forgotten. No machine and no person is named.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
    from cryptography.hazmat.primitives.serialization import Encoding
    from cryptography.x509.oid import ExtendedKeyUsageOID

    root_key = generate_private_key(SECP256R1())
    root_name = _name(_ROOT_NAME)
    root = (
        _certificate(root_name, root_name, root_key.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .sign(root_key, hashes.SHA256())
    )
    leaf = (
        _certificate(_name(_SIGNER_NAME), root_name, key, now)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.EMAIL_PROTECTION]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(root_key.public_key()), critical=False)
        .sign(root_key, hashes.SHA256())
    )
    return leaf.public_bytes(Encoding.PEM) + root.public_bytes(Encoding.PEM)


def _name(common_name: str) -> Name:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, ORGANIZATION),
            x509.NameAttribute(NameOID.COMMON_NAME, common_name),
        ]
    )


def _certificate(subject: Name, issuer: Name, key: EllipticCurvePublicKey, now: datetime) -> CertificateBuilder:
    from cryptography import x509

    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + _LIFETIME)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
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
