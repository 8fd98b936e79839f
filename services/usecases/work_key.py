"""Where services keep what belongs to a job."""

from __future__ import annotations

from services.domain.job import Job
from services.domain.object_key import ObjectKey, Retention


def work_key(job: Job, name: str) -> ObjectKey:
    """``work/{tenant}/{job}/0/{name}``."""
    return ObjectKey(retention=Retention.WORK, tenant_id=job.tenant_id, owner_id=job.id, attempt=0, name=name)
