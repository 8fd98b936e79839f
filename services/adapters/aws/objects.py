"""Objects in S3."""

from __future__ import annotations

import base64
import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

from services.adapters.aws.clients import Clients, error_code, translated
from services.adapters.aws.links import S3Links, checked_media_type
from services.domain.errors import InvalidRequest, NotFound, Unavailable
from services.domain.object_key import ObjectKey, Retention
from services.ports.objects import ObjectInfo, SignedUpload

_MIB: Final = 1024 * 1024
_READ_BYTES: Final = _MIB
_MAX_READS: Final = 3  # an answer that breaks off is not repeated by boto3
_MAX_DELETED_AT_ONCE: Final = 1000
_ABSENT: Final = frozenset({"NoSuchKey", "404", "NotFound"})
_DENIED: Final = frozenset({"403", "AccessDenied"})
T = TypeVar("T")


class S3ObjectStore:
    """``services.ports.objects.ObjectStore`` in one bucket, which encrypts by its own default and keeps no versions.

    What services write carries its SHA-256 as metadata, and S3 checks it on the way in; what a client uploads by a link
    has none.

    Args:
        clients: Those of the process, or of the session that one attempt of an engine works with.
        part_bytes: Files beyond this are sent in parts of this size, some at once; S3 takes none under 5 MiB.
        denied_is_absent: Take "access denied" for "not there". S3 says so of absent objects to those who may not list
            the bucket, as the engine's session for one attempt may not.
    """

    def __init__(
        self, clients: Clients, bucket: str, *, part_bytes: int = 16 * _MIB, denied_is_absent: bool = False
    ) -> None:
        self._clients = clients
        self._bucket = bucket
        self._links = S3Links(clients, bucket)
        self._part_bytes = part_bytes
        self._absent = _ABSENT | _DENIED if denied_is_absent else _ABSENT

    def put(self, key: ObjectKey, data: bytes, *, media_type: str) -> None:
        self._put_whole(key, data, media_type, hashlib.sha256(data))

    def put_file(self, key: ObjectKey, path: Path, *, media_type: str) -> ObjectInfo:
        with _disk(), path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256")
            size_bytes = file.tell()
            file.seek(0)
            if size_bytes <= self._part_bytes:
                self._put_whole(key, file, media_type, digest)
            else:
                self._put_parts(key, file, media_type, digest.hexdigest())
        return ObjectInfo(size_bytes=size_bytes, media_type=media_type, sha256=digest.hexdigest())

    def get(self, key: ObjectKey) -> bytes:
        return self._read(key, lambda body: bytes(body.read()))

    def start_of(self, key: ObjectKey, *, size_bytes: int) -> bytes:
        if size_bytes > 0:
            try:
                return self._read(key, lambda body: bytes(body.read()), Range=f"bytes=0-{size_bytes - 1}")
            except _NoSuchRange:  # of an empty object no byte can be asked for
                return b""
        self.head(key)
        return b""

    @contextmanager
    def local_copy(self, key: ObjectKey) -> Iterator[Path]:
        """The object in a temporary folder, under its own name."""
        with _disk():
            folder = Path(tempfile.mkdtemp(prefix="object-"))
        try:
            copy = folder / key.name

            def write(body: Any) -> None:
                with _disk(), copy.open("wb") as file:
                    shutil.copyfileobj(body, file, _READ_BYTES)

            self._read(key, write)
            yield copy
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def head(self, key: ObjectKey) -> ObjectInfo:
        answer = self._call("head_object", key)
        return ObjectInfo(
            size_bytes=int(answer["ContentLength"]),
            media_type=str(answer.get("ContentType", "")),
            sha256=answer.get("Metadata", {}).get("sha256"),
        )

    def exists(self, key: ObjectKey) -> bool:
        try:
            self._call("head_object", key)
        except NotFound:
            return False
        return True

    def copy(self, source: ObjectKey, target: ObjectKey) -> None:
        if source == target:  # which S3 refuses
            self.head(source)
            return
        from botocore.exceptions import ClientError

        with translated("the bucket"):
            try:
                self._s3.copy_object(
                    Bucket=self._bucket, Key=str(target), CopySource={"Bucket": self._bucket, "Key": str(source)}
                )
            except ClientError as error:
                self._raise_expected(error, source)
                raise

    def delete_owner(self, tenant_id: str, owner_id: str) -> int:
        return sum(self._delete_below(retention, tenant_id, owner_id) for retention in Retention)

    def delete_tenant(self, tenant_id: str) -> int:
        return sum(self._delete_below(retention, tenant_id) for retention in Retention)

    def sign_upload(self, key: ObjectKey, *, media_type: str, size_bytes: int, expires_in_s: int) -> SignedUpload:
        return self._links.sign_upload(key, media_type=media_type, size_bytes=size_bytes, expires_in_s=expires_in_s)

    def sign_download(self, key: ObjectKey, *, file_name: str, expires_in_s: int) -> str:
        return self._links.sign_download(key, file_name=file_name, expires_in_s=expires_in_s)

    @property
    def _s3(self) -> Any:
        return self._clients.get("s3")

    def _put_whole(self, key: ObjectKey, body: Any, media_type: str, digest: Any) -> None:
        with translated("the bucket"):
            self._s3.put_object(
                Bucket=self._bucket,
                Key=str(key),
                Body=body,
                ContentType=checked_media_type(media_type),
                ChecksumSHA256=base64.b64encode(digest.digest()).decode(),
                Metadata={"sha256": digest.hexdigest()},
            )

    def _put_parts(self, key: ObjectKey, file: Any, media_type: str, sha256: str) -> None:
        from boto3.s3.transfer import TransferConfig

        config = TransferConfig(
            multipart_threshold=self._part_bytes, multipart_chunksize=self._part_bytes, max_concurrency=4
        )
        with translated("the bucket"):
            self._s3.upload_fileobj(
                file,
                self._bucket,
                str(key),
                ExtraArgs={"ContentType": checked_media_type(media_type), "Metadata": {"sha256": sha256}},
                Config=config,
            )

    def _read(self, key: ObjectKey, use: Callable[[Any], T], **parameters: Any) -> T:
        """What ``use`` makes of the body; from the start again when the answer breaks off."""
        from botocore.exceptions import HTTPClientError, IncompleteReadError

        for number in range(1, _MAX_READS + 1):
            with translated("the bucket"):
                body = self._call("get_object", key, **parameters)["Body"]
                try:
                    return use(body)
                except (HTTPClientError, IncompleteReadError):
                    if number == _MAX_READS:
                        raise
                finally:
                    body.close()
        raise AssertionError("the last try returns or raises")

    def _call(self, operation: str, key: ObjectKey, **parameters: Any) -> dict[str, Any]:
        from botocore.exceptions import ClientError

        with translated("the bucket"):
            try:
                answer: dict[str, Any] = getattr(self._s3, operation)(Bucket=self._bucket, Key=str(key), **parameters)
            except ClientError as error:
                self._raise_expected(error, key)
                raise
        return answer

    def _raise_expected(self, error: Exception, key: ObjectKey) -> None:
        if error_code(error) in self._absent:
            raise NotFound(f"There is no object {key}.", code="object_not_found") from error
        if error_code(error) == "InvalidRange":
            raise _NoSuchRange from error

    def _delete_below(self, *segments: str) -> int:
        prefix = "/".join(segments) + "/"
        for segment in segments:
            if not segment or "/" in segment:  # an empty one would name every tenant's objects
                raise InvalidRequest(f"{segment!r} cannot be part of an object key.", code="malformed_key")
        num_deleted = 0
        with translated("the bucket"):
            pages = self._s3.get_paginator("list_objects_v2").paginate(
                Bucket=self._bucket, Prefix=prefix, PaginationConfig={"PageSize": _MAX_DELETED_AT_ONCE}
            )
            for page in pages:
                doomed = [{"Key": entry["Key"]} for entry in page.get("Contents", [])]
                if not doomed:
                    continue
                answer = self._s3.delete_objects(Bucket=self._bucket, Delete={"Objects": doomed, "Quiet": True})
                if errors := answer.get("Errors"):
                    raise Unavailable(
                        f"{len(errors)} objects could not be deleted ({errors[0].get('Code')}).",
                        code="store_unavailable",
                    )
                num_deleted += len(doomed)
        return num_deleted


class _NoSuchRange(Exception):
    pass


@contextmanager
def _disk() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Unavailable(
            f"A file of this machine is not usable: {error.strerror}.", code="store_unavailable"
        ) from error
