"""Signed links of S3: permission to read or write one object, which S3 itself checks."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

from services.adapters.aws.clients import Clients, translated
from services.domain.errors import InvalidRequest
from services.domain.object_key import ObjectKey
from services.ports.objects import SignedUpload

_MAX_LINK_S: Final = 7 * 24 * 3600
_MAX_MEDIA_TYPE: Final = 120


class S3Links:
    """Makes links. They carry the credentials that made them, and end with those, too: a role's after some hours."""

    def __init__(self, clients: Clients, bucket: str) -> None:
        self._clients = clients
        self._bucket = bucket

    def sign_upload(self, key: ObjectKey, *, media_type: str, size_bytes: int, expires_in_s: int) -> SignedUpload:
        """See ``ObjectStore``. Length and type are signed headers, so S3 refuses a request that announces others.

        More bytes than announced are no part of the request, and with fewer it never ends; a body of unknown length
        (``Transfer-Encoding: chunked``) comes without the signed header. Nothing else bounds a PUT. A POST policy could
        allow a range of lengths, for a multipart form that few clients make by hand.
        """
        return SignedUpload(
            method="PUT",
            url=self._link(
                "put_object", key, expires_in_s, ContentType=checked_media_type(media_type), ContentLength=size_bytes
            ),
            headers={"Content-Type": media_type, "Content-Length": str(size_bytes)},
            expires_in_s=expires_in_s,
        )

    def sign_download(self, key: ObjectKey, *, file_name: str, expires_in_s: int) -> str:
        """A URL that reads the object, whole or in ranges."""
        return self._link("get_object", key, expires_in_s, ResponseContentDisposition=_disposition(file_name))

    def _link(self, operation: str, key: ObjectKey, expires_in_s: int, **parameters: Any) -> str:
        if not 0 < expires_in_s <= _MAX_LINK_S:
            raise InvalidRequest(f"A link can serve 1 to {_MAX_LINK_S} seconds.", code="out_of_range")
        with translated("the bucket"):
            return str(
                self._clients.get("s3").generate_presigned_url(
                    operation,
                    Params={"Bucket": self._bucket, "Key": str(key), **parameters},
                    ExpiresIn=expires_in_s,
                )
            )


def checked_media_type(media_type: str) -> str:
    """``media_type`` if it can be a header's value.

    Raises:
        InvalidRequest: ``malformed_media_type``.
    """
    if len(media_type) > _MAX_MEDIA_TYPE or not media_type.isascii() or not media_type.isprintable():
        raise InvalidRequest(f"{media_type!r} is no media type.", code="malformed_media_type")
    return media_type


def _disposition(file_name: str) -> str:
    """RFC 6266: the name as it is for those who know ``filename*``, and in ASCII for others."""
    plain = "".join(one if one.isascii() and one.isprintable() and one not in '"\\%' else "_" for one in file_name)
    exact = quote(file_name, safe="", errors="replace")
    return f"inline; filename=\"{plain}\"; filename*=UTF-8''{exact}"
