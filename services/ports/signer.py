"""The key that signs Content Credentials."""

from __future__ import annotations

from typing import Protocol


class Signer(Protocol):
    """An ECDSA P-256 key (C2PA's ``es256``) that signs and is never read.

    Attributes:
        is_trusted: Whether the certificate comes from an authority that verifiers know; a generated one does not.
    """

    is_trusted: bool

    def certificate_chain_pem(self) -> bytes:
        """The signer's certificate first, then those that vouch for it."""
        ...

    def sign(self, data: bytes) -> bytes:
        """The signature over SHA-256 of ``data``: r and s, 64 bytes, as COSE wants it.

        Raises:
            Unavailable: ``signing_unavailable``.
        """
        ...
