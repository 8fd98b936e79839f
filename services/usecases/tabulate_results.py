"""The result table of a batch: one line a row, with links made now."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from services.domain.batch import Batch, BatchRow
from services.domain.cell import shown_cell
from services.domain.job import Job
from services.ports.batches import BatchStore
from services.ports.clock import Clock
from services.ports.jobs import JobStore
from services.ports.objects import ObjectStore
from services.settings import Settings
from services.usecases.batch_objects import answer_key
from services.usecases.table_form import delimiter_about
from services.usecases.view_batch import view_row
from services.usecases.view_job import view_job

# A part is made within a request: signing its links takes seconds on a small function.
MAX_PART_ROWS: Final = 2_000
_CHUNK: Final = 100


class ResultFormat(StrEnum):
    CSV = "csv"
    JSONL = "jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultPart:
    """Some rows' results as a file.

    Attributes:
        url: Reads the file until ``expires_at``; so long do the links in it serve, too.
        next_after: Number of the part's last row, behind which the next part begins; None at the end.
    """

    url: str
    num_rows: int
    expires_at: datetime
    next_after: int | None


def tabulate_results(
    batch: Batch,
    form: ResultFormat,
    *,
    output_names: Sequence[str],
    after: int = 0,
    batches: BatchStore,
    jobs: JobStore,
    objects: ObjectStore,
    clock: Clock,
    settings: Settings,
) -> ResultPart:
    """The rows behind number ``after``, written to an object with a link to it; the first part of a CSV has the header.

    Put together in order, the parts are one file. Asked again, the links are new ones.
    """
    lifetime_s = settings.link_lifetime_s
    expires_at = clock.now() + timedelta(seconds=lifetime_s)
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter_about(batch, objects=objects) if form is ResultFormat.CSV else ",")
    if form is ResultFormat.CSV and after == 0:
        # Spreadsheets take a file without a byte order mark for their own code page.
        text.write("\ufeff")
        writer.writerow(["row", "id", "state", "job_id", "column", "code", "reason", *output_names, "facts"])
    num_rows, last = 0, after
    for row, job in _results(batch, after, batches, jobs):
        values = _values(row, job, objects, lifetime_s)
        if form is ResultFormat.CSV:
            writer.writerow(_cells(values, output_names))
        else:
            text.write(json.dumps(values, ensure_ascii=False, separators=(",", ":")) + "\n")
        num_rows, last = num_rows + 1, row.number
    name = f"results-{after + 1}.{form}"
    media_type = "text/csv; charset=utf-8" if form is ResultFormat.CSV else "application/jsonl"
    key = answer_key(batch, name)
    objects.put(key, text.getvalue().encode(), media_type=media_type)
    has_more = num_rows == MAX_PART_ROWS and bool(batches.rows(batch.id, after=last, limit=1))
    return ResultPart(
        url=objects.sign_download(key, file_name=f"{batch.id}-{name}", expires_in_s=lifetime_s),
        num_rows=num_rows,
        expires_at=expires_at,
        next_after=last if has_more else None,
    )


def _results(batch: Batch, after: int, batches: BatchStore, jobs: JobStore) -> Iterator[tuple[BatchRow, Job | None]]:
    end = MAX_PART_ROWS
    while end > 0 and (rows := batches.rows(batch.id, after=after, limit=min(_CHUNK, end))):
        found = jobs.get_many([row.job_id for row in rows if row.job_id is not None])
        yield from ((row, found.get(row.job_id or "")) for row in rows)
        after, end = rows[-1].number, end - len(rows)


def _values(row: BatchRow, job: Job | None, objects: ObjectStore, lifetime_s: int) -> dict[str, Any]:
    """A row's values; a job that was deleted since has no outputs."""
    view = view_row(row)
    result = None if job is None else view_job(job, objects=objects, link_lifetime_s=lifetime_s)["result"]
    return {**view, "result": result}


def _cells(values: Mapping[str, Any], output_names: Sequence[str]) -> list[Any]:
    faults = list(values["faults"])
    if values["failure"] is not None:
        failure = values["failure"]
        faults.append({"column": failure["param"], "code": failure["code"], "reason": failure["detail"]})
    told = ["; ".join(str(fault[name] or "") for fault in faults) for name in ("column", "code", "reason")]
    result = values["result"] or {"outputs": [], "facts": {}}
    urls = {output["name"]: output["url"] for output in result["outputs"]}
    facts = json.dumps(result["facts"], ensure_ascii=False) if result["facts"] else ""
    head = [values[name] for name in ("row", "id", "state", "job_id")]
    links = [urls.get(name, "") for name in output_names]
    return [shown_cell(cell) for cell in (*head, *told, *links, facts)]
