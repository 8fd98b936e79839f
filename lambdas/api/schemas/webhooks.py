"""What a callback carries."""

from __future__ import annotations

from typing import Literal

from lambdas.api.schemas.base import AnswerBody, Moment
from lambdas.api.schemas.batches import BatchBody
from lambdas.api.schemas.jobs import JobBody


class JobEventBody(AnswerBody):
    """A job ended."""

    type: Literal["job.succeeded", "job.failed", "job.canceled"]
    timestamp: Moment
    data: JobBody


class BatchEventBody(AnswerBody):
    """A batch ended."""

    type: Literal["batch.succeeded", "batch.failed", "batch.canceled"]
    timestamp: Moment
    data: BatchBody
