"""The validation report: every fault of every row, as JSON for programs and as CSV for people."""

from __future__ import annotations

import csv
import json
import tempfile
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from services.domain.batch import Batch, RowFault, RowState
from services.domain.cell import shown_cell
from services.ports.batches import BatchStore
from services.ports.objects import ObjectStore
from services.usecases.batch_file import UnusableFile
from services.usecases.batch_objects import REPORT_CSV, REPORT_JSON, answer_key
from services.usecases.table_form import delimiter_about

COLUMNS: Final = ("row", "id", "column", "code", "reason")
_CHUNK: Final = 200


def write_report(
    batch: Batch,
    refusal: UnusableFile | None,
    *,
    num_rows: int,
    num_invalid: int,
    batches: BatchStore,
    objects: ObjectStore,
) -> None:
    """Write the report on all rows that are stored, in order, and on the file itself when it is refused."""
    with BatchReport(delimiter=delimiter_about(batch, objects=objects)) as report:
        after = 0
        while num_invalid and (rows := batches.rows(batch.id, state=RowState.INVALID, after=after, limit=_CHUNK)):
            for row in rows:
                for fault in row.faults:
                    report.add(row.number, row.external_id, fault)
            after = rows[-1].number
        if refusal is not None:
            whole = RowFault(column=None, code=refusal.code, detail=refusal.detail)
            for fault in refusal.faults or (whole,):
                report.add(0, None, fault)
        report.store(batch, num_rows=num_rows, num_invalid=num_invalid, objects=objects)


class BatchReport:
    """Takes faults in order of rows, in memory of one row, and ``store`` writes both objects."""

    def __init__(self, *, delimiter: str) -> None:
        self._delimiter = delimiter
        self._stack = ExitStack()
        self.num_faults = 0

    def __enter__(self) -> BatchReport:
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        self._csv_path, self._json_path = folder / REPORT_CSV, folder / REPORT_JSON
        # Spreadsheets take a file without a byte order mark for their own code page.
        self._csv = self._stack.enter_context(self._csv_path.open("w", encoding="utf-8-sig", newline=""))
        self._json = self._stack.enter_context(self._json_path.open("w", encoding="utf-8"))
        self._writer = csv.writer(self._csv, delimiter=self._delimiter)
        self._writer.writerow(COLUMNS)
        self._json.write('{"faults":[')
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def add(self, number: int, external_id: str | None, fault: RowFault) -> None:
        """One fault; row 0 is the header, or the whole file."""
        values: dict[str, Any] = {
            "row": number,
            "id": external_id,
            "column": fault.column,
            "code": fault.code,
            "reason": fault.detail,
        }
        self._writer.writerow([shown_cell(value) for value in values.values()])
        self._json.write(("," if self.num_faults else "") + "\n" + json.dumps(values, ensure_ascii=False))
        self.num_faults += 1

    def store(self, batch: Batch, *, num_rows: int, num_invalid: int, objects: ObjectStore) -> None:
        """Write both objects; asked again, in place of those before."""
        self._json.write(f'\n],"num_rows":{num_rows},"num_invalid_rows":{num_invalid}}}\n')
        for file in (self._csv, self._json):
            file.flush()
        objects.put_file(answer_key(batch, REPORT_CSV), self._csv_path, media_type="text/csv; charset=utf-8")
        objects.put_file(answer_key(batch, REPORT_JSON), self._json_path, media_type="application/json")
