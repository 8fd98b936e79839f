"""Where files live: S3, or a directory."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from services.domain.object_key import ObjectKey


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectInfo:
    size_bytes: int
    media_type: str
    sha256: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedUpload:
    """Where and how a client sends bytes: ``method`` ``url`` with exactly these headers."""

    method: str
    url: str
    headers: dict[str, str]
    expires_in_s: int


class ObjectStore(Protocol):
    """Bytes by key. Writes are atomic: a reader sees the old object, the new one, or none."""

    def put(self, key: ObjectKey, data: bytes, *, media_type: str) -> None: ...

    def put_file(self, key: ObjectKey, path: Path, *, media_type: str) -> ObjectInfo:
        """Store the file at ``path``, streamed; the answer has size and sha256."""
        ...

    def get(self, key: ObjectKey) -> bytes:
        """Raises:
        NotFound: ``object_not_found``.
        """
        ...

    def start_of(self, key: ObjectKey, *, size_bytes: int) -> bytes:
        """The object's first ``size_bytes``; fewer when it is shorter.

        Raises:
            NotFound: ``object_not_found``.
        """
        ...

    def local_copy(self, key: ObjectKey) -> AbstractContextManager[Path]:
        """A readable file with the object's bytes, for libraries that need a path; not to be written to.

        Raises:
            NotFound: ``object_not_found``.
        """
        ...

    def head(self, key: ObjectKey) -> ObjectInfo:
        """Raises:
        NotFound: ``object_not_found``.
        """
        ...

    def exists(self, key: ObjectKey) -> bool: ...

    def copy(self, source: ObjectKey, target: ObjectKey) -> None:
        """Copy within the store, without the bytes passing through the caller.

        Raises:
            NotFound: ``object_not_found``.
        """
        ...

    def delete_owner(self, tenant_id: str, owner_id: str) -> int:
        """Delete every object of a job, upload or avatar in every retention class; the number deleted."""
        ...

    def delete_tenant(self, tenant_id: str) -> int:
        """Delete every object of a tenant in every retention class; the number deleted."""
        ...

    def sign_upload(self, key: ObjectKey, *, media_type: str, size_bytes: int, expires_in_s: int) -> SignedUpload:
        """Permission to write one object of exactly this size and type."""
        ...

    def sign_download(self, key: ObjectKey, *, file_name: str, expires_in_s: int) -> str:
        """A URL that reads one object for a while and suggests ``file_name``."""
        ...
