"""Tell a client how its batch ended: one event, at least once."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from services.domain.batch import Batch, BatchStep
from services.domain.retry import webhook_delay_s
from services.ports.batches import BatchStore
from services.ports.clock import Clock
from services.ports.objects import ObjectStore
from services.ports.tenants import TenantStore
from services.ports.webhooks import DeliveryLog, WebhookSender
from services.settings import Settings
from services.usecases.revise import revise
from services.usecases.send_event import Event, send_event
from services.usecases.view_batch import view_batch


def batch_event_id(batch: Batch) -> str:
    """Id of the one event of an end; after a retry a batch ends again, and that is another."""
    finished_at = batch.finished_at or batch.updated_at
    return f"event_{batch.id.partition('_')[2]}_{batch.state}_{int(finished_at.timestamp() * 1000)}"


def notify_batch(
    batch: Batch,
    *,
    batches: BatchStore,
    objects: ObjectStore,
    tenants: TenantStore,
    deliveries: DeliveryLog,
    sender: WebhookSender,
    clock: Clock,
    settings: Settings,
) -> Batch:
    """The batch after one try: notified, to be tried again later, or given up.

    Raises:
        NotFound: ``batch_not_found``: it has been deleted meanwhile.
        Unavailable: A store does not answer; to be tried again.
    """
    event = Event(
        id=batch_event_id(batch),
        subject_id=batch.id,
        tenant_id=batch.tenant_id,
        url=batch.callback_url or "",
        type=f"batch.{batch.state}",
        at=batch.finished_at or batch.updated_at,
        data=lambda: view_batch(batch, objects=objects, link_lifetime_s=settings.link_lifetime_s),
    )
    delivery, is_over = send_event(event, tenants=tenants, sender=sender, clock=clock)
    deliveries.add(delivery)
    num_tries = sum(one.event_id == event.id for one in deliveries.list(batch.id))

    def tried(present: Batch) -> Batch:
        now = clock.now()
        present = replace(present, is_in_pass=False, updated_at=now, available_at=now)
        if present.step is not BatchStep.NOTIFY:  # a retry was asked for meanwhile, which makes this end no end
            return present
        if is_over or num_tries >= settings.max_webhook_tries:
            return replace(present, step=BatchStep.NONE)
        return replace(present, available_at=now + timedelta(seconds=webhook_delay_s(num_tries)))

    return revise(batch.id, tried, get=batches.get, save=batches.save)
