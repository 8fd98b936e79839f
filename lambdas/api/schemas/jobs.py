"""A job as clients see it: the form of what ``services.usecases.view_job`` answers."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from lambdas.api.schemas.base import AnswerBody, Moment

JobStateName = Literal["queued", "processing", "succeeded", "failed", "canceled"]
JobKindName = Literal["video", "wig_preview", "garment_preview", "image", "product", "noop"]

_EXAMPLE: dict[str, Any] = {
    "id": "job_01JDV3M0Q8T2A4B6C8D0E2F4G6",
    "kind": "video",
    "state": "succeeded",
    "progress": {"stage": "succeeded", "fraction": 1.0},
    "attempt": 1,
    "created_at": "2026-11-30T09:15:00.123Z",
    "finished_at": "2026-11-30T09:15:09.410Z",
    "result": {
        "outputs": [
            {
                "name": "video",
                "url": "https://media.example/result/…/video.mp4?signature=…",
                "media_type": "video/mp4",
                "size_bytes": 1843201,
                "sha256": "9f2c…",
            }
        ],
        "facts": {"duration_s": 6.4, "width_px": 1080, "height_px": 1920, "fps": 25},
    },
    "cost": {"amount": 0.016, "currency": "USD"},
    "failure": None,
    "callback_id": "campaign-42",
    "batch_id": None,
}


class ProgressBody(AnswerBody):
    """How far the job is."""

    stage: str = Field(examples=["render"])
    fraction: float = Field(ge=0, le=1)


class OutputBody(AnswerBody):
    """A file that the job made."""

    name: str = Field(description="Its role.", examples=["video", "poster", "front", "picture", "sheet"])
    url: str = Field(description="Reads the file for an hour; a later GET of the job gives a new one.")
    media_type: str
    size_bytes: int
    sha256: str


class ResultBody(AnswerBody):
    """What a succeeded job made."""

    outputs: list[OutputBody]
    facts: dict[str, Any] = Field(
        description="`duration_s`, `width_px`, `fps`, `timeline_source`, `warnings` and more, by the kind of job."
    )


class CostBody(AnswerBody):
    """By the operator's price list."""

    amount: float = Field(ge=0, examples=[0.016])
    currency: str = Field(description="ISO 4217.", examples=["USD"])


class FailureBody(AnswerBody):
    """Why a failed job has no result, in the words of a problem document."""

    code: str
    detail: str
    param: str | None
    retryable: bool


class DeliveryBody(AnswerBody):
    """One try to call back."""

    event_id: str
    at: Moment
    status: int | None = Field(description="The receiver's HTTP status; null when it did not answer.")
    error: str | None


class JobBody(AnswerBody):
    """One piece of asked-for work, from acceptance to its one final state."""

    model_config = ConfigDict(json_schema_extra={"example": _EXAMPLE})

    id: str
    kind: JobKindName
    state: JobStateName
    progress: ProgressBody
    attempt: int = Field(description="Engine starts so far.")
    created_at: Moment
    finished_at: Moment | None
    result: ResultBody | None
    cost: CostBody | None = Field(description="Of a succeeded job; null for others and for work without a price.")
    failure: FailureBody | None
    callback_id: str | None
    batch_id: str | None = Field(description="The batch whose row it runs; null when it is of none.")


class JobDetailBody(JobBody):
    """A job with its tries to call back."""

    model_config = ConfigDict(json_schema_extra={"example": {**_EXAMPLE, "deliveries": []}})

    deliveries: list[DeliveryBody]
