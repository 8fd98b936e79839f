"""Rows of a batch's file, one at a time, whatever wrote it: a spreadsheet, a database, a program.

CSV after RFC 4180 in UTF-8 with or without a byte order mark, or in UTF-16 with one; between cells commas, semicolons
or tabs, as the header shows. JSONL: an object a line. A row that cannot be read is told by number; the others go on.
The whole file is refused only when it cannot be known where its rows begin and end.
"""

from __future__ import annotations

import codecs
import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TextIO

from services.domain.batch import RowFault
from services.domain.errors import ContentRejected

CSV: Final = "text/csv"
JSONL: Final = "application/jsonl"
ID: Final = "id"
_MAX_CELL: Final = 131_072  # characters; of the csv module
_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_OTHER_FILES: Final = (
    (b"PK\x03\x04", "a zip file, as .xlsx and .ods are; save the sheet as CSV"),
    (b"\xd0\xcf\x11\xe0", "an .xls file; save the sheet as CSV"),
    (b"%PDF", "a PDF"),
    (b"\x1f\x8b", "compressed; send the file itself"),
)


class UnusableFile(ContentRejected):
    """The file as a whole cannot be used; ``faults`` are of its header, when that is what is wrong."""

    def __init__(self, detail: str, *, code: str, faults: tuple[RowFault, ...] = ()) -> None:
        super().__init__(detail, code=code)
        self.faults = faults


@dataclass(frozen=True, slots=True, kw_only=True)
class RawRow:
    """A row as it stands in the file: cells by column, or an object; or why it cannot be read."""

    number: int
    values: Mapping[str, Any] = field(default_factory=dict)
    faults: tuple[RowFault, ...] = ()


def read_rows(
    path: Path, media_type: str, *, max_row_bytes: int, check_header: Callable[[list[str]], tuple[RowFault, ...]]
) -> Iterator[RawRow]:
    """The rows of the file at ``path``; blank rows at its end are none.

    Args:
        check_header: What is wrong with a CSV's column names.

    Raises:
        UnusableFile: ``empty_file``, ``unsupported_media``, ``not_utf8``, ``broken_quotes``, ``unusable_header``.
    """
    with _open(path) as file:
        try:
            rows = _jsonl(file) if media_type == JSONL else _csv(file, check_header)
            yield from _without_trailing_blanks(rows, max_row_bytes)
        except UnicodeDecodeError as error:
            raise UnusableFile(
                f"The file is not {error.encoding} throughout: {error.reason}.", code="not_utf8"
            ) from error


def _open(path: Path) -> TextIO:
    with path.open("rb") as file:
        start = file.read(4096)
    if not start.strip(b"\xef\xbb\xbf \t\r\n"):
        raise UnusableFile("The file is empty.", code="empty_file")
    for magic, what in _OTHER_FILES:
        if start.startswith(magic):
            raise UnusableFile(f"The file is {what}.", code="unsupported_media")
    encoding = next((name for bom, name in _BOMS if start.startswith(bom)), "utf-8")
    if encoding.startswith("utf-8") and b"\0" in start:
        raise UnusableFile(
            "The file has zero bytes: it is no text, or UTF-16 without a byte order mark; save it as UTF-8.",
            code="not_utf8",
        )
    # Bytes that are no UTF-8 become lone surrogates, which the row's check then finds in their cell.
    errors = "surrogateescape" if encoding.startswith("utf-8") else "strict"
    return path.open(encoding=encoding, errors=errors, newline="")


def _without_trailing_blanks(rows: Iterable[tuple[int, RawRow | None]], max_row_bytes: int) -> Iterator[RawRow]:
    """The rows with blank ones told as faults, except at the end, where spreadsheets leave them."""
    blanks: list[int] = []
    for number, row in rows:
        if row is None:
            blanks.append(number)
            continue
        for blank in blanks:
            yield RawRow(number=blank, faults=(RowFault(column=None, code="empty_row", detail="The row is empty."),))
        blanks.clear()
        yield _checked(row, max_row_bytes)


