"""Take in how far an attempt is."""

from __future__ import annotations

from dataclasses import replace

from services.domain.engine import EngineEvent
from services.domain.errors import NotFound
from services.domain.job import Job, JobStep, Progress
from services.ports.clock import Clock
from services.ports.jobs import JobStore
from services.usecases.revise import revise


def record_progress(event: EngineEvent, *, jobs: JobStore, clock: Clock) -> None:
    """Update the job, unless the event is of another attempt, overtaken by a later one, or the job has moved on."""
    fraction = min(1.0, max(0.0, event.fraction))  # in this order NaN becomes 0

    def advance(job: Job) -> Job | None:
        if job.step is not JobStep.RUN or job.attempt != event.attempt or event.sequence <= job.progress.sequence:
            return None
        progress = Progress(stage=event.stage, fraction=fraction, sequence=event.sequence)
        return replace(job, progress=progress, updated_at=clock.now())

    try:
        revise(event.job_id, advance, get=jobs.get, save=jobs.save)
    except NotFound:
        return
