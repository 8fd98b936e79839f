"""Rows of a CSV or JSONL table, each a file with its caption and a product's fields."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO, Final

from services.domain.errors import InvalidRequest
from training.data.sources.raw import CAPTION_COLUMNS, FILE_COLUMNS

_MAX_ROW: Final = 1 << 20  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row.

    Attributes:
        file: As it is written.
        caption: Bytes as they are in the table, None for an empty cell or a table without captions.
        fields: The other cells, by column.
    """

    file: str
    caption: bytes | None
    fields: Mapping[str, str]


def rows_of(file: BinaryIO, name: str) -> Iterator[Row]:
    """The rows of a table, read one at a time; ``name`` says by its ending which kind it is.

    Raises:
        InvalidRequest: ``malformed_table``, saying where.
    """
    # Bytes that are no UTF-8 pass through as surrogates, so that each caption is decoded by its own rule later.
    text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline="")
    if name.lower().endswith((".jsonl", ".ndjson")):
        yield from _json_rows(text, name)
    else:
        yield from _csv_rows(text, name)


def _csv_rows(text: io.TextIOWrapper, name: str) -> Iterator[Row]:
    start = text.readline(_MAX_ROW)
    delimiter = max(",;\t", key=start.count)
    columns = next(csv.reader([start], delimiter=delimiter), [])
    columns = [column.strip() for column in columns]
    file_column = _one_of(columns, FILE_COLUMNS, name)
    reader = csv.reader(text, delimiter=delimiter)
    try:
        for cells in reader:
            if not cells:
                continue
            if len(cells) != len(columns):
                raise _malformed(name, reader.line_num + 1, f"has {len(cells)} cells, the header {len(columns)}")
            yield _row(dict(zip(columns, cells, strict=True)), file_column)
    except csv.Error as error:
        raise _malformed(name, reader.line_num + 1, "cannot be read as CSV") from error


def _json_rows(text: Iterable[str], name: str) -> Iterator[Row]:
    for number, line in enumerate(text, 1):
        if not line.strip():
            continue
        try:
            document = json.loads(line)
        except ValueError as error:
            raise _malformed(name, number, "is not JSON") from error
        if not isinstance(document, dict):
            raise _malformed(name, number, "is not an object")
        cells = {str(key): _cell(value) for key, value in document.items()}
        yield _row(cells, _one_of(list(cells), FILE_COLUMNS, name))


def fields_of(data: bytes) -> Mapping[str, str]:
    """The fields of a JSON file beside a picture; empty when it is no object."""
    try:
        document = json.loads(data)
    except ValueError:
        return {}
    return {str(key): _cell(value) for key, value in document.items()} if isinstance(document, dict) else {}


def _row(cells: Mapping[str, str], file_column: str) -> Row:
    caption_column = next((column for column in CAPTION_COLUMNS if column in cells), None)
    caption = cells[caption_column] if caption_column is not None else ""
    fields = {column: cell for column, cell in cells.items() if column not in (file_column, caption_column)}
    return Row(
        file=cells[file_column],
        caption=caption.encode("utf-8", "surrogateescape") if caption.strip() else None,
        fields={column: cell.encode("utf-8", "replace").decode() for column, cell in fields.items()},
    )


def _cell(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _one_of(columns: list[str], wanted: tuple[str, ...], name: str) -> str:
    found = next((column for column in wanted if column in columns), None)
    if found is None:
        raise InvalidRequest(
            f"{name} has no column that names files: {', '.join(wanted)} are known, it has "
            f"{', '.join(columns[:12]) or 'none'}.",
            code="malformed_table",
        )
    return found


def _malformed(name: str, line: int, why: str) -> InvalidRequest:
    return InvalidRequest(f"Line {line} of {name} {why}.", code="malformed_table")
