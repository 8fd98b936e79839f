"""The engine's container as a worker behind SQS: an attempt is a message."""

from __future__ import annotations

from services.adapters.aws.clients import Clients, translated
from services.domain import wire
from services.domain.engine import EngineKind, EngineRequest
from services.ports.engine import EngineCapacity


class QueueEngine:
    """``services.ports.engine.Engine``: workers take ``EngineRequest`` messages and answer into the engine's queue.

    Args:
        num_instances: Workers that somebody else starts and stops; a queue cannot be asked for them.
    """

    def __init__(self, clients: Clients, *, queue_url: str, num_instances: int, concurrency: int) -> None:
        self._clients = clients
        self._queue_url = queue_url
        self._capacity = EngineCapacity(num_instances=num_instances, concurrency_per_instance=concurrency)

    def start(self, request: EngineRequest) -> None:
        with translated("the engine's work queue", code="engine_unavailable"):
            self._clients.get("sqs").send_message(
                QueueUrl=self._queue_url, MessageBody=wire.encode(request).decode(), MessageGroupId=request.tenant_id
            )

    def capacity(self, kind: EngineKind) -> EngineCapacity:
        return self._capacity
