"""Bells in SQS: standard queues, fair between tenants by their message group."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from services.adapters.aws.clients import Clients, translated
from services.domain.errors import Unavailable
from services.settings import Settings

_CODE: Final = "queue_unavailable"
_DISPATCH: Final = "dispatch"
_LONGEST_DELAY_S: Final = 900
_LONGEST_VISIBILITY_S: Final = 43_200


class SqsStepQueue:
    """``services.ports.step_queue.StepQueue``.

    Args:
        urls: The queues' addresses, by step.
    """

    is_used = True

    def __init__(self, clients: Clients, *, urls: Mapping[str, str]) -> None:
        self._clients = clients
        self._urls = dict(urls)

    def send(self, step: str, item_id: str, *, tenant_id: str, delay_s: float = 0.0) -> None:
        name = "batch_id" if step == "batch" else "job_id"
        self._send(step, {name: item_id}, tenant_id, delay_s)

    def ring(self, *, tenant_id: str, delay_s: float = 0.0) -> None:
        self._send(_DISPATCH, {"ring": _DISPATCH}, tenant_id, delay_s)

    def put_off(self, queue: str, receipt: str, *, delay_s: float) -> None:
        name = queue.rpartition(":")[2]
        for step, url in self._urls.items():
            if url.rpartition("/")[2] == name:
                with suppress(Unavailable), translated(f"the queue {step}", code=_CODE):
                    self._clients.get("sqs").change_message_visibility(
                        QueueUrl=url,
                        ReceiptHandle=receipt,
                        VisibilityTimeout=min(_LONGEST_VISIBILITY_S, math.ceil(delay_s)),
                    )

    def _send(self, step: str, body: Mapping[str, str], tenant_id: str, delay_s: float) -> None:
        url = self._urls.get(step)
        if not url:
            raise Unavailable(f"There is no queue for {step}.", code=_CODE, retryable=False)
        with translated(f"the queue {step}", code=_CODE):
            self._clients.get("sqs").send_message(
                QueueUrl=url,
                MessageBody=json.dumps(body),
                DelaySeconds=min(_LONGEST_DELAY_S, max(0, math.ceil(delay_s))),
                MessageGroupId=tenant_id,
            )


def queue_urls(settings: Settings) -> dict[str, str]:
    """The addresses that ``SqsStepQueue`` takes; ``engine`` for ``put_off`` only."""
    urls = {
        "prepare": settings.prepare_queue_url,
        "dispatch": settings.dispatch_queue_url,
        "notify": settings.notify_queue_url,
        "batch": settings.batch_queue_url,
        "engine": settings.engine_queue_url,
    }
    return {step: url for step, url in urls.items() if url}
