"""Tell an engine to stop an attempt."""

from __future__ import annotations

from services.domain.engine import EngineRequest
from services.domain.job import Job
from services.ports.objects import ObjectStore


def stop_attempt(job: Job, attempt: int, *, objects: ObjectStore) -> None:
    """Write the object that the engine looks for between frames."""
    request = EngineRequest(
        kind=job.kind,
        tenant_id=job.tenant_id,
        job_id=job.id,
        attempt=attempt,
        storyboard_key=job.storyboard_key or "",
        deadline_at=job.deadline_at or job.updated_at,
    )
    objects.put(request.cancel_key(), b"", media_type="application/octet-stream")
