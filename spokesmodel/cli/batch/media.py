"""Files named in a batch's rows: each is sent once, and its upload takes its place.

A column that ends in ``file`` (``presenter.file``, ``speech.audio_file``, ``background.file``) names a file, looked up
beside the batch's own; it is sent as the column that ends in ``upload_id``.
"""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from services.domain.errors import InvalidRequest, QuotaExceeded
from spokesmodel.cli.batch.memo import sha256_of

if TYPE_CHECKING:
    from services.usecases.batch_file import RawRow
    from spokesmodel.client import Client

_FILE: Final = "file"
_UPLOAD: Final = "upload_id"
_FALLBACKS: Final = {"speech": "audio/wav"}
_USUAL_FALLBACK: Final = "image/jpeg"


@dataclass(slots=True)
class Media:
    """The files of a batch's rows, by hash of their content.

    Attributes:
        faults: What is wrong with rows, as results tell it; known before anything is sent.
        renamed: Columns of the file by what they are sent as.
    """

    folder: Path
    faults: list[dict[str, Any]] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)
    _paths: dict[str, Path] = field(default_factory=dict)
    _families: dict[str, str] = field(default_factory=dict)
    _hashes: dict[Path, str] = field(default_factory=dict)
    _uploads: dict[str, str] = field(default_factory=dict)

    def find(self, name: str, *, row: int, column: str) -> None:
        """Note that ``column`` of ``row`` names a file."""
        self.renamed[_sent_as(column)] = column
        path = self.folder / name
        if path not in self._hashes:
            try:
                self._hashes[path] = sha256_of(path)
            except (InvalidRequest, ValueError):
                reason = f"There is no file {name} beside the batch's file."
                self.blame(row, column, "file_not_found", reason)
                return
        self._paths.setdefault(self._hashes[path], path)
        self._families.setdefault(self._hashes[path], _FALLBACKS.get(column.partition(".")[0], _USUAL_FALLBACK))

    def blame(self, row: int, column: str | None, code: str, reason: str) -> None:
        """Note a fault; row 0 is the defaults."""
        self.faults.append({"row": row, "id": None, "column": column, "code": code, "reason": reason})

    def send(self, client: Client, on_progress: Callable[[int, int], None]) -> None:
        """Upload what was found, each content once."""
        for number, (digest, path) in enumerate(self._paths.items()):
            on_progress(number, len(self._paths))
            self._uploads[digest] = _sent(client, path, self._families[digest])

    def upload_of(self, name: str) -> str:
        """The upload of a file that was found and sent."""
        return self._uploads[self._hashes[self.folder / name]]


def _sent(client: Client, path: Path, fallback_type: str) -> str:
    """The upload of a file; asked again when the server says that it was asked too often."""
    while True:
        try:
            return client.upload(path, fallback_type=fallback_type)
        except QuotaExceeded as error:
            time.sleep(error.retry_after_s)


def names_files(column: str) -> bool:
    """Whether a column, or the name of a JSON field, names a file."""
    return column.rpartition(".")[2] == _FILE or column.endswith(f"_{_FILE}")


def _sent_as(column: str) -> str:
    return column.removesuffix(_FILE) + _UPLOAD


def mentions_file(values: Mapping[str, Any]) -> bool:
    """Whether a row names a file anywhere."""
    return any(
        mentions_file(value) if isinstance(value, Mapping) else names_files(name) for name, value in values.items()
    )


def find_in_rows(rows: Iterable[RawRow], media: Media) -> None:
    """Note the files that rows name; rows that cannot be read are faults."""
    for row in rows:
        for fault in row.faults:
            media.blame(row.number, fault.column, fault.code, fault.detail)
        find_in(row.values, media, row=row.number)


def find_in(values: Mapping[str, Any], media: Media, *, row: int, at: str = "") -> None:
    """Note the files that a row, or the defaults, name."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            find_in(value, media, row=row, at=f"{at}{name}.")
        elif names_files(name) and isinstance(value, str):
            media.find(value, row=row, column=f"{at}{name}")


def with_uploads(values: Mapping[str, Any], media: Media) -> dict[str, Any]:
    """The values with uploads in place of files."""
    replaced: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            replaced[name] = with_uploads(value, media)
        elif names_files(name) and isinstance(value, str):
            replaced[_sent_as(name)] = media.upload_of(value)
        else:
            replaced[name] = value
    return replaced


def table_of(rows: list[RawRow], columns: list[str], media: Media, *, delimiter: str) -> bytes:
    """The CSV to send in place of one whose columns name files; rows keep their numbers."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter)
    writer.writerow([_sent_as(name) if names_files(name) else name for name in columns])
    last = 0
    for row in rows:
        writer.writerows([""] * len(columns) for _ in range(last + 1, row.number))  # the blank ones
        last = row.number
        cells = with_uploads(row.values, media)
        writer.writerow([cells.get(_sent_as(name) if names_files(name) else name, "") for name in columns])
    return text.getvalue().encode()


def lines_of(rows: list[RawRow], media: Media) -> bytes:
    """The JSONL to send in place of one whose rows name files; rows keep their numbers."""
    lines = {row.number: json.dumps(with_uploads(row.values, media), ensure_ascii=False).encode() for row in rows}
    return b"".join(lines.get(number, b"") + b"\n" for number in range(1, max(lines, default=0) + 1))
