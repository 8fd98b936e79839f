"""The engine contract: what goes to ``/invocations``, what is heard meanwhile, what comes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from services.domain.object_key import ObjectKey, Retention


class Lane(StrEnum):
    """Work that is admitted to engines by itself, so that what takes seconds never stands behind what takes hours."""

    LONG = "long"
    INTERACTIVE = "interactive"  # somebody sits and waits


class EngineKind(StrEnum):
    VIDEO = "video"
    WIG_PREVIEW = "wig_preview"
    GARMENT_PREVIEW = "garment_preview"
    IMAGE = "image"
    PRODUCT = "product"  # takes the photos of a wig or garment into the catalogue
    NOOP = "noop"  # does nothing for a stated time; for load and fault tests

    @property
    def lane(self) -> Lane:
        """The lane in which work of this kind waits and runs."""
        return Lane.INTERACTIVE if self in _INTERACTIVE else Lane.LONG


_INTERACTIVE: Final = frozenset(
    {EngineKind.WIG_PREVIEW, EngineKind.GARMENT_PREVIEW, EngineKind.IMAGE, EngineKind.PRODUCT}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineRequest:
    """Body of ``POST /invocations``: keys, never media. ``traceparent`` continues the job's trace, if there is one."""

    kind: EngineKind
    tenant_id: str
    job_id: str
    attempt: int
    storyboard_key: str
    deadline_at: datetime
    traceparent: str | None = None

    @property
    def inference_id(self) -> str:
        return f"{self.job_id}.{self.attempt}"

    def output_key(self, name: str) -> ObjectKey:
        """Where this attempt writes the result called ``name``."""
        return ObjectKey(
            retention=Retention.RESULT,
            tenant_id=self.tenant_id,
            owner_id=self.job_id,
            attempt=self.attempt,
            name=name,
        )

    def cancel_key(self) -> ObjectKey:
        """The object whose existence tells this attempt to stop."""
        return ObjectKey(
            retention=Retention.WORK,
            tenant_id=self.tenant_id,
            owner_id=self.job_id,
            attempt=self.attempt,
            name="cancel",
        )

    def owns(self, key: ObjectKey) -> bool:
        """Whether an engine may touch ``key``: only what lies under its own job."""
        return key.tenant_id == self.tenant_id and key.owner_id == self.job_id


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineEvent:
    """Progress; at most one per two seconds. ``fraction`` of the whole attempt, 0 to 1."""

    job_id: str
    attempt: int
    sequence: int
    stage: str
    fraction: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """A file that an attempt made; ``name`` is its role: ``video``, ``poster``, ``subtitles_srt`` ..."""

    name: str
    key: str
    media_type: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a job ended without a result, in the words of the error tree."""

    code: str
    detail: str
    retryable: bool = False
    param: str | None = None


class AnswerState(StrEnum):
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELED = "canceled"


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineAnswer:
    """What ``/invocations`` returns and the completion notice carries.

    Attributes:
        facts: What the client is told about the result: ``duration_s``, ``width_px``, ``height_px``, ``fps``,
            ``num_frames``, ``timeline_source``, ``num_faces``, ``face``, ``language``, ``warnings`` and more.
        usage: Quantities by unit: ``output_s``, ``engine_cpu_s``, ``characters``.
    """

    job_id: str
    attempt: int
    state: AnswerState
    outputs: tuple[Output, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    usage: Mapping[str, float] = field(default_factory=dict)
    failure: Failure | None = None