def _checked(row: RawRow, max_row_bytes: int) -> RawRow:
    """``row``, or its faults when it has bytes that are no text, or too many."""
    faults = [
        RowFault(
            column=column, code="not_utf8", detail="The cell has bytes that are not UTF-8; save the file as UTF-8."
        )
        for column, value in row.values.items()
        if not _is_text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    ]
    if not faults and sum(len(str(value)) for value in row.values.values()) > max_row_bytes:
        detail = f"The row has more than {max_row_bytes} characters."
        faults.append(RowFault(column=None, code="row_too_large", detail=detail))
    return RawRow(number=row.number, faults=tuple(faults)) if faults else row


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _csv(
    file: TextIO, check_header: Callable[[list[str]], tuple[RowFault, ...]]
) -> Iterator[tuple[int, RawRow | None]]:
    record: list[str] = []  # the lines of the row that is being read, to find the cell of a broken quote

    def lines() -> Iterator[str]:
        for line in file:
            record.append(line)
            yield line

    delimiter = _delimiter(file)
    reader = csv.reader(lines(), delimiter=delimiter, strict=True)
    columns, number = _header(reader, check_header), 0
    while True:
        record.clear()
        number += 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            fault = _quote_fault(record, columns, delimiter, error)
            if "expected after" not in str(error):
                raise UnusableFile(f"Row {number}: {fault.detail}", code=fault.code, faults=(fault,)) from error
            yield number, RawRow(number=number, faults=(fault,))
            continue
        yield number, _csv_row(number, columns, cells)


def _delimiter(file: TextIO) -> str:
    """What stands between the header's cells; the file is left where the header begins."""
    first = file.readline()
    if first.lower().startswith("sep=") and len(first.strip()) == 5:  # as spreadsheets tell it to each other
        return first[4]
    file.seek(0)
    return max(",;\t", key=first.count)


def _header(reader: Iterator[list[str]], check: Callable[[list[str]], tuple[RowFault, ...]]) -> list[str]:
    try:
        columns = [name.strip() for name in next(reader)]
    except (csv.Error, StopIteration) as error:
        raise UnusableFile("The header's quotes are broken.", code="broken_quotes") from error
    while columns and not columns[-1]:  # delimiters at the line's end
        columns.pop()
    faults = check(columns)
    if faults:
        more = f" ({len(faults)} faults in all)" if len(faults) > 1 else ""
        detail = f"The header cannot be used: {faults[0].detail}{more}"
        raise UnusableFile(detail, code="unusable_header", faults=faults)
    return columns


def _csv_row(number: int, columns: list[str], cells: list[str]) -> RawRow | None:
    if not any(cell.strip() for cell in cells):
        return None
    if len(cells) < len(columns) or any(cell.strip() for cell in cells[len(columns) :]):
        detail = (
            f"The row has {len(cells)} cells, the header {len(columns)}. Text with delimiters or line ends is quoted."
        )
        return RawRow(number=number, faults=(RowFault(column=None, code="wrong_number_of_cells", detail=detail),))
    values = {name: cell for name, cell in zip(columns, cells, strict=False) if name and cell.strip()}
    nameless = [cell for name, cell in zip(columns, cells, strict=False) if not name and cell.strip()]
    if nameless:
        detail = "A cell stands below a column without a name."
        return RawRow(number=number, faults=(RowFault(column=None, code="unnamed_column", detail=detail),))
    return RawRow(number=number, values=values)


def _quote_fault(record: list[str], columns: list[str], delimiter: str, error: csv.Error) -> RowFault:
    """The broken quote by its column: cells are counted as far as they make sense."""
    index, quoted, text = 0, False, "".join(record)
    for position, character in enumerate(text):
        if character == '"':
            closing = quoted and text[position + 1 : position + 2] not in (delimiter, "\r", "\n", '"', "")
            if closing and text[position - 1 : position] != '"':
                break
            quoted = not quoted
        elif character == delimiter and not quoted:
            index += 1
    column = columns[index] if index < len(columns) else None
    if "field larger" in str(error):
        detail = f"a cell has more than {_MAX_CELL} characters; perhaps a quote is not closed"
    elif "unexpected end" in str(error):
        detail = "a quote is never closed, so the rest of the file is inside it"
    else:
        detail = 'after a closing quote comes no delimiter; write a quote inside a quoted cell twice ("")'
    return RowFault(column=column or None, code="broken_quotes", detail=f"{detail[0].upper()}{detail[1:]}.")


def _jsonl(file: TextIO) -> Iterator[tuple[int, RawRow | None]]:
    for number, line in enumerate(file, 1):
        if not line.strip():
            yield number, None
            continue
        try:
            value = json.loads(line, parse_constant=_refuse, object_pairs_hook=_unique)
        except json.JSONDecodeError as error:
            detail = f"The row is not JSON: {error.msg} at column {error.colno}."
        except (ValueError, RecursionError) as error:
            detail = f"The row is not usable JSON: {error if isinstance(error, ValueError) else 'nested too deeply'}."
        else:
            if isinstance(value, dict):
                yield number, RawRow(number=number, values=value)
                continue
            detail = "The row is JSON, but no object; JSONL has an object on each line."
        yield number, RawRow(number=number, faults=(RowFault(column=None, code="malformed_json", detail=detail),))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError("a key stands twice in an object")
    return values


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")
