"""Archives: a zip, whose files are read by name, and WebDataset tars, which are read as a stream."""

from __future__ import annotations

import posixpath
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO, Final, cast

from services.domain.errors import ContentRejected, InvalidRequest
from training.data.findings import Fault
from training.data.sources.raw import (
    CAPTION_ENDINGS,
    FIELDS_ENDING,
    MASK_ENDING,
    TABLES,
    RawSample,
    is_ignored,
    is_named_picture,
    lone_caption,
    too_large,
)
from training.data.sources.rows import fields_of

# Pictures are compressed already; a text may shrink a thousandfold, but a text is small.
_MAX_RATIO: Final = 100
_UNSUSPICIOUS: Final = 16 * 2**20
_MAX_FILES: Final = 2_000_000


class ZipFiles:
    """The files of a zip; refused whole when it could write, or grow, out of its place.

    Nothing is ever unpacked to disk. Names are still refused that would leave a folder: whoever packed them did not
    mean well, and reports and shards carry names on.

    Raises:
        InvalidRequest: ``malformed_archive``.
        ContentRejected: ``archive_unsafe``, ``archive_bomb``.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, OSError, ValueError) as error:
            raise _malformed(path.name) from error
        self._path = path
        infos = [info for info in self._zip.infolist() if not info.is_dir()]
        if len(infos) > _MAX_FILES:
            raise _bomb(path.name, f"it has {len(infos):,} files; at most {_MAX_FILES:,} are read")
        for info in infos:
            _require_safe_name(info.filename, path.name)
            if stat.S_ISLNK(info.external_attr >> 16):
                raise _unsafe(path.name, info.filename, "a link")
            if info.flag_bits & 0x1:
                raise _unsafe(path.name, info.filename, "encrypted")
            if info.file_size > _UNSUSPICIOUS and info.file_size > _MAX_RATIO * max(1, info.compress_size):
                raise _bomb(path.name, f'"{info.filename}" grows to {info.file_size / 2**20:,.0f} MB')
        packed = sum(info.compress_size for info in infos)
        if packed > path.stat().st_size:
            raise _bomb(path.name, "its files overlap")
        whole = sum(info.file_size for info in infos)
        if whole > _UNSUSPICIOUS and whole > _MAX_RATIO * max(1, packed):
            raise _bomb(path.name, f"{packed:,} bytes grow to {whole / 2**20:,.0f} MB")
        self._infos = {posixpath.normpath(info.filename): info for info in sorted(infos, key=lambda i: i.filename)}

    @property
    def title(self) -> str:
        return self._path.name

    def names(self) -> Mapping[str, int]:
        return {name: info.file_size for name, info in self._infos.items()}

    def open(self, name: str) -> BinaryIO:
        return cast(BinaryIO, _ZipMember(self._zip, self._infos[name]))


class _ZipMember:
    """A file of a zip; what is damaged raises OSError, as a file on a disk would."""

    def __init__(self, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> None:
        self._archive, self._info = archive, info
        self._file: IO[bytes] | None = None

    def __enter__(self) -> _ZipMember:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def read(self, size: int = -1) -> bytes:
        try:
            if self._file is None:
                self._file = self._archive.open(self._info)
            # zipfile itself ends at the size that is declared, and compares the checksum there.
            return self._file.read(size)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
            raise OSError(0, "it is damaged inside the archive") from error

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False

    @property
    def closed(self) -> bool:
        return self._file is not None and self._file.closed

    def read1(self, size: int = -1) -> bytes:
        return self.read(size if size >= 0 else 1 << 16)

    def flush(self) -> None:
        return

    def close(self) -> None:
        self.__exit__()


class TarSource:
    """WebDataset shards: tars whose files of one key follow each other. Each is read once, front to back.

    Args:
        shards: A name and how to open it, each; the opener may be called again.
    """

    def __init__(
        self,
        shards: Sequence[tuple[str, Callable[[], AbstractContextManager[BinaryIO]]]],
        *,
        title: str,
        max_file_bytes: int,
    ) -> None:
        self._shards, self._title, self._max = shards, title, max_file_bytes

    @property
    def title(self) -> str:
        return self._title

    def samples(self) -> Iterator[RawSample]:
        for name, opener in self._shards:
            prefix = f"{name}/" if len(self._shards) > 1 else ""
            with opener() as file:
                yield from self._of_shard(file, name, prefix)

    def _of_shard(self, file: BinaryIO, shard: str, prefix: str) -> Iterator[RawSample]:
        key: str | None = None
        parts: dict[str, bytes | int] = {}
        try:
            with tarfile.open(fileobj=file, mode="r|*") as tar:
                for member in tar:
                    _require_safe_name(member.name, shard)
                    if member.isdir() or is_ignored(member.name):
                        continue
                    if not member.isreg():
                        raise _unsafe(shard, member.name, "a link or a device")
                    folder, _, base = member.name.rpartition("/")
                    stem, dot, ending = base.partition(".")
                    this = f"{folder}/{stem}" if folder else stem
                    if this != key:
                        yield from self._grouped(prefix, key, parts)
                        key, parts = this, {}
                    handle = tar.extractfile(member) if member.size <= self._max else None
                    parts[dot + ending] = member.size if handle is None else handle.read()
            yield from self._grouped(prefix, key, parts)
        except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
            if key is None:
                raise _malformed(shard) from error
            # What came before the damage is good; what comes after cannot be had.
            yield from self._grouped(prefix, key, parts)
            detail = f"The shard is damaged or cut off after {key}; what comes behind is lost."
            yield RawSample(name=shard, data=None, fault=Fault.UNREADABLE, detail=detail)

    def _grouped(self, prefix: str, key: str | None, parts: Mapping[str, bytes | int]) -> Iterator[RawSample]:
        if key is None:
            return
        lower = {ending.lower(): ending for ending in parts}
        beside = {*CAPTION_ENDINGS, FIELDS_ENDING, MASK_ENDING}
        pictures = [ending for ending in parts if ending.lower() not in beside and f"{key}{ending}" not in TABLES]
        texts = [parts[lower[ending]] for ending in CAPTION_ENDINGS if ending in lower]
        captions = [text for text in texts if isinstance(text, bytes)]
        fields_part = parts.get(lower.get(FIELDS_ENDING, ""), b"")
        fields = dict(fields_of(fields_part)) if isinstance(fields_part, bytes) else {}
        if "caption" in fields:
            captions.append(fields.pop("caption").encode())
        mask = parts.get(lower.get(MASK_ENDING, ""))
        if not pictures and texts:
            yield lone_caption(prefix + key)
        for ending in pictures:
            name, data = f"{prefix}{key}{ending}", parts[ending]
            if isinstance(data, int):
                yield too_large(name, data, self._max)
                continue
            if not is_named_picture(name) and len(pictures) > 1:
                yield RawSample(name=name, data=None, fault=Fault.NOT_A_PICTURE, detail="It is beside a picture.")
                continue
            yield RawSample(
                name=name,
                data=data,
                caption=captions[0] if captions else None,
                other_caption=captions[1] if len(captions) > 1 else None,
                fields=fields,
                mask=mask if isinstance(mask, bytes) else None,
            )


def _require_safe_name(name: str, archive: str) -> None:
    parts = PurePosixPath(name.replace("\\", "/"))
    if parts.is_absolute() or ".." in parts.parts or "\0" in name or (len(name) > 1 and name[1] == ":"):
        raise _unsafe(archive, name, "a way out of the folder")


def _unsafe(archive: str, name: str, what: str) -> ContentRejected:
    return ContentRejected(
        f'"{archive}" holds {what} ({name!r}); nothing of it is read. Pack it again with plain files only.',
        code="archive_unsafe",
        param="source",
    )


def _bomb(archive: str, why: str) -> ContentRejected:
    return ContentRejected(
        f'"{archive}" is not read: {why}. Pictures do not compress like that.', code="archive_bomb", param="source"
    )


def _malformed(archive: str) -> InvalidRequest:
    return InvalidRequest(
        f'"{archive}" cannot be read as an archive; it is damaged, or something else.',
        code="malformed_archive",
        param="source",
    )
