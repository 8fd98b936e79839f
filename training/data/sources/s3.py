"""Objects of S3 as files: listed by prefix, read as streams that outlive a broken connection.

The client is whatever an entry point gives (boto3's S3 client); nothing here makes one.
"""

from __future__ import annotations

import io
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol, cast

from services.domain.errors import InvalidRequest, Unavailable

_TRIES: Final = 4
_BLOCK: Final = 1 << 20


class S3Client(Protocol):
    """The two calls of boto3's S3 client that are used."""

    def get_object(self, **arguments: Any) -> Mapping[str, Any]: ...

    def list_objects_v2(self, **arguments: Any) -> Mapping[str, Any]: ...


def parse_url(url: str) -> tuple[str, str]:
    """Bucket and key or prefix of ``s3://bucket/key``.

    Raises:
        InvalidRequest: ``malformed_source``.
    """
    bucket, _, key = url.removeprefix("s3://").partition("/")
    if not bucket:
        raise InvalidRequest(f"{url} names no bucket; write s3://bucket/prefix.", code="malformed_source")
    return bucket, key


class S3Prefix:
    """The objects below a prefix, as files."""

    def __init__(self, client: S3Client, url: str) -> None:
        self._client = client
        self._bucket, prefix = parse_url(url)
        self._prefix = prefix if not prefix or prefix.endswith("/") else f"{prefix}/"

    @property
    def title(self) -> str:
        return f"s3://{self._bucket}/{self._prefix}"

    def names(self) -> Mapping[str, int]:
        found: dict[str, int] = {}
        page: Mapping[str, Any] = {"NextContinuationToken": None}
        while (token := page.get("NextContinuationToken", ...)) is not ...:
            more = {} if token is None else {"ContinuationToken": token}
            with _translated(self.title):
                page = self._client.list_objects_v2(Bucket=self._bucket, Prefix=self._prefix, **more)
            for one in page.get("Contents", ()):
                name = one["Key"].removeprefix(self._prefix)
                if name and not name.endswith("/"):
                    found[name] = int(one["Size"])
        return dict(sorted(found.items()))

    def open(self, name: str) -> BinaryIO:
        return open_object(self._client, f"s3://{self._bucket}/{self._prefix}{name}")


def open_object(client: S3Client, url: str) -> BinaryIO:
    """The object as a stream."""
    return cast(BinaryIO, io.BufferedReader(_ObjectStream(client, url), _BLOCK))


@contextmanager
def spooled(client: S3Client, url: str) -> Iterator[Path]:
    """A file on disk with the object's bytes, for what has to be read at any place; gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="spokesmodel-") as folder:
        path = Path(folder) / (url.rpartition("/")[2] or "object")
        with open_object(client, url) as source, path.open("wb") as target:
            shutil.copyfileobj(source, target, _BLOCK)
        yield path


class _ObjectStream(io.RawIOBase):
    """Reads one version of an object from front to back; goes on where a connection broke."""

    def __init__(self, client: S3Client, url: str) -> None:
        self._client, self._url = client, url
        self._bucket, self._key = parse_url(url)
        self._body: Any = None
        self._version: str | None = None
        self._at, self._size = 0, -1

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        for tries_left in reversed(range(_TRIES)):
            try:
                if self._body is None:
                    self._open()
                data = self._body.read(len(buffer)) if self._at < self._size else b""
                if data or self._at >= self._size:
                    break
                self._body = None  # the connection ended before the object did
            except Exception as error:  # a stream raises urllib3's, botocore's and the socket's errors
                self._body = None
                if not tries_left or not _is_passing(error):
                    raise _error(error, self._url) from error
        else:
            raise Unavailable(f"{self._url} ends again and again before its end.", code="object_unavailable")
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def _open(self) -> None:
        more: dict[str, Any] = {}
        if self._version is not None:
            more = {"Range": f"bytes={self._at}-", "IfMatch": self._version}
        answer = self._client.get_object(Bucket=self._bucket, Key=self._key, **more)
        if self._version is None:
            self._version, self._size = answer["ETag"], int(answer["ContentLength"])
        self._body = answer["Body"]

    def close(self) -> None:
        if self._body is not None and hasattr(self._body, "close"):
            self._body.close()
        super().close()


@contextmanager
def _translated(url: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise _error(error, url) from error


def _status(error: Exception) -> int | None:
    """The answer's status when there was one, by what botocore's ClientError carries."""
    response = getattr(error, "response", None)
    return response["ResponseMetadata"].get("HTTPStatusCode") if isinstance(response, dict) else None


def _is_passing(error: Exception) -> bool:
    status = _status(error)
    return status is None or status >= 500 or status == 429


def _error(error: Exception, url: str) -> Exception:
    status = _status(error)
    if status in (403, 404):
        why = "is not there" if status == 404 else "may not be read with these credentials"
        return InvalidRequest(f"{url} {why}.", code="source_not_found", param="source")
    if status == 412:
        return InvalidRequest(f"{url} was changed while it was read.", code="source_changed", param="source")
    return Unavailable(f"{url} cannot be read.", code="object_unavailable")
