"""Signed links of one machine: permission to read or write one object, checkable without a database."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlencode

from services.domain.errors import Forbidden
from services.domain.object_key import ObjectKey
from services.ports.clock import Clock
from services.ports.objects import SignedUpload

PATH_PREFIX: Final = "/objects/"
_GET_FIELDS: Final = ("expires", "filename")
_PUT_FIELDS: Final = ("expires", "size", "type")


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkPermission:
    """What a checked link allows.

    Attributes:
        file_name: Download: the name to suggest.
        media_type: Upload: the exact type to send.
        size_bytes: Upload: the exact size to send.
    """

    key: ObjectKey
    file_name: str | None = None
    media_type: str | None = None
    size_bytes: int | None = None


class LinkSigner:
    """Makes and checks links; the signature covers method, key, expiry, size, type and file name."""

    def __init__(self, *, secret: str, public_url: str, clock: Clock) -> None:
        if len(secret) < 16:
            raise ValueError("A signing secret has at least 16 characters.")
        self._secret = secret.encode()
        self._base = public_url.rstrip("/") + PATH_PREFIX
        self._clock = clock

    def sign_upload(self, key: ObjectKey, *, media_type: str, size_bytes: int, expires_in_s: int) -> SignedUpload:
        """Permission to PUT exactly ``size_bytes`` bytes of ``media_type``."""
        fields = {"expires": self._expiry(expires_in_s), "size": str(size_bytes), "type": media_type}
        return SignedUpload(
            method="PUT",
            url=self._link("PUT", str(key), fields),
            headers={"Content-Type": media_type, "Content-Length": str(size_bytes)},
            expires_in_s=expires_in_s,
        )

    def sign_download(self, key: ObjectKey, *, file_name: str, expires_in_s: int) -> str:
        """A URL that reads the object, whole or in ranges."""
        return self._link("GET", str(key), {"expires": self._expiry(expires_in_s), "filename": file_name})

    def verify(self, method: str, key: str, query: Mapping[str, str]) -> LinkPermission:
        """What the link allows.

        Args:
            method: ``PUT``, ``GET`` or ``HEAD``; a link to read serves both of the latter.

        Raises:
            Forbidden: ``link_invalid`` or ``link_expired``.
        """
        signed_method = "PUT" if method == "PUT" else "GET"
        names = _PUT_FIELDS if signed_method == "PUT" else _GET_FIELDS
        fields = {name: query.get(name, "") for name in names}
        expected = self._signature(signed_method, key, fields)
        if not hmac.compare_digest(expected.encode(), query.get("signature", "").encode()):
            raise Forbidden("The link's signature is not right for this method and object.", code="link_invalid")
        if int(fields["expires"]) < self._clock.now().timestamp():
            raise Forbidden("The link has expired; ask the API for a new one.", code="link_expired")
        parsed = ObjectKey.parse(key)
        if signed_method == "PUT":
            return LinkPermission(key=parsed, media_type=fields["type"], size_bytes=int(fields["size"]))
        return LinkPermission(key=parsed, file_name=fields["filename"])

    def _expiry(self, expires_in_s: int) -> str:
        return str(int(self._clock.now().timestamp()) + expires_in_s)

    def _link(self, method: str, key: str, fields: Mapping[str, str]) -> str:
        query = urlencode({**fields, "signature": self._signature(method, key, fields)}, quote_via=quote)
        return f"{self._base}{quote(key)}?{query}"

    def _signature(self, method: str, key: str, fields: Mapping[str, str]) -> str:
        # urlencode makes the parts unambiguous: no value can contain the separators.
        message = "\n".join([method, quote(key), urlencode(sorted(fields.items()))])
        digest = hmac.new(self._secret, message.encode("utf-8", "surrogatepass"), hashlib.sha256).digest()
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")
