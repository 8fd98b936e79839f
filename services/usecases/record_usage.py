"""Put a succeeded job on the bill."""

from __future__ import annotations

from services.domain.job import Job, JobState
from services.ports.usage import UsageRecord, UsageStore


def record_usage(job: Job, *, usage: UsageStore) -> bool:
    """Record what the job used, if it succeeded and has no record yet; whether a record was stored."""
    if job.state is not JobState.SUCCEEDED or job.result is None or job.finished_at is None:
        return False
    return usage.record(
        UsageRecord(
            job_id=job.id,
            tenant_id=job.tenant_id,
            kind=job.kind,
            quantities=job.result.usage,
            at=job.finished_at,
            cost=job.result.cost,
        )
    )
