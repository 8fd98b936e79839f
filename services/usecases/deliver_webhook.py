"""Tell a client how its job ended: Standard Webhooks, at least once."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from services.domain.errors import NotFound
from services.domain.job import Job, JobStep
from services.domain.retry import webhook_delay_s
from services.ports.clock import Clock
from services.ports.jobs import JobStore
from services.ports.objects import ObjectStore
from services.ports.tenants import TenantStore
from services.ports.webhooks import Delivery, DeliveryLog, WebhookSender
from services.settings import Settings
from services.usecases.revise import revise
from services.usecases.send_event import Event, send_event
from services.usecases.view_job import view_job


def event_id(job: Job) -> str:
    """Id of the one event of a final job; the same for every try, so that receivers can drop repeats."""
    return f"event_{job.id.partition('_')[2]}_{job.state}"


def deliver_webhook(
    job_id: str,
    *,
    jobs: JobStore,
    objects: ObjectStore,
    tenants: TenantStore,
    deliveries: DeliveryLog,
    sender: WebhookSender,
    clock: Clock,
    settings: Settings,
) -> Job | None:
    """The job after one try: notified, to be tried again later, or given up; None when it has been deleted.

    Done with any 2xx. Given up after ``max_webhook_tries``, on 410, when the address may not be called, and when this
    code itself failed ``max_step_tries`` times.

    Raises:
        Unavailable: A store does not answer; to be tried again.
    """
    try:
        job = jobs.get(job_id)
    except NotFound:
        return None
    if job.step is not JobStep.NOTIFY or job.callback_url is None or job.available_at > clock.now():
        return job
    if job.step_tries >= settings.max_step_tries:  # not the client: something here breaks each time
        delivery, is_over = _given_up(job, clock), True
    else:
        delivery, is_over = send_event(_event(job, objects, settings), tenants=tenants, sender=sender, clock=clock)
    deliveries.add(delivery)
    num_tries = len(deliveries.list(job_id))

    def tried(job: Job) -> Job | None:
        if job.step is not JobStep.NOTIFY:
            return None
        now = clock.now()
        if is_over or num_tries >= settings.max_webhook_tries:
            return replace(job, step=JobStep.NONE, step_tries=num_tries, available_at=now)
        return replace(job, step_tries=num_tries, available_at=now + timedelta(seconds=webhook_delay_s(num_tries)))

    try:
        return revise(job_id, tried, get=jobs.get, save=jobs.save)
    except NotFound:
        return None


def _event(job: Job, objects: ObjectStore, settings: Settings) -> Event:
    return Event(
        id=event_id(job),
        subject_id=job.id,
        tenant_id=job.tenant_id,
        url=job.callback_url or "",
        type=f"job.{job.state}",
        at=job.finished_at or job.updated_at,
        data=lambda: view_job(job, objects=objects, link_lifetime_s=settings.link_lifetime_s),
    )


def _given_up(job: Job, clock: Clock) -> Delivery:
    error = f"Given up after {job.step_tries} internal failures."
    return Delivery(job_id=job.id, event_id=event_id(job), at=clock.now(), status=None, error=error)
