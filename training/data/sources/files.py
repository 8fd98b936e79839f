"""Pictures among files that can be opened by name: a folder's, a zip's; or those that a table names."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Protocol

from training.data.findings import Fault
from training.data.sources.raw import (
    CAPTION_ENDINGS,
    FIELDS_ENDING,
    MASK_ENDING,
    TABLES,
    RawSample,
    is_beside,
    is_ignored,
    is_named_picture,
    lone_caption,
    too_large,
)
from training.data.sources.rows import Row, fields_of, rows_of


class Files(Protocol):
    """Files by name, ``/`` between folders."""

    @property
    def title(self) -> str: ...

    def names(self) -> Mapping[str, int]:
        """Every file with its size in bytes, sorted."""
        ...

    def open(self, name: str) -> BinaryIO:
        """The file; bytes are read as they are asked for."""
        ...


class Folder:
    """The files below a folder. Links to files are followed, links to folders are not: they may go round in circles."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def title(self) -> str:
        return self._path.name or str(self._path)

    def names(self) -> Mapping[str, int]:
        found: dict[str, int] = {}
        for folder, _, files in os.walk(self._path):
            for file in files:
                path = Path(folder) / file
                found[path.relative_to(self._path).as_posix()] = path.stat().st_size if path.is_file() else -1
        return dict(sorted(found.items()))

    def open(self, name: str) -> BinaryIO:
        return (self._path / name).open("rb")


class FileSource:
    """Pictures of ``files`` with captions from files of the same name, or from a table among them."""

    def __init__(self, files: Files, *, max_file_bytes: int) -> None:
        self._files, self._max = files, max_file_bytes

    @property
    def title(self) -> str:
        return self._files.title

    def samples(self) -> Iterator[RawSample]:
        names = {name: size for name, size in self._files.names().items() if not is_ignored(name)}
        table, rows = self._table(names)
        taken: set[str] = set()
        for name, size in names.items():
            if not is_beside(name):
                try:
                    yield self._sample(name, size, names, rows.get(name), taken)
                except OSError as error:
                    detail = f"The file cannot be read: {error.strerror or 'unknown reason'}."
                    yield RawSample(name=name, data=None, fault=Fault.UNREADABLE, detail=detail)
        for name in names:
            if name.lower().endswith((*CAPTION_ENDINGS, MASK_ENDING)) and name not in taken:
                yield lone_caption(name)
        for file in rows:
            if file not in names:
                detail = f"{table} has a caption for it, but it is not there."
                yield RawSample(name=file, data=None, fault=Fault.FILE_MISSING, detail=detail)

    def _sample(self, name: str, size: int, names: Mapping[str, int], row: Row | None, taken: set[str]) -> RawSample:
        stem = str(PurePosixPath(name).with_suffix("")) if "." in PurePosixPath(name).name else name
        beside = {ending: stem + ending for ending in (*CAPTION_ENDINGS, FIELDS_ENDING, MASK_ENDING)}
        taken |= set(beside.values())
        if size < 0:
            return RawSample(name=name, data=None, fault=Fault.FILE_MISSING, detail="It is a link to nothing.")
        if size > self._max:
            return too_large(name, size, self._max)
        parts = {ending: self._read(file) for ending, file in beside.items() if 0 <= names.get(file, -1) <= self._max}
        captions = [parts[ending] for ending in CAPTION_ENDINGS if ending in parts]
        if row is not None and row.caption is not None:
            captions.append(row.caption)
        data = self._read(name)
        if not is_named_picture(name) and not captions and not _may_be_picture(data):
            return RawSample(name=name, data=None, fault=Fault.NOT_A_PICTURE, detail="Neither by name nor by content.")
        return RawSample(
            name=name,
            data=data,
            caption=captions[0] if captions else None,
            other_caption=captions[1] if len(captions) > 1 else None,
            fields={**(row.fields if row else {}), **fields_of(parts.get(FIELDS_ENDING, b""))},
            mask=parts.get(MASK_ENDING),
        )

    def _read(self, name: str) -> bytes:
        with self._files.open(name) as file:
            return file.read(self._max + 1)

    def _table(self, names: Mapping[str, int]) -> tuple[str, Mapping[str, Row]]:
        found = next((table for table in TABLES if table in names), None)
        if found is None:
            return "", {}
        with self._files.open(found) as file:
            return found, {posixpath.normpath(row.file.replace("\\", "/")): row for row in rows_of(file, found)}


class TableSource:
    """The files that a CSV or JSONL names, in its order; they lie below ``root``.

    A file may stand in several rows, with several captions.
    """

    def __init__(self, table: Path, *, root: Path | None = None, max_file_bytes: int) -> None:
        self._table, self._root, self._max = table, (root or table.parent).resolve(), max_file_bytes

    @property
    def title(self) -> str:
        return self._table.name

    def samples(self) -> Iterator[RawSample]:
        with self._table.open("rb") as file:
            for row in rows_of(file, self._table.name):
                yield self._sample(row)

    def _sample(self, row: Row) -> RawSample:
        path = (self._root / row.file).resolve() if "\0" not in row.file else self._root
        if not path.is_relative_to(self._root) or path == self._root:
            detail = "It lies outside of the table's folder; give its folder as the root."
            return RawSample(name=row.file, data=None, fault=Fault.OUTSIDE_FOLDER, detail=detail)
        try:
            size = path.stat().st_size
            if size > self._max:
                return too_large(row.file, size, self._max)
            data = path.read_bytes()
            mask_file = path.with_suffix(MASK_ENDING)
            mask = mask_file.read_bytes() if mask_file.is_file() else None
        except OSError as error:
            detail = f"It cannot be read: {error.strerror or 'unknown reason'}."
            return RawSample(name=row.file, data=None, fault=Fault.FILE_MISSING, detail=detail)
        return RawSample(name=row.file, data=data, caption=row.caption, fields=row.fields, mask=mask)


def _may_be_picture(data: bytes) -> bool:
    """Whether the content is a picture although the name does not say so."""
    import io

    from PIL import Image

    try:
        with Image.open(io.BytesIO(data)):
            return True
    except Exception:  # Pillow's openers raise what they like on files that are none of theirs
        return False
