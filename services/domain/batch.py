"""A batch: many creations asked for in one file, each row with its own outcome."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from services.domain.engine import Failure
from services.domain.pricing import Cost


class BatchKind(StrEnum):
    """What every row creates; the names of engine kinds where a row is a job and nothing else."""

    VIDEO = "video"
    WIG_PREVIEW = "wig_preview"
    GARMENT_PREVIEW = "garment_preview"
    IMAGE = "image"
    WIG = "wig"  # taken into the catalogue
    GARMENT = "garment"
    NOOP = "noop"

    @property
    def makes_video(self) -> bool:
        """Whether its rows take seconds of a tenant's month; pictures do not."""
        return self in (BatchKind.VIDEO, BatchKind.NOOP)


class BatchState(StrEnum):
    QUEUED = "queued"  # its file is still to be read
    PROCESSING = "processing"
    PAUSED = "paused"
    SUCCEEDED = "succeeded"  # every row has ended, whatever each one's outcome
    FAILED = "failed"  # the file itself cannot be used
    CANCELED = "canceled"

    @property
    def is_final(self) -> bool:
        return self in (BatchState.SUCCEEDED, BatchState.FAILED, BatchState.CANCELED)


class BatchStep(StrEnum):
    """What must happen to the batch next; the row is the outbox, as a job's is."""

    VALIDATE = "validate"
    FAN_OUT = "fan_out"  # submit the next rows, take in what has ended; of a canceled batch: end what still runs
    NOTIFY = "notify"  # final; the client's webhook is still to be delivered
    DELETE = "delete"  # for its owner it is gone already; its rows and objects are being removed
    NONE = "none"


class OnInvalid(StrEnum):
    """What becomes of a batch with invalid rows."""

    SKIP = "skip"  # the valid ones run
    REJECT = "reject"  # none runs, and the batch has failed


class RowState(StrEnum):
    INVALID = "invalid"  # never submitted; ``faults`` say why
    PENDING = "pending"
    SUBMITTED = "submitted"  # a job runs it
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELED = "canceled"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFault:
    """One thing wrong with one row. ``column`` as the file names it, None for the whole row."""

    column: str | None
    code: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRow:
    """A line of the file.

    Attributes:
        number: 1 for the first row of data (a CSV's header is not counted).
        request: The creation's body as the API would take it; empty for an invalid row.
        external_id: The client's own name of the row, from the column ``id``.
        tries: Jobs made for this row so far.
    """

    batch_id: str
    number: int
    state: RowState
    request: Mapping[str, Any] = field(default_factory=dict)
    external_id: str | None = None
    faults: tuple[RowFault, ...] = ()
    job_id: str | None = None
    tries: int = 0
    failure: Failure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchEstimate:
    """What the valid rows will use and cost, before any runs; ``quantities`` by unit, as usage has them."""

    quantities: Mapping[str, float]
    cost: Cost


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The batch row.

    Attributes:
        kind: What every row creates.
        file_key: The batch's own copy of the file.
        dry_run: Ends after validation; nothing is submitted.
        counts: Number of rows by state; exact once the batch is final.
        num_checked: Rows of the file that have been checked and stored; the check goes on behind them.
        estimate: Made with the validation, so of the rows checked so far; None when no row is valid.
        has_report: Whether the validation report has been written.
        retry_asked: The next pass makes failed rows pending again.
        is_in_pass: A pass has begun and not ended; when the next one finds it so, that pass died.
        held_by: Why no further rows are submitted, when that is a quota of the tenant's: as it was when the batch came,
            then as the last pass met it.
        available_at: The step is not served before this time.
    """

    id: str
    tenant_id: str
    kind: BatchKind
    file_key: str
    media_type: str
    created_at: datetime
    updated_at: datetime
    available_at: datetime
    name: str = ""
    on_invalid: OnInvalid = OnInvalid.SKIP
    dry_run: bool = False
    state: BatchState = BatchState.QUEUED
    step: BatchStep = BatchStep.VALIDATE
    step_tries: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    num_checked: int = 0
    estimate: BatchEstimate | None = None
    has_report: bool = False
    retry_asked: bool = False
    is_in_pass: bool = False
    finished_at: datetime | None = None
    failure: Failure | None = None
    held_by: Failure | None = None
    callback_url: str | None = None
    callback_id: str | None = None
    version: int = 0
