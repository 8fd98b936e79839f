"""Check every row of a batch's file before anything runs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

from services.domain.batch import Batch, BatchEstimate, BatchRow, BatchState, BatchStep, OnInvalid, RowState
from services.domain.engine import Failure
from services.domain.errors import SpokesmodelError
from services.domain.object_key import ObjectKey
from services.ports.batches import BatchStore
from services.ports.clock import Clock
from services.ports.objects import ObjectStore
from services.settings import Settings
from services.usecases.batch_file import CSV, ID, UnusableFile
from services.usecases.batch_objects import DEFAULTS, file_key
from services.usecases.batch_report import write_report
from services.usecases.batch_tally import BatchTally
from services.usecases.check_row import external_id_of, faults_of
from services.usecases.creation import Creation, Values
from services.usecases.read_rows import read_rows

_CHUNK: Final = 100  # rows between two looks at the time and at the batch


def validate_batch(
    batch: Batch,
    *,
    creation: Creation,
    batches: BatchStore,
    objects: ObjectStore,
    clock: Clock,
    settings: Settings,
) -> Batch:
    """The batch with more of its rows checked and stored, and its step the same; not saved yet.

    After ``batch_slice_s`` it is another's turn, and once the batch has been canceled nobody wants to know. After the
    last row the report is written too, and the batch is ready for fan-out, or has ended.

    Asked again after a crash, it does the same again: rows and report have fixed places.

    Raises:
        NotFound: ``batch_not_found``: it has been deleted meanwhile.
        Unavailable: A store does not answer; to be tried again.
    """
    tally, failure, refusal = BatchTally.of(batch), None, None
    ends_at: datetime | None = None
    chunk: list[BatchRow] = []
    try:
        for row in _rows(batch, creation, objects, settings, tally):
            ends_at = ends_at or clock.now() + timedelta(seconds=settings.batch_slice_s)
            chunk.append(row)
            if len(chunk) == _CHUNK:
                _store(chunk, tally, batches)
                is_canceled = batches.get(batch.id).state is BatchState.CANCELED
                if is_canceled or clock.now() >= ends_at:
                    return tally.put_on(batch)
    except UnusableFile as error:
        refusal, failure = error, Failure(code=error.code, detail=error.detail)
    _store(chunk, tally, batches)
    if failure is None:
        failure = _failure_of(batch, tally.counts)
    write_report(
        batch,
        refusal,
        num_rows=sum(tally.counts.values()),
        num_invalid=tally.counts[RowState.INVALID],
        batches=batches,
        objects=objects,
    )
    ended = batch.dry_run or failure is not None or not tally.counts[RowState.PENDING]
    state = BatchState.FAILED if failure is not None else BatchState.SUCCEEDED
    return replace(
        tally.put_on(batch),
        state=state if ended else batch.state,
        step=BatchStep.NONE if ended else BatchStep.FAN_OUT,
        has_report=True,
        failure=failure,
    )


def _store(chunk: list[BatchRow], tally: BatchTally, batches: BatchStore) -> None:
    """Write the rows, and only then count them; ``chunk`` is empty again."""
    if chunk:
        batches.put_rows(chunk)
        tally.count(chunk)
        chunk.clear()


def _failure_of(batch: Batch, counts: Mapping[str, int]) -> Failure | None:
    num_invalid = counts[RowState.INVALID]
    if not sum(counts.values()):
        return Failure(code="empty_file", detail="The file has a header and no rows.")
    if num_invalid and batch.on_invalid is OnInvalid.REJECT:
        detail = f"{num_invalid} rows are invalid, and the batch was to run with none; see the report."
        return Failure(code="invalid_rows", detail=detail)
    return None


def _rows(
    batch: Batch, creation: Creation, objects: ObjectStore, settings: Settings, tally: BatchTally
) -> Iterator[BatchRow]:
    defaults: dict[str, Any] = json.loads(objects.get(file_key(batch.tenant_id, batch.id, DEFAULTS)))
    number_by_id: dict[str, int] = {}
    is_table = batch.media_type == CSV
    with objects.local_copy(ObjectKey.parse(batch.file_key)) as path:
        raw_rows = read_rows(
            path, batch.media_type, max_row_bytes=settings.max_request_bytes, check_header=creation.header_faults
        )
        for num_rows, raw in enumerate(raw_rows, 1):
            if num_rows > settings.max_batch_rows:
                detail = f"The file has more than {settings.max_batch_rows} rows; split it."
                raise UnusableFile(detail, code="too_many_rows")
            external_id, id_faults = external_id_of(raw, number_by_id)
            if raw.number <= batch.num_checked:
                continue  # read once more for its id only
            faults = [*raw.faults, *id_faults]
            request: dict[str, Any] = {}
            if not raw.faults:
                values = {name: value for name, value in raw.values.items() if name != ID}
                request = creation.with_defaults(creation.body_of(values) if is_table else values, defaults)
                cells = values if is_table else {}
                faults += faults_of(request, batch.tenant_id, creation=creation, settings=settings, cells=cells)
            if not faults:
                tally.take(_estimate(creation, request, batch.tenant_id))
            yield BatchRow(
                batch_id=batch.id,
                number=raw.number,
                state=RowState.INVALID if faults else RowState.PENDING,
                request={} if faults else request,
                external_id=external_id,
                faults=tuple(faults),
            )


def _estimate(creation: Creation, request: Values, tenant_id: str) -> BatchEstimate | None:
    try:
        return creation.estimate(request, tenant_id)
    except SpokesmodelError as error:
        if error.retryable:
            raise
        return None  # what has no estimate may still run
