"""The key of Content Credentials in AWS KMS; its certificate chain is a secret's value, though no secret."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Final

from services.adapters.aws.clients import Clients, translated
from services.adapters.own_certificate import own_chain
from services.domain.errors import SpokesmodelError, Unavailable
from services.ports.secrets import Secrets

_SIGNATURE_HALF_BYTES: Final = 32


class KmsSigner:
    """An asymmetric KMS key (``ECC_NIST_P256``, ``SIGN_VERIFY``) and its certificate.

    Args:
        key_id: Id, alias or address of the key.
        secrets: Where the chain is, under ``certificate_secret``: PEM, the key's certificate first.
        certificate_secret: Empty makes a certificate here, which nobody trusts.
    """

    def __init__(self, clients: Clients, key_id: str, *, secrets: Secrets, certificate_secret: str) -> None:
        self._clients = clients
        self._key_id = key_id
        self._secrets = secrets
        self._certificate_secret = certificate_secret
        self._chain: bytes | None = None
        self.is_trusted = bool(certificate_secret)  # what the operator holds; verifiers believe their trust lists

    def certificate_chain_pem(self) -> bytes:
        """See ``Signer``; read once.

        Raises:
            Unavailable: ``signing_unavailable``.
        """
        if self._chain is None:
            try:
                self._chain = self._issued() if self._certificate_secret else self._own()
            except SpokesmodelError as error:
                raise _unavailable(error.detail) from error
            except (ValueError, KeyError) as error:  # UnicodeError is a ValueError
                raise _unavailable("Its certificate chain is no PEM text, or it is no P-256 key.") from error
        return self._chain

    def _issued(self) -> bytes:
        return self._secrets.get(self._certificate_secret).encode("ascii")

    def _own(self) -> bytes:
        from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
        from cryptography.hazmat.primitives.serialization import load_der_public_key

        with translated("KMS", code="signing_unavailable"):
            answer = self._clients.get("kms").get_public_key(KeyId=self._key_id)
        key = load_der_public_key(answer["PublicKey"])
        if not isinstance(key, EllipticCurvePublicKey):
            raise ValueError("another kind of key")
        return own_chain(key, datetime.now(UTC))

    def sign(self, data: bytes) -> bytes:
        """See ``Signer``: the digest goes to KMS, never the data."""
        from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

        try:
            with translated("KMS", code="signing_unavailable"):
                answer = self._clients.get("kms").sign(
                    KeyId=self._key_id,
                    Message=hashlib.sha256(data).digest(),
                    MessageType="DIGEST",
                    SigningAlgorithm="ECDSA_SHA_256",
                )
            r, s = decode_dss_signature(answer["Signature"])
        except SpokesmodelError as error:
            raise _unavailable(error.detail) from error
        except (ValueError, KeyError) as error:
            raise _unavailable("The answer holds no ECDSA signature.") from error
        return r.to_bytes(_SIGNATURE_HALF_BYTES, "big") + s.to_bytes(_SIGNATURE_HALF_BYTES, "big")


def _unavailable(why: str) -> Unavailable:
    return Unavailable(f"The key that signs Content Credentials cannot be used: {why}", code="signing_unavailable")
