"""Objects as files below one folder."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final, TypeVar
from urllib.parse import quote, unquote

from ulid import ULID

from services.adapters.local.links import LinkPermission, LinkSigner
from services.domain.errors import InvalidRequest, NotFound, Unavailable
from services.domain.object_key import ObjectKey, Retention
from services.ports.objects import ObjectInfo, SignedUpload

_CHUNK_BYTES: Final = 1024 * 1024
_MAX_MEDIA_TYPE: Final = 120  # so that a file name stays under 255 bytes
_SCRATCH: Final = ".scratch"
T = TypeVar("T")


class FileObjectStore:
    """``services.ports.objects.ObjectStore`` in a folder.

    An object is a symbolic link at its key that points to a file beside it, whose name holds what else is known:
    ``.{ulid}.{sha256}.{media type}``. Renaming the link over the old one replaces bytes, checksum and type in one
    step, and a folder copied elsewhere still works. What was acknowledged is on the disk (file and folder synced).
    """

    def __init__(self, root: Path, *, links: LinkSigner) -> None:
        self._root = root
        self._links = links
        with _translated():
            (root / _SCRATCH).mkdir(parents=True, exist_ok=True)

    def put(self, key: ObjectKey, data: bytes, *, media_type: str) -> None:
        def write(file: BinaryIO) -> str:
            file.write(data)
            return hashlib.sha256(data).hexdigest()

        self._store(key, write, media_type=media_type)

    def put_file(self, key: ObjectKey, path: Path, *, media_type: str) -> ObjectInfo:
        def write(file: BinaryIO) -> str:
            digest = hashlib.sha256()
            with path.open("rb") as source:
                while chunk := source.read(_CHUNK_BYTES):
                    digest.update(chunk)
                    file.write(chunk)
            return digest.hexdigest()

        return self._store(key, write, media_type=media_type)

    def get(self, key: ObjectKey) -> bytes:
        return self._current(key, Path.read_bytes)

    def start_of(self, key: ObjectKey, *, size_bytes: int) -> bytes:
        def read(data: Path) -> bytes:
            with data.open("rb") as file:
                return file.read(size_bytes)

        return self._current(key, read)

    @contextmanager
    def local_copy(self, key: ObjectKey) -> Iterator[Path]:
        """A second name for the file, with the key's own ending, that lasts when the object is replaced or deleted."""
        folder = self._root / _SCRATCH / f"{os.getpid()}-{ULID()}"
        copy = folder / key.name
        with _translated():
            folder.mkdir()
        try:
            self._current(key, lambda data: _link_or_copy(data, copy))
            yield copy
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def head(self, key: ObjectKey) -> ObjectInfo:
        return self._current(key, _info)

    def exists(self, key: ObjectKey) -> bool:
        with _translated():
            return self._path(key).is_symlink()

    def copy(self, source: ObjectKey, target: ObjectKey) -> None:
        target_path = self._path(target)
        copied: list[Path] = []

        def link(data: Path) -> None:
            _, _, facts = data.name.split(".", 2)
            copied[:] = [target_path.with_name(f".{ULID()}.{facts}")]
            _link_or_copy(data, copied[0])

        with _translated():
            self._make_folder(target_path.parent)
        self._current(source, link)
        self._point(target_path, copied[0])

    def delete_owner(self, tenant_id: str, owner_id: str) -> int:
        return self._delete_folders(tenant_id, owner_id, files="*/*", up=2)

    def delete_tenant(self, tenant_id: str) -> int:
        return self._delete_folders(tenant_id, "any", files="*/*/*", up=3)

    def _delete_folders(self, tenant_id: str, owner_id: str, *, files: str, up: int) -> int:
        """Remove the folder ``up`` levels above an object's, in every retention class."""
        num_deleted = 0
        for retention in Retention:
            # ObjectKey refuses segments that would leave the folder.
            key = ObjectKey(retention=retention, tenant_id=tenant_id, owner_id=owner_id, attempt=0, name="any")
            folder = self._path(key).parents[up - 1]
            with _translated():
                if not folder.is_dir():
                    continue
                num_deleted += sum(path.is_symlink() for path in folder.glob(files))
                doomed = self._root / _SCRATCH / str(ULID())
                folder.rename(doomed)  # gone at once; a crash below leaves only scratch
                _sync_folder(folder.parent)
            shutil.rmtree(doomed, ignore_errors=True)
        return num_deleted

    def sign_upload(self, key: ObjectKey, *, media_type: str, size_bytes: int, expires_in_s: int) -> SignedUpload:
        return self._links.sign_upload(key, media_type=media_type, size_bytes=size_bytes, expires_in_s=expires_in_s)

    def sign_download(self, key: ObjectKey, *, file_name: str, expires_in_s: int) -> str:
        return self._links.sign_download(key, file_name=file_name, expires_in_s=expires_in_s)

    def verify_signature(self, method: str, key: str, query: Mapping[str, str]) -> LinkPermission:
        """What a signed link of this store allows; see ``LinkSigner.verify``."""
        return self._links.verify(method, key, query)

    def remove_scratch(self, *, older_than_s: float) -> int:
        """Remove what killed processes left half done; the number of entries removed."""
        num_removed = 0
        for entry in (self._root / _SCRATCH).iterdir():
            with suppress(FileNotFoundError):
                if time.time() - entry.lstat().st_ctime < older_than_s:
                    continue
                if entry.is_dir():
                    shutil.rmtree(entry, ignore_errors=True)
                else:
                    entry.unlink()
                num_removed += 1
        return num_removed

    def remove_copies_of(self, pid: int) -> int:
        """Remove the local copies of a process that has ended, which may have been killed; the number removed.

        They are second names of files: deleting the object, and whoever it shows, does not reach them.
        """
        copies = list((self._root / _SCRATCH).glob(f"{pid}-*"))
        for copy in copies:
            shutil.rmtree(copy, ignore_errors=True)
        return len(copies)

    def remove_copies_of_the_dead(self) -> int:
        """The same for every process that is not there any more; for the start, when no other machine writes here."""
        owners = {path.name.partition("-")[0] for path in (self._root / _SCRATCH).glob("*-*")}
        pids = {int(owner) for owner in owners if owner.isdecimal()}
        return sum(self.remove_copies_of(pid) for pid in pids if not _is_running(pid))

    def _store(self, key: ObjectKey, write: Callable[[BinaryIO], str], *, media_type: str) -> ObjectInfo:
        quoted = quote(media_type, safe=" ;=+-")
        if len(quoted) > _MAX_MEDIA_TYPE:
            raise InvalidRequest(f"{media_type!r} is too long for a media type.", code="malformed_media_type")
        ulid = ULID()
        draft = self._root / _SCRATCH / str(ulid)
        with _translated():
            try:
                with draft.open("xb") as file:
                    sha256 = write(file)
                    file.flush()
                    os.fsync(file.fileno())
                    size_bytes = os.fstat(file.fileno()).st_size
                path = self._path(key)
                self._make_folder(path.parent)
                data = path.with_name(f".{ulid}.{sha256}.{quoted}")
                draft.rename(data)
            except BaseException:
                draft.unlink(missing_ok=True)
                raise
            self._point(path, data)
        return ObjectInfo(size_bytes=size_bytes, media_type=media_type, sha256=sha256)

    def _point(self, path: Path, data: Path) -> None:
        """Make ``path`` the object whose bytes are ``data``, and remove the bytes it had before."""
        with _translated():
            before = path.readlink().name if path.is_symlink() else None
            draft = self._root / _SCRATCH / str(ULID())
            draft.symlink_to(data.name)
            draft.replace(path)
            _sync_folder(path.parent)
            if before is not None and before != data.name:
                path.with_name(before).unlink(missing_ok=True)

    def _make_folder(self, folder: Path) -> None:
        """Make ``folder`` with its parents, their entries durable."""
        if folder.is_dir() or folder == self._root:
            return
        self._make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        _sync_folder(folder.parent)

    def _current(self, key: ObjectKey, use: Callable[[Path], T]) -> T:
        """What ``use`` makes of the file with the object's bytes; once more when a writer replaced it meanwhile."""
        path = self._path(key)
        with _translated():
            while True:
                try:
                    data = path.with_name(path.readlink().name)
                except (FileNotFoundError, NotADirectoryError) as error:
                    raise NotFound(f"There is no object {key}.", code="object_not_found") from error
                try:
                    return use(data)
                except FileNotFoundError:
                    if path.is_symlink() and path.readlink().name == data.name:
                        raise

    def _path(self, key: ObjectKey) -> Path:
        return self._root / str(key)


def _info(data: Path) -> ObjectInfo:
    _, _, sha256, media_type = data.name.split(".", 3)
    return ObjectInfo(size_bytes=data.stat().st_size, media_type=unquote(media_type), sha256=sha256)


def _link_or_copy(source: Path, target: Path) -> None:
    """A hard link, or a copy where the file system has none."""
    try:
        target.hardlink_to(source)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EXDEV, errno.EMLINK, errno.ENOTSUP):
            raise
        with source.open("rb") as reader, target.open("xb") as writer:
            shutil.copyfileobj(reader, writer, _CHUNK_BYTES)
            os.fsync(writer.fileno())


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Unavailable(f"The object store is not usable: {error.strerror}.", code="store_unavailable") from error


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
