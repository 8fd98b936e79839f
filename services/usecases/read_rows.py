"""Rows of a batch's file, one at a time, whatever wrote it: a spreadsheet, a database, a program.

CSV after RFC 4180 in UTF-8 with or without a byte order mark, or in UTF-16 with one; between cells commas, semicolons
or tabs, as the header shows. JSONL: an object a line. A row that cannot be read is told by number; the others go on.
The whole file is refused only when it cannot be known where its rows begin and end.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, TextIO

from services.domain.batch import RowFault
from services.domain.json_object import DuplicateKey, unique_keys
from services.usecases.batch_file import JSONL, MAX_RECORD, RawRow, UnusableFile
from services.usecases.read_table import CheckHeader, read_table
from services.usecases.table_form import encoding_of

_MAX_DEPTH: Final = 20
_MAX_BLANKS: Final = 1 << 20  # on end: as many as a spreadsheet has rows
_OTHER_FILES: Final = (
    (b"PK\x03\x04", "a zip file, as .xlsx and .ods are; save the sheet as CSV"),
    (b"\xd0\xcf\x11\xe0", "an .xls file; save the sheet as CSV"),
    (b"%PDF", "a PDF"),
    (b"\x1f\x8b", "compressed; send the file itself"),
)


class _Refused(ValueError):
    """What JSON does not rule out, and we do."""


def read_rows(path: Path, media_type: str, *, max_row_bytes: int, check_header: CheckHeader) -> Iterator[RawRow]:
    """The rows of the file at ``path``, by their place in it; blank ones are none.

    Args:
        check_header: What is wrong with a CSV's column names.

    Raises:
        UnusableFile: ``empty_file``, ``unsupported_media``, ``not_utf8``, ``broken_quotes``, ``unusable_header``,
            ``too_many_columns``, ``too_many_rows``, ``row_too_large``.
    """
    with _open(path) as file:
        try:
            rows = _jsonl(file) if media_type == JSONL else read_table(file, check_header)
            yield from _without_blanks(rows, max_row_bytes)
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
    if start.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        raise UnusableFile("The file is UTF-32; save it as UTF-8.", code="not_utf8")
    encoding = encoding_of(start)
    if encoding.startswith("utf-8") and b"\0" in start:
        raise UnusableFile(
            "The file has zero bytes: it is no text, or UTF-16 without a byte order mark; save it as UTF-8.",
            code="not_utf8",
        )
    # Bytes that are no UTF-8 become lone surrogates, which the row's check then finds in their cell.
    errors = "surrogateescape" if encoding.startswith("utf-8") else "strict"
    return path.open(encoding=encoding, errors=errors, newline="")


def _without_blanks(rows: Iterable[tuple[int, RawRow | None]], max_row_bytes: int) -> Iterator[RawRow]:
    last = 0  # the row that was not blank
    for number, row in rows:
        if row is None:
            if number - last > _MAX_BLANKS:
                raise UnusableFile(f"The file has more than {_MAX_BLANKS} empty rows on end.", code="too_many_rows")
            continue
        last = number
        yield _checked(row, max_row_bytes)


def _checked(row: RawRow, max_row_bytes: int) -> RawRow:
    """``row``, or its faults when it has bytes that are no text, or too many, or is too deep."""
    if any(_is_deep(value, _MAX_DEPTH) for value in row.values.values()):
        detail = f"The row is nested deeper than {_MAX_DEPTH} levels."
        return RawRow(number=row.number, faults=(RowFault(column=None, code="malformed_json", detail=detail),))
    faults = [
        RowFault(column=column, code="not_utf8", detail=broken)
        for column, value in row.values.items()
        if (broken := _broken_text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)))
    ]
    if not faults and sum(len(str(value)) for value in row.values.values()) > max_row_bytes:
        detail = f"The row has more than {max_row_bytes} characters."
        faults.append(RowFault(column=None, code="row_too_large", detail=detail))
    return RawRow(number=row.number, faults=tuple(faults)) if faults else row


def _is_deep(value: object, levels: int) -> bool:
    if isinstance(value, dict):
        value = list(value.values())
    return isinstance(value, list) and (levels == 0 or any(_is_deep(one, levels - 1) for one in value))


def _broken_text(text: str) -> str:
    """What keeps ``text`` from being one; empty when nothing does."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        if 0xDC80 <= ord(text[error.start]) <= 0xDCFF:  # a byte, as the file was opened
            return "The cell has bytes that are not UTF-8; save the file as UTF-8."
        return f"The value has half a character (U+{ord(text[error.start]):04X}); write the whole one."
    return ""


def _jsonl(file: TextIO) -> Iterator[tuple[int, RawRow | None]]:
    for number, line in enumerate(file, 1):
        if not line.strip():
            yield number, None
            continue
        if len(line) > MAX_RECORD:
            detail = f"The row has more than {MAX_RECORD} characters."
            yield number, RawRow(number=number, faults=(RowFault(column=None, code="row_too_large", detail=detail),))
            continue
        try:
            value = json.loads(line, parse_constant=_refuse, object_pairs_hook=unique_keys)
        except json.JSONDecodeError as error:
            detail = f"The row is not JSON: {error.msg} at column {error.colno}."
        except (_Refused, DuplicateKey) as error:
            detail = f"The row is not usable JSON: {error}."
        except (ValueError, RecursionError) as error:  # Python's own bounds
            what = "a number has too many digits" if isinstance(error, ValueError) else "nested too deeply"
            detail = f"The row is not usable JSON: {what}."
        else:
            if isinstance(value, dict):
                yield number, RawRow(number=number, values=value)
                continue
            detail = "The row is JSON, but no object; JSONL has an object on each line."
        yield number, RawRow(number=number, faults=(RowFault(column=None, code="malformed_json", detail=detail),))


def _refuse(name: str) -> None:
    raise _Refused(f"{name} is no number of JSON")
