"""Remove a job with everything it made and was made from."""

from __future__ import annotations

from services.domain.errors import Conflict
from services.domain.job import JobState
from services.ports.audit import AuditLog
from services.ports.clock import Clock
from services.ports.jobs import JobStore
from services.ports.objects import ObjectStore
from services.ports.products import ProductStore
from services.ports.usage import UsageStore
from services.ports.webhooks import DeliveryLog
from services.usecases.get_job import get_job
from services.usecases.record_act import record_act
from services.usecases.record_usage import record_usage
from services.usecases.settle_product import settle_from
from services.usecases.stop_attempt import stop_attempt


def delete_job(
    job_id: str,
    *,
    tenant_id: str,
    actor: str,
    jobs: JobStore,
    objects: ObjectStore,
    usage: UsageStore,
    deliveries: DeliveryLog,
    audit: AuditLog,
    clock: Clock,
    products: ProductStore,
) -> None:
    """Delete objects, deliveries and row; usage stays on the bill. Uploads and avatars are not touched.

    Raises:
        NotFound: ``job_not_found``.
        Conflict: ``job_active``: cancel it first.
    """
    job = get_job(job_id, tenant_id=tenant_id, jobs=jobs)
    if not job.state.is_final:
        raise Conflict(f"Job {job.id} is {job.state}; cancel it before deleting it.", code="job_active")
    record_usage(job, usage=usage)  # should completion have died before it did; so for a product
    settle_from(job, products=products, objects=objects)
    objects.delete_owner(tenant_id, job.id)
    if job.state is JobState.CANCELED and job.attempt > 0:
        # Its engine may still be running: without the mark it would write a result that nobody owns.
        stop_attempt(job, job.attempt, objects=objects)
    deliveries.forget(job.id)
    jobs.delete(job.id)
    record_act("job.deleted", job_id, tenant_id=tenant_id, actor=actor, audit=audit, clock=clock)
