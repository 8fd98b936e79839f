"""From a batch's file on this machine to the order that the server gets."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from services.domain.errors import ContentRejected, InvalidRequest
from spokesmodel.cli.batch.media import (
    Media,
    find_in,
    find_in_rows,
    lines_of,
    mentions_file,
    names_files,
    table_of,
    with_uploads,
)

if TYPE_CHECKING:
    from services.usecases.batch_file import RawRow
    from spokesmodel.client import Client

_MAX_ROW: Final = 1 << 20
_TABLES: Final = (".csv", ".tsv", ".txt")
_LINES: Final = (".jsonl", ".ndjson")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A batch's file, read.

    Attributes:
        has_files: Whether rows name files, so that another file is sent in its place.
        rows: Kept only when they do.
    """

    file: Path
    media_type: str
    media: Media
    defaults: dict[str, Any]
    rows: list[RawRow]
    columns: list[str]
    has_files: bool

    @contextmanager
    def to_send(self) -> Iterator[Path]:
        """The file to send, once the files that it names are."""
        if not self.has_files:
            yield self.file
            return
        from services.usecases.batch_file import JSONL

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / self.file.name
            is_lines = self.media_type == JSONL
            path.write_bytes(
                lines_of(self.rows, self.media)
                if is_lines
                else table_of(self.rows, self.columns, self.media, delimiter=table_delimiter(str(self.file)))
            )
            yield path


def table_delimiter(name: str) -> str:
    """What stands between the cells of the CSV called ``name``; a comma where it is none, or a batch's id."""
    from services.usecases.table_form import HEADER_BYTES, delimiter_in

    path = Path(name)
    try:
        with path.open("rb") as file:
            return delimiter_in(file.read(HEADER_BYTES)) if path.suffix.lower() in _TABLES else ","
    except OSError:
        return ","


def prepare(file: Path, defaults: Mapping[str, Any]) -> Prepared:
    """The file read as far as that finds the files that its rows name. Nothing is sent yet.

    Raises:
        InvalidRequest: ``file_not_found``, ``unsupported_media_type``.
        ContentRejected: The file cannot be used as a whole.
    """
    from services.usecases.batch_file import CSV, JSONL
    from services.usecases.read_rows import read_rows

    suffix = file.suffix.lower()
    if suffix not in _TABLES + _LINES:
        raise InvalidRequest(
            f"{file.name} is neither {', '.join(_TABLES)} nor {', '.join(_LINES)}; save a spreadsheet as CSV.",
            code="unsupported_media_type",
            param="file",
        )
    media_type = JSONL if suffix in _LINES else CSV
    columns: list[str] = []
    media = Media(folder=file.parent)

    def keep(names: list[str]) -> tuple[()]:
        columns.extend(names)
        return ()

    try:
        rows = list(read_rows(file, media_type, max_row_bytes=_MAX_ROW, check_header=keep))
    except ContentRejected:
        rows = []  # the server says what is wrong, with its report
    except OSError as error:
        raise InvalidRequest(
            f"{file} cannot be read: {error.strerror}.", code="file_not_found", param="file"
        ) from error
    has_files = any(names_files(name) for name in columns) or any(mentions_file(row.values) for row in rows)
    find_in(defaults, media, row=0)
    if has_files:  # else the file is sent as it is, and the server finds what is wrong with rows
        find_in_rows(rows, media)
    return Prepared(
        file=file,
        media_type=media_type,
        media=media,
        defaults=dict(defaults),
        rows=rows if has_files else [],
        columns=columns,
        has_files=has_files,
    )


def send(
    prepared: Prepared, order: dict[str, Any], client: Client, on_progress: Callable[[str, float], None]
) -> dict[str, Any]:
    """The batch as the server accepted it."""
    prepared.media.send(client, lambda number, total: on_progress("sending", number / max(total, 1)))
    with prepared.to_send() as path:
        upload_id = client.upload(path, fallback_type=prepared.media_type, media_type=prepared.media_type)
    defaults = with_uploads(prepared.defaults, prepared.media)
    return client.post("/v1/batches", {**order, "upload_id": upload_id, "defaults": defaults})


def read_defaults(path: Path | None) -> dict[str, Any]:
    """The part of a body that lies under every row.

    Raises:
        InvalidRequest: ``file_not_found``, ``malformed_json``.
    """
    if path is None:
        return {}
    try:
        values = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InvalidRequest(f"{path} cannot be read: {error.strerror}.", code="file_not_found") from error
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(f"{path} is not JSON: {error}.", code="malformed_json", param="defaults") from error
    if not isinstance(values, dict):
        raise InvalidRequest(f"{path} is not a JSON object.", code="malformed_json", param="defaults")
    return values
