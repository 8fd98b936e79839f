"""Rows of a CSV, after RFC 4180 and as spreadsheets write it."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from typing import Final, TextIO

from services.domain.batch import RowFault
from services.usecases.batch_file import MAX_COLUMNS, MAX_RECORD, RawRow, UnusableFile
from services.usecases.table_form import delimiter_of, tells_delimiter

CheckHeader = Callable[[list[str]], tuple[RowFault, ...]]

_MAX_CELL: Final = 131_072  # characters; of the csv module


def read_table(file: TextIO, check_header: CheckHeader) -> Iterator[tuple[int, RawRow | None]]:
    """Rows by number, None for blank ones; columns by the header.

    Raises:
        UnusableFile: ``broken_quotes``, ``unusable_header``, ``too_many_columns``, ``row_too_large``.
    """
    record: list[str] = []  # the lines of the row that is being read, to find the cell of a broken quote

    def lines() -> Iterator[str]:
        length = 0
        for line in file:
            length = len(line) + (length if record else 0)
            if length > MAX_RECORD:
                detail = f"A row has more than {MAX_RECORD} characters; perhaps its line ends are missing."
                raise UnusableFile(detail, code="row_too_large")
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
    if not tells_delimiter(first):
        file.seek(0)
    return delimiter_of(first)


def _header(reader: Iterator[list[str]], check: CheckHeader) -> list[str]:
    try:
        columns = [name.strip() for name in next(reader)]
    except (csv.Error, StopIteration) as error:
        detail = f"In the header, {_what_broke(error)}."
        raise UnusableFile(detail, code="broken_quotes") from error
    while columns and not columns[-1]:  # delimiters at the line's end
        columns.pop()
    if len(columns) > MAX_COLUMNS:
        detail = f"The header has {len(columns)} columns; at most {MAX_COLUMNS} can be used."
        raise UnusableFile(detail, code="too_many_columns")
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
    detail = _what_broke(error)
    return RowFault(column=column or None, code="broken_quotes", detail=f"{detail[0].upper()}{detail[1:]}.")


def _what_broke(error: Exception) -> str:
    if "field larger" in str(error):
        return f"a cell has more than {_MAX_CELL} characters; perhaps a quote is not closed"
    if "unexpected end" in str(error):
        return "a quote is never closed, so the rest of the file is inside it"
    return 'after a closing quote comes no delimiter; write a quote inside a quoted cell twice ("")'
