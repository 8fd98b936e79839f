"""Tell a client how its job ended: Standard Webhooks, at least once."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from services.domain.errors import ContentRejected, NotFound, Unavailable
from services.domain.job import Job, JobStep
from services.domain.retry import webhook_delay_s
from services.ports.clock import Clock
from services.ports.jobs import JobStore
from services.ports.objects import ObjectStore
from services.ports.tenants import TenantStore
from services.ports.webhooks import Delivery, DeliveryLog, WebhookSender
from services.settings import Settings
from services.usecases.revise_job import revise_job
from services.usecases.view_job import view_job

_TIMEOUT_S: Final = 15.0  # as Standard Webhooks recommends
_GONE: Final = 410


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
    if job.step is not JobStep.NOTIFY or job.callback_url is None:
        return job
    if job.step_tries >= settings.max_step_tries:  # not the client: something here breaks each time
        delivery, is_over = _given_up(job, clock), True
    else:
        delivery, is_over = _try(job, objects=objects, tenants=tenants, sender=sender, clock=clock, settings=settings)
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
        return revise_job(job_id, tried, jobs=jobs)
    except NotFound:
        return None


def _try(
    job: Job,
    *,
    objects: ObjectStore,
    tenants: TenantStore,
    sender: WebhookSender,
    clock: Clock,
    settings: Settings,
) -> tuple[Delivery, bool]:
    """One delivery, and whether it was the last."""
    now = clock.now()
    status: int | None = None
    error: str | None = None
    is_over = False
    try:
        body = _body(job, objects, settings)
        secret = tenants.get(job.tenant_id).webhook_secret
        status = sender.post(
            job.callback_url or "",
            body=body.encode(),
            headers={
                "Content-Type": "application/json",
                "User-Agent": "spokesmodel-webhooks",
                **_signature(secret, event_id(job), body, now),
            },
            timeout_s=_TIMEOUT_S,
        )
        is_over = 200 <= status < 300 or status == _GONE
    except Unavailable as unreachable:
        if unreachable.code != "callback_unreachable":
            raise
        error = unreachable.detail
    except (ContentRejected, NotFound) as refused:
        error, is_over = refused.detail, True
    return Delivery(job_id=job.id, event_id=event_id(job), at=now, status=status, error=error), is_over


def _given_up(job: Job, clock: Clock) -> Delivery:
    error = f"Given up after {job.step_tries} internal failures."
    return Delivery(job_id=job.id, event_id=event_id(job), at=clock.now(), status=None, error=error)


def _body(job: Job, objects: ObjectStore, settings: Settings) -> str:
    """The event; its links are signed anew for each try, as they expire."""
    finished_at = job.finished_at or job.updated_at
    event = {
        "type": f"job.{job.state}",
        "timestamp": finished_at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "data": view_job(job, objects=objects, link_lifetime_s=settings.link_lifetime_s),
    }
    return json.dumps(event, ensure_ascii=False, separators=(",", ":"))


def _signature(secret: str, message_id: str, body: str, now: datetime) -> dict[str, str]:
    from standardwebhooks.webhooks import Webhook

    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Webhook(secret).sign(msg_id=message_id, timestamp=now, data=body),
    }
