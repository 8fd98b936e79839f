"""Opens a source by what it is: a folder, a table, a zip, shards; here or in S3."""

from __future__ import annotations

import re
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final, cast

from services.domain.errors import InvalidRequest
from training.data.sources.archives import TarSource, ZipFiles
from training.data.sources.files import FileSource, Folder, TableSource
from training.data.sources.raw import Source
from training.data.sources.s3 import S3Client, S3Prefix, open_object, spooled

_TABLE_ENDINGS: Final = (".csv", ".tsv", ".jsonl", ".ndjson")
_TAR_ENDINGS: Final = (".tar", ".tar.gz", ".tgz")
_RANGE: Final = re.compile(r"\{(\d+)\.\.(\d+)\}")
_MAX_SHARDS: Final = 100_000


@contextmanager
def open_source(
    where: str,
    *,
    root: Path | None = None,
    s3: Callable[[], S3Client] | None = None,
    max_file_bytes: int = 256 * 2**20,
) -> Iterator[Source]:
    """The source at ``where``.

    Args:
        where: A path, or ``s3://bucket/...``: a folder (in S3 a prefix with ``/`` at its end) of pictures or of tar
            shards, a CSV or JSONL table, a zip, a tar, or several tars as ``shard-{00000..00009}.tar``.
        root: What a table's files are named from; by default its own folder.
        s3: Makes the client for S3; called only when one is needed.

    Raises:
        InvalidRequest: ``file_not_found``, ``malformed_source``, ``malformed_archive``, ``source_not_found``.
        ContentRejected: ``archive_unsafe``, ``archive_bomb``.
        Unavailable: ``object_unavailable``.
    """
    with ExitStack() as stack:
        if where.startswith("s3://"):
            if s3 is None:
                raise InvalidRequest("Sources in S3 cannot be read here.", code="malformed_source", param="source")
            yield _in_s3(where, s3(), max_file_bytes, stack)
        else:
            yield _here(where, root, max_file_bytes)


def _here(where: str, root: Path | None, most: int) -> Source:
    paths = [Path(one) for one in _expanded(where)]
    missing = next((path for path in paths if not path.exists()), None)
    if missing is not None:
        raise InvalidRequest(f"There is no {missing}.", code="file_not_found", param="source")
    path = paths[0]
    if len(paths) > 1 or (path.is_file() and path.name.lower().endswith(_TAR_ENDINGS)):
        return _tars(paths, Path(where).name, most)
    if path.is_dir():
        files = sorted(one for one in path.iterdir() if not one.name.startswith("."))
        shards = [one for one in files if one.name.lower().endswith(_TAR_ENDINGS)]
        return _tars(shards, path.name, most) if shards else FileSource(Folder(path), max_file_bytes=most)
    if path.name.lower().endswith(_TABLE_ENDINGS):
        return TableSource(path, root=root, max_file_bytes=most)
    if zipfile.is_zipfile(path) or path.name.lower().endswith(".zip"):
        return FileSource(ZipFiles(path), max_file_bytes=most)
    if tarfile.is_tarfile(path):
        return _tars([path], path.name, most)
    raise InvalidRequest(
        f"{path.name} is no source of pictures: a folder, a CSV or JSONL table, a zip or tars are.",
        code="malformed_source",
        param="source",
    )


def _in_s3(where: str, client: S3Client, most: int, stack: ExitStack) -> Source:
    urls = _expanded(where)
    lower = urls[0].lower()
    if lower.endswith(_TAR_ENDINGS):
        shards = [(url.rpartition("/")[2], partial(open_object, client, url)) for url in urls]
        return TarSource(shards, title=where, max_file_bytes=most)
    if lower.endswith(".zip"):
        # A zip's table of contents stands at its end: it lies on disk while it is read, never in memory.
        return FileSource(ZipFiles(stack.enter_context(spooled(client, where))), max_file_bytes=most)
    if lower.endswith(_TABLE_ENDINGS):
        raise InvalidRequest(
            f"{where}: a table in S3 is read with its pictures; name it captions.csv or captions.jsonl among them, and "
            "give the prefix.",
            code="malformed_source",
            param="source",
        )
    prefix = S3Prefix(client, where)
    names = prefix.names()
    if not names:
        raise InvalidRequest(f"There is nothing below {prefix.title}.", code="source_not_found", param="source")
    tars = [name for name in names if name.lower().endswith(_TAR_ENDINGS)]
    if tars:
        return TarSource([(name, partial(prefix.open, name)) for name in tars], title=prefix.title, max_file_bytes=most)
    return FileSource(prefix, max_file_bytes=most)


def _tars(paths: list[Path], title: str, most: int) -> TarSource:
    shards: list[tuple[str, Callable[[], AbstractContextManager[BinaryIO]]]] = [
        (path.name, partial(_opened, path)) for path in paths
    ]
    return TarSource(shards, title=title, max_file_bytes=most)


def _opened(path: Path) -> BinaryIO:
    return cast(BinaryIO, path.open("rb"))


def _expanded(where: str) -> list[str]:
    """``a-{00..02}.tar`` as WebDataset writes it: a-00.tar, a-01.tar, a-02.tar."""
    match = _RANGE.search(where)
    if match is None:
        return [where]
    first, last = int(match[1]), int(match[2])
    if not 0 <= last - first < _MAX_SHARDS:
        raise InvalidRequest(
            f"{match[0]} is no range of at most {_MAX_SHARDS:,} shards.", code="malformed_source", param="source"
        )
    width = len(match[1])
    return [where[: match.start()] + f"{i:0{width}d}" + where[match.end() :] for i in range(first, last + 1)]
