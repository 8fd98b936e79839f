"""One try to tell a client of an end: Standard Webhooks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from services.domain.errors import ContentRejected, NotFound, Unavailable
from services.ports.clock import Clock
from services.ports.tenants import TenantStore
from services.ports.webhooks import Delivery, WebhookSender
from services.usecases.view_parts import rfc3339

_TIMEOUT_S: Final = 15.0  # as Standard Webhooks recommends
_GONE: Final = 410


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An end to be told.

    Attributes:
        id: The same for every try, so that receivers can drop repeats.
        subject_id: The job or batch that ended, under which its tries are logged.
        type: ``job.succeeded``, ``batch.canceled`` ...
        data: What has ended, as clients see it; asked for each try, as its links expire.
    """

    id: str
    subject_id: str
    tenant_id: str
    url: str
    type: str
    at: datetime
    data: Callable[[], Mapping[str, Any]]


def send_event(event: Event, *, tenants: TenantStore, sender: WebhookSender, clock: Clock) -> tuple[Delivery, bool]:
    """The try, and whether it was the last: taken with any 2xx, gone (410), or not to be called.

    Raises:
        Unavailable: A store does not answer; to be tried again.
    """
    now = clock.now()
    status: int | None = None
    error: str | None = None
    is_over = False
    try:
        body = _body(event)
        secret = tenants.get(event.tenant_id).webhook_secret
        status = sender.post(
            event.url,
            body=body.encode(),
            headers={
                "Content-Type": "application/json",
                "User-Agent": "spokesmodel-webhooks",
                **_signature(secret, event.id, body, now),
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
    return Delivery(job_id=event.subject_id, event_id=event.id, at=now, status=status, error=error), is_over


def _body(event: Event) -> str:
    values = {
        "type": event.type,
        "timestamp": rfc3339(event.at),
        "data": event.data(),
    }
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"))


def _signature(secret: str, message_id: str, body: str, now: datetime) -> dict[str, str]:
    from standardwebhooks.webhooks import Webhook

    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Webhook(secret).sign(msg_id=message_id, timestamp=now, data=body),
    }
