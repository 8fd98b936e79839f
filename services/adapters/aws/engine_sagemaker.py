"""The engine's container behind a SageMaker asynchronous endpoint."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import Any, Final

from services.adapters.aws.clients import Clients, translated
from services.domain import wire
from services.domain.engine import EngineKind, EngineRequest
from services.domain.errors import Unavailable
from services.domain.object_key import ObjectKey, Retention
from services.ports.clock import Clock
from services.ports.engine import EngineCapacity
from services.ports.objects import ObjectStore

_PART: Final = "the engine's endpoint"
_CODE: Final = "engine_unavailable"
_MEDIA_TYPE: Final = "application/json"
# What InvokeEndpointAsync takes. Its default of 900 s for an invocation would cut longer videos off.
_INVOCATION_S: Final = (1, 3600)
_REQUEST_TTL_S: Final = (60, 21_600)
_BELIEVED_S: Final = 5.0  # an instance more or less is noticed this late


class SageMakerEngine:
    """``services.ports.engine.Engine``: the request is an object, the result is announced by SNS (see ``notices``).

    Args:
        objects: Over ``bucket``, which the endpoint's role may read.
        concurrency: Invocations that one instance takes at once, as the endpoint's configuration has it.
    """

    def __init__(
        self,
        clients: Clients,
        *,
        endpoint_name: str,
        bucket: str,
        objects: ObjectStore,
        clock: Clock,
        concurrency: int,
    ) -> None:
        self._clients = clients
        self._endpoint_name = endpoint_name
        self._bucket = bucket
        self._objects = objects
        self._clock = clock
        self._concurrency = concurrency
        self._known: tuple[datetime, int] | None = None

    def start(self, request: EngineRequest) -> None:
        key = ObjectKey(
            retention=Retention.WORK,
            tenant_id=request.tenant_id,
            owner_id=request.job_id,
            attempt=request.attempt,
            name="request.json",
        )
        self._objects.put(key, wire.encode(request), media_type=_MEDIA_TYPE)
        left_s = math.ceil((request.deadline_at - self._clock.now()).total_seconds())
        with translated(_PART, code=_CODE):
            self._clients.get("sagemaker-runtime").invoke_endpoint_async(
                EndpointName=self._endpoint_name,
                ContentType=_MEDIA_TYPE,
                Accept=_MEDIA_TYPE,
                InferenceId=request.inference_id,
                InputLocation=f"s3://{self._bucket}/{key}",
                RequestTTLSeconds=_within(left_s, _REQUEST_TTL_S),
                InvocationTimeoutSeconds=_within(left_s, _INVOCATION_S),
            )

    def capacity(self, kind: EngineKind) -> EngineCapacity:
        """Instances that serve now; as last known when the endpoint does not say.

        Raises:
            Unavailable: ``engine_unavailable`` when it never said.
        """
        now = self._clock.now()
        if self._known is None or now - self._known[0] >= timedelta(seconds=_BELIEVED_S):
            try:
                self._known = now, self._num_instances()
            except Unavailable:
                if self._known is None:
                    raise
        return EngineCapacity(num_instances=self._known[1], concurrency_per_instance=self._concurrency)

    def _num_instances(self) -> int:
        with translated(_PART, code=_CODE):
            endpoint: dict[str, Any] = self._clients.get("sagemaker").describe_endpoint(
                EndpointName=self._endpoint_name
            )
        return sum(variant.get("CurrentInstanceCount", 0) for variant in endpoint.get("ProductionVariants", ()))


def _within(value: int, bounds: tuple[int, int]) -> int:
    return max(bounds[0], min(value, bounds[1]))
