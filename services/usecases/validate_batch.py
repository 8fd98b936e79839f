"""Check every row of a batch's file before anything runs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from services.domain.batch import Batch, BatchEstimate, BatchRow, BatchState, BatchStep, OnInvalid, RowFault, RowState
from services.domain.engine import Failure
from services.domain.errors import SpokesmodelError
from services.domain.object_key import ObjectKey
from services.domain.pricing import Cost
from services.ports.batches import BatchStore
from services.ports.objects import ObjectStore
from services.settings import Settings
from services.usecases.batch_file import CSV, ID, UnusableFile
from services.usecases.batch_objects import DEFAULTS, file_key
from services.usecases.batch_report import BatchReport
from services.usecases.check_row import external_id_of, faults_of
from services.usecases.creation import Creation, Values
from services.usecases.read_rows import read_rows

_CHUNK: Final = 500


@dataclass(slots=True)
class _Tally:
    counts: Counter[str] = field(default_factory=Counter)
    quantities: Counter[str] = field(default_factory=Counter)
    amount: float = 0.0
    currency: str | None = None

    def take(self, estimate: BatchEstimate | None) -> None:
        if estimate is not None:
            for unit, quantity in estimate.quantities.items():
                self.quantities[unit] += quantity  # type: ignore[assignment]
            self.amount += estimate.cost.amount
            self.currency = estimate.cost.currency

    @property
    def estimate(self) -> BatchEstimate | None:
        if self.currency is None:
            return None
        quantities = {unit: round(quantity, 2) for unit, quantity in sorted(self.quantities.items())}
        return BatchEstimate(quantities=quantities, cost=Cost(amount=round(self.amount, 6), currency=self.currency))


def validate_batch(
    batch: Batch, *, creation: Creation, batches: BatchStore, objects: ObjectStore, settings: Settings
) -> Batch:
    """The batch with its rows stored and its report written: ready for fan-out, or ended; not saved yet.

    Asked again after a crash, it does the same again: rows and report have fixed places.

    Raises:
        Unavailable: A store does not answer; to be tried again.
    """
    tally, failure = _Tally(), None
    with BatchReport() as report:
        try:
            chunk: list[BatchRow] = []
            for row in _rows(batch, creation, objects, settings, tally):
                tally.counts[row.state] += 1
                for fault in row.faults:
                    report.add(row.number, row.external_id, fault)
                chunk.append(row)
                if len(chunk) == _CHUNK:
                    batches.put_rows(chunk)
                    chunk = []
            batches.put_rows(chunk)
            failure = _failure_of(batch, tally.counts)
        except UnusableFile as error:
            for fault in error.faults or (RowFault(column=None, code=error.code, detail=error.detail),):
                report.add(0, None, fault)
            failure = Failure(code=error.code, detail=error.detail)
        num_rows = sum(tally.counts.values())
        report.store(batch, num_rows=num_rows, num_invalid=tally.counts[RowState.INVALID], objects=objects)
    ended = batch.dry_run or failure is not None or not tally.counts[RowState.PENDING]
    state = BatchState.FAILED if failure is not None else BatchState.SUCCEEDED
    return replace(
        batch,
        state=state if ended else batch.state,
        step=BatchStep.NONE if ended else BatchStep.FAN_OUT,
        counts={str(state): number for state, number in tally.counts.items()},
        estimate=tally.estimate,
        has_report=True,
        failure=failure,
    )


def _failure_of(batch: Batch, counts: Mapping[str, int]) -> Failure | None:
    num_invalid = counts[RowState.INVALID]
    if not sum(counts.values()):
        return Failure(code="empty_file", detail="The file has a header and no rows.")
    if num_invalid and batch.on_invalid is OnInvalid.REJECT:
        detail = f"{num_invalid} rows are invalid, and the batch was to run with none; see the report."
        return Failure(code="invalid_rows", detail=detail)
    return None


def _rows(
    batch: Batch, creation: Creation, objects: ObjectStore, settings: Settings, tally: _Tally
) -> Iterator[BatchRow]:
    defaults: dict[str, Any] = json.loads(objects.get(file_key(batch.tenant_id, batch.id, DEFAULTS)))
    number_by_id: dict[str, int] = {}
    is_table = batch.media_type == CSV
    with objects.local_copy(ObjectKey.parse(batch.file_key)) as path:
        raw_rows = read_rows(
            path, batch.media_type, max_row_bytes=settings.max_request_bytes, check_header=creation.header_faults
        )
        for raw in raw_rows:
            if raw.number > settings.max_batch_rows:
                detail = f"The file has more than {settings.max_batch_rows} rows; split it."
                raise UnusableFile(detail, code="too_many_rows")
            external_id, id_faults = external_id_of(raw, number_by_id)
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
