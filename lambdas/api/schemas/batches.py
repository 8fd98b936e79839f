"""Batches: many creations in one file, and what became of each row."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from lambdas.api.schemas.base import AnswerBody, Moment, RequestBody, exactly_one
from lambdas.api.schemas.jobs import DeliveryBody, FailureBody
from lambdas.api.schemas.videos import UploadId
from services.domain.batch import BatchKind, OnInvalid
from services.usecases.submit_batch import MAX_INLINE_ROWS, BatchOrder

BatchKindName = Literal["video", "wig_preview", "garment_preview", "image", "wig", "garment"]
BatchStateName = Literal["queued", "processing", "paused", "succeeded", "failed", "canceled"]
RowStateName = Literal["invalid", "pending", "submitted", "succeeded", "failed", "canceled"]

_EXAMPLE: dict[str, Any] = {
    "id": "batch_01JDV3M0Q8T2A4B6C8D0E2F4G6",
    "kind": "video",
    "name": "Spring campaign",
    "state": "processing",
    "dry_run": False,
    "on_invalid": "skip",
    "num_rows": 1000,
    "counts": {"invalid": 30, "pending": 500, "submitted": 200, "succeeded": 268, "failed": 2, "canceled": 0},
    "estimate": {"quantities": {"output_s": 7760.0}, "cost": {"amount": 194.0, "currency": "USD"}},
    "report": {
        "csv_url": "https://media.example/result/…/report.csv?signature=…",
        "json_url": "https://media.example/result/…/report.json?signature=…",
    },
    "created_at": "2026-11-30T09:15:00.123Z",
    "finished_at": None,
    "failure": None,
    "held_by": None,
    "callback_id": "campaign-42",
}


class BatchRequestBody(RequestBody):
    """Many creations: a file that was uploaded, or a few rows right here."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": exactly_one("upload_id", "rows"),
            "example": {
                "kind": "video",
                "upload_id": "upload_01JDV3M0Q8T2A4B6C8D0E2F4G6",
                "defaults": {
                    "presenter": {"avatar_id": "avatar_01M8PBZJY0G2HC7X6V5HT6Q7K4"},
                    "speech": {"voice": {"voice_id": "en-us"}},
                },
                "name": "Spring campaign",
                "callback_url": "https://client.example/hooks/spokesmodel",
            },
        }
    )

    kind: BatchKindName = Field(default="video", description="What each row creates.")
    upload_id: UploadId | None = Field(
        default=None,
        description="A CSV (`text/csv`) or JSONL (`application/jsonl`) file. A CSV's columns are the body's fields in "
        "dotted form (`speech.text`), and `id` for your own name of the row; JSONL has a body a line.",
    )
    rows: list[dict[str, Any]] | None = Field(
        default=None,
        min_length=1,
        max_length=MAX_INLINE_ROWS,
        description="Bodies of the kind's own route, each with your own `id` if you like.",
    )
    defaults: dict[str, Any] = Field(
        default_factory=dict, description="Part of a body; lies under each row, whose own fields win."
    )
    name: str = Field(default="", max_length=200, description="Shown in listings.")
    dry_run: bool = Field(default=False, description="Only check the rows, and estimate the cost.")
    on_invalid: Literal["skip", "reject"] = Field(
        default="skip", description="With invalid rows: run the others, or none."
    )
    callback_url: str | None = Field(
        default=None, max_length=2000, description="Where the batch's end is told, once (Standard Webhooks)."
    )
    callback_id: str | None = Field(default=None, max_length=256, description="Comes back unchanged.")

    def to_domain(self) -> BatchOrder:
        """The order as the batch takes it."""
        values = self.model_dump()
        return BatchOrder(**{**values, "kind": BatchKind(self.kind), "on_invalid": OnInvalid(self.on_invalid)})


class RowCountsBody(AnswerBody):
    """Number of rows by state."""

    invalid: int = Field(description="Never submitted; the report says why.")
    pending: int
    submitted: int = Field(description="A job runs it.")
    succeeded: int
    failed: int
    canceled: int


class CostBody(AnswerBody):
    """An amount of money."""

    amount: float
    currency: str = Field(description="ISO 4217.")


class BatchEstimateBody(AnswerBody):
    """What the valid rows will use and cost, by the operator's price list."""

    quantities: dict[str, float] = Field(description="By unit, as usage has them.")
    cost: CostBody


class BatchReportBody(AnswerBody):
    """Every fault of every row: row, column, code, reason. The links serve for an hour; a later GET gives new ones."""

    csv_url: str
    json_url: str


class BatchBody(AnswerBody):
    """A batch. It has `succeeded` once every row has ended, whatever each one's outcome."""

    model_config = ConfigDict(json_schema_extra={"example": _EXAMPLE})

    id: str
    kind: Literal["video", "wig_preview", "garment_preview", "image", "wig", "garment", "noop"]
    name: str
    state: BatchStateName
    dry_run: bool
    on_invalid: Literal["skip", "reject"]
    num_rows: int = Field(description="Grows while the file is read.")
    counts: RowCountsBody
    estimate: BatchEstimateBody | None
    report: BatchReportBody | None = Field(description="Null until the file is checked.")
    created_at: Moment
    finished_at: Moment | None = Field(description="When the last row had ended; null before.")
    failure: FailureBody | None = Field(description="Why the file cannot be used.")
    held_by: FailureBody | None = Field(
        description="Why no further rows are submitted at present, such as a used-up quota; null when nothing holds it."
    )
    callback_id: str | None


class BatchDetailBody(BatchBody):
    """A batch with its tries to call back."""

    model_config = ConfigDict(json_schema_extra={"example": {**_EXAMPLE, "deliveries": []}})

    deliveries: list[DeliveryBody]


class RowFaultBody(AnswerBody):
    """One thing that is wrong with a row."""

    column: str | None = Field(description="As the file names it; null for the whole row.")
    code: str
    reason: str


class BatchRowBody(AnswerBody):
    """A row and what became of it."""

    row: int = Field(description="1 for the first row below the header.")
    id: str | None = Field(description="Your own name of the row.")
    state: RowStateName
    job_id: str | None
    tries: int = Field(description="Jobs made for it so far.")
    faults: list[RowFaultBody]
    failure: FailureBody | None


class BatchResultsBody(AnswerBody):
    """A part of the result table, as a file."""

    url: str = Field(description="Reads the part.")
    num_rows: int
    expires_at: Moment = Field(description="Until then the link serves, and so do the links in the file.")
    next_cursor: str | None = Field(description="Pass it as `cursor` to get the next part; null at the end.")
