"""Let go of what was kept long enough: final jobs and batches with their files and deliveries, and uploads.

For stores that do not do it themselves. On AWS the tables' TTL and the bucket's lifecycle rules do, and their stores
name nothing here. Usage and the audit log stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from services.ports.batches import BatchStore
from services.ports.clock import Clock
from services.ports.jobs import JobStore
from services.ports.objects import ObjectStore
from services.ports.uploads import UploadStore
from services.ports.usage import UsageStore
from services.ports.webhooks import DeliveryLog
from services.settings import Settings
from services.usecases.record_usage import record_usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Expired:
    """How much was removed; repeat while there is any."""

    num_jobs: int
    num_batches: int
    num_uploads: int


def expire_rows(
    *,
    jobs: JobStore,
    batches: BatchStore,
    objects: ObjectStore,
    uploads: UploadStore,
    deliveries: DeliveryLog,
    usage: UsageStore,
    clock: Clock,
    settings: Settings,
    limit: int = 100,
) -> Expired:
    """Remove up to ``limit`` of each that are older than ``job_retention_days``, the row last: a crash leaves it to
    be found again.
    """
    before = clock.now() - timedelta(days=settings.job_retention_days)
    old_jobs = jobs.finished_before(before, limit=limit)
    for job in old_jobs:
        record_usage(job, usage=usage)  # should completion have died before it did
        objects.delete_owner(job.tenant_id, job.id)
        deliveries.forget(job.id)
        jobs.delete(job.id)
    old_batches = batches.finished_before(before, limit=limit)
    for batch in old_batches:
        objects.delete_owner(batch.tenant_id, batch.id)
        deliveries.forget(batch.id)
        batches.delete(batch.id)
    old_uploads = uploads.created_before(before, limit=limit)
    for upload in old_uploads:
        objects.delete_owner(upload.tenant_id, upload.id)
        uploads.delete(upload.tenant_id, upload.id)
    return Expired(num_jobs=len(old_jobs), num_batches=len(old_batches), num_uploads=len(old_uploads))
