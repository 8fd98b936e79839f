"""A job: one piece of asked-for work, from acceptance to its one final state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from services.domain.engine import EngineKind, Failure, Lane, Output
from services.domain.errors import Conflict
from services.domain.pricing import Cost


class JobState(StrEnum):
    QUEUED = "queued"
    PROCESSING = "processing"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELED = "canceled"

    @property
    def is_final(self) -> bool:
        return self in (JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELED)


class JobStep(StrEnum):
    """What must happen to the job next. The row is the outbox: whoever serves a step claims rows that carry it."""

    PREPARE = "prepare"
    DISPATCH = "dispatch"
    DISPATCH_NOW = "dispatch_now"  # the same for interactive work, in a lane of its own
    RUN = "run"  # an engine has it; completion or the reaper moves it on
    NOTIFY = "notify"  # final; the client's webhook is still to be delivered
    NONE = "none"


DISPATCHED: Final = frozenset({JobStep.DISPATCH, JobStep.DISPATCH_NOW})  # steps from which an engine gets a job
_MOVES: Final[Mapping[JobState, frozenset[JobState]]] = {
    JobState.QUEUED: frozenset({JobState.PROCESSING, JobState.FAILED, JobState.CANCELED}),
    JobState.PROCESSING: frozenset({JobState.QUEUED, JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELED}),
    JobState.SUCCEEDED: frozenset(),
    JobState.FAILED: frozenset(),
    JobState.CANCELED: frozenset(),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far the running attempt is; ``sequence`` orders events that arrive out of order."""

    stage: str = "queued"
    fraction: float = 0.0
    sequence: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a succeeded job made, used and cost (kept here so that usage can be recorded again after a crash)."""

    outputs: tuple[Output, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)
    usage: Mapping[str, float] = field(default_factory=dict)
    cost: Cost | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The job row. Small: requests, storyboards and results are objects or short facts.

    Attributes:
        request: The domain request as JSON values (see ``services.domain.wire``).
        attempt: Number of engine starts so far; a notice of another attempt is ignored.
        available_at: The step is not served before this time (backoff).
        step_tries: Failed tries of the present step.
        deadline_at: When the running attempt is given up; None while none runs.
        batch_id: The batch whose row it runs, if it is of one.
        started_at: When the latest attempt was handed to an engine.
        traceparent: The W3C trace context of the request that made it, when traces are kept.
        held_s: Estimated seconds of video that its tenant's month keeps free for it until it has ended; None where
            the tenant had no monthly quota.
        version: Grows by one with each save; a save of an older version is refused.
    """

    id: str
    tenant_id: str
    kind: EngineKind
    request: Mapping[str, Any]
    created_at: datetime
    updated_at: datetime
    available_at: datetime
    state: JobState = JobState.QUEUED
    step: JobStep = JobStep.PREPARE
    step_tries: int = 0
    attempt: int = 0
    progress: Progress = field(default_factory=Progress)
    storyboard_key: str | None = None
    deadline_at: datetime | None = None
    finished_at: datetime | None = None
    result: Result | None = None
    failure: Failure | None = None
    callback_url: str | None = None
    callback_id: str | None = None
    batch_id: str | None = None
    started_at: datetime | None = None
    traceparent: str | None = None
    held_s: float | None = None
    version: int = 0

    @property
    def dispatch_step(self) -> JobStep:
        """The step at which it waits for an engine."""
        return JobStep.DISPATCH_NOW if self.kind.lane is Lane.INTERACTIVE else JobStep.DISPATCH

    def move(self, state: JobState, *, step: JobStep, now: datetime, **changes: Any) -> Job:
        """This job in ``state``, with ``step`` to be served next.

        Raises:
            Conflict: ``illegal_transition``.
        """
        if state != self.state and state not in _MOVES[self.state]:
            raise Conflict(f"Job {self.id} is {self.state} and cannot become {state}.", code="illegal_transition")
        finished_at = now if state.is_final and not self.state.is_final else self.finished_at
        return replace(
            self,
            state=state,
            step=step,
            updated_at=now,
            finished_at=finished_at,
            **{"step_tries": 0, "available_at": now, **changes},
        )
