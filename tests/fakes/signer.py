"""A signer in memory."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, EllipticCurvePublicKey, generate_private_key
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from services.domain.errors import Unavailable

_USAGE = dict.fromkeys(
    [
        "digital_signature",
        "content_commitment",
        "key_encipherment",
        "data_encipherment",
        "key_agreement",
        "key_cert_sign",
        "crl_sign",
        "encipher_only",
        "decipher_only",
    ],
    False,
)


class Authority:
    """One that issues certificates for signers, as a client's own or a public one does."""

    def __init__(self, name: str = "Test Authority") -> None:
        self._key = generate_private_key(SECP256R1())
        self._name = _name(name)
        builder = self._certificate(self._name, self._key.public_key(), datetime.now(UTC))
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        usage = x509.KeyUsage(**{**_USAGE, "key_cert_sign": True, "crl_sign": True})
        self._root = builder.add_extension(usage, critical=True).sign(self._key, hashes.SHA256())

    @property
    def pem(self) -> bytes:
        return self._root.public_bytes(Encoding.PEM)

    def chain_for(self, key: EllipticCurvePublicKey, *, since: datetime | None = None) -> bytes:
        """A signer's certificate for ``key`` and the root's, PEM; valid for a year."""
        builder = self._certificate(_name("Test Signer"), key, since or datetime.now(UTC) - timedelta(hours=1))
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(x509.KeyUsage(**{**_USAGE, "digital_signature": True}), critical=True)
        builder = builder.add_extension(
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.EMAIL_PROTECTION]), critical=False
        ).add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()),
            critical=False,
        )
        return builder.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM) + self.pem

    def _certificate(self, subject: x509.Name, key: EllipticCurvePublicKey, since: datetime) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(since)
            .not_valid_after(since + timedelta(days=365))
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        )


class FakeSigner:
    """Signs with a key of its own. ``refuses``: the key cannot be reached."""

    def __init__(
        self, authority: Authority | None = None, *, is_trusted: bool = False, since: datetime | None = None
    ) -> None:
        self.is_trusted = is_trusted
        self.refuses = False
        self.num_signatures = 0
        self._key = generate_private_key(SECP256R1())
        self._chain = (authority or Authority()).chain_for(self._key.public_key(), since=since)

    def certificate_chain_pem(self) -> bytes:
        return self._chain

    def sign(self, data: bytes) -> bytes:
        if self.refuses:
            raise Unavailable("The key is away.", code="signing_unavailable")
        self.num_signatures += 1
        r, s = decode_dss_signature(self._key.sign(data, ECDSA(hashes.SHA256())))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")


def _name(text: str) -> x509.Name:
    return x509.Name(
        [x509.NameAttribute(NameOID.ORGANIZATION_NAME, text), x509.NameAttribute(NameOID.COMMON_NAME, text)]
    )
