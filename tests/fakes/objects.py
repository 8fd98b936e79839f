"""Objects in a dict."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from services.domain.errors import NotFound
from services.domain.object_key import ObjectKey
from services.ports.objects import ObjectInfo, SignedUpload


class FakeObjectStore:
    def __init__(self) -> None:
        self._objects: dict[ObjectKey, tuple[bytes, str]] = {}

    def put(self, key: ObjectKey, data: bytes, *, media_type: str) -> None:
        self._objects[key] = (bytes(data), media_type)

    def put_file(self, key: ObjectKey, path: Path, *, media_type: str) -> ObjectInfo:
        self.put(key, path.read_bytes(), media_type=media_type)
        return self.head(key)

    def get(self, key: ObjectKey) -> bytes:
        return self._entry(key)[0]

    def start_of(self, key: ObjectKey, *, size_bytes: int) -> bytes:
        return self.get(key)[:size_bytes]

    @contextmanager
    def local_copy(self, key: ObjectKey) -> Iterator[Path]:
        data = self.get(key)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / key.name
            path.write_bytes(data)
            yield path

    def head(self, key: ObjectKey) -> ObjectInfo:
        data, media_type = self._entry(key)
        return ObjectInfo(size_bytes=len(data), media_type=media_type, sha256=hashlib.sha256(data).hexdigest())

    def exists(self, key: ObjectKey) -> bool:
        return key in self._objects

    def copy(self, source: ObjectKey, target: ObjectKey) -> None:
        self._objects[target] = self._entry(source)

    def delete_owner(self, tenant_id: str, owner_id: str) -> int:
        doomed = [key for key in self._objects if (key.tenant_id, key.owner_id) == (tenant_id, owner_id)]
        for key in doomed:
            del self._objects[key]
        return len(doomed)

    def delete_tenant(self, tenant_id: str) -> int:
        doomed = [key for key in self._objects if key.tenant_id == tenant_id]
        for key in doomed:
            del self._objects[key]
        return len(doomed)

    def sign_upload(self, key: ObjectKey, *, media_type: str, size_bytes: int, expires_in_s: int) -> SignedUpload:
        headers = {"Content-Type": media_type, "Content-Length": str(size_bytes)}
        return SignedUpload(method="PUT", url=f"fake://{key}", headers=headers, expires_in_s=expires_in_s)

    def sign_download(self, key: ObjectKey, *, file_name: str, expires_in_s: int) -> str:
        return f"fake://{key}?filename={file_name}&expires_in_s={expires_in_s}"

    def stored_keys(self) -> set[str]:
        return {str(key) for key in self._objects}

    def _entry(self, key: ObjectKey) -> tuple[bytes, str]:
        try:
            return self._objects[key]
        except KeyError as error:
            raise NotFound(f"There is no object {key}.", code="object_not_found") from error
