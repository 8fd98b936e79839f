"""A SageMaker asynchronous endpoint, its S3 and its SNS topics, with what can go wrong between them.

It takes what botocore's own service model takes, puts each result where the endpoint's configuration says, and
publishes notices as SageMaker words them and SNS wraps them. The container behind it is whatever ``invoke`` is.
"""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from botocore.exceptions import ClientError
from botocore.loaders import Loader
from botocore.model import ServiceModel
from botocore.validate import ParamValidator

from services.domain.object_key import ObjectKey
from tests.fakes.clock import FakeClock
from tests.fakes.objects import FakeObjectStore

BUCKET = "the-bucket"


@dataclass(frozen=True, kw_only=True)
class Faults:
    """How often what goes wrong, from 0 to 1.

    Attributes:
        refused: The call is answered with an error, nothing taken.
        unheard: The call is answered with an error, and taken.
        timed_out: The container takes longer than the invocation was given.
        vanished: The instance goes away with the invocation; nobody is told.
        lost: A notice never arrives.
    """

    refused: float = 0.0
    unheard: float = 0.0
    timed_out: float = 0.0
    vanished: float = 0.0
    lost: float = 0.0
    duplicated: float = 0.0
    late: float = 0.0
    longest_delay_s: float = 7200.0


@dataclass
class _Invocation:
    parameters: dict[str, Any]
    number: int
    taken_at: datetime


@dataclass
class FakeSageMaker:
    """Stands for ``Clients`` and for each client; ``serve`` runs what waits, ``heard`` brings the notices."""

    objects: FakeObjectStore
    clock: FakeClock
    invoke: Callable[[bytes], bytes]
    random: random.Random
    faults: Faults = field(default_factory=Faults)
    num_instances: int = 2
    outputs: dict[str, bytes] = field(default_factory=dict)
    num_invocations: int = 0

    def __post_init__(self) -> None:
        self._waiting: list[_Invocation] = []
        self._notices: list[tuple[datetime, str]] = []

    def get(self, service: str) -> FakeSageMaker:
        assert service in ("sagemaker-runtime", "sagemaker", "s3")
        return self

    def invoke_endpoint_async(self, **parameters: Any) -> dict[str, Any]:
        self._check("sagemaker-runtime", "InvokeEndpointAsync", parameters)
        if self._happens(self.faults.refused):
            raise ClientError({"Error": {"Code": "ServiceUnavailable"}}, "InvokeEndpointAsync")
        self.num_invocations += 1
        self._waiting.append(_Invocation(parameters, self.num_invocations, self.clock.now()))
        if self._happens(self.faults.unheard):
            raise ClientError({"Error": {"Code": "InternalFailure"}}, "InvokeEndpointAsync")
        location = self._location(self.num_invocations)
        return {"InferenceId": parameters["InferenceId"], "OutputLocation": location}

    def describe_endpoint(self, **parameters: Any) -> dict[str, Any]:
        self._check("sagemaker", "DescribeEndpoint", parameters)
        return {"ProductionVariants": [{"VariantName": "v", "CurrentInstanceCount": self.num_instances}]}

    def get_object(self, *, Bucket: str, Key: str) -> dict[str, Any]:  # noqa: N803 (boto3's own names)
        assert Bucket == BUCKET
        if Key not in self.outputs:
            raise ClientError({"Error": {"Code": "NoSuchKey"}}, "GetObject")
        return {"Body": io.BytesIO(self.outputs[Key])}

    def serve(self) -> None:
        """Run what waits, as many as there are instances."""
        for invocation in self._waiting[: self.num_instances]:
            self._waiting.remove(invocation)
            age_s = (self.clock.now() - invocation.taken_at).total_seconds()
            if age_s > invocation.parameters["RequestTTLSeconds"]:
                self._publish(invocation, failed="The request expired in the queue.")
            elif self._happens(self.faults.vanished):
                continue
            elif self._happens(self.faults.timed_out):
                self._publish(invocation, failed="ClientError: Your invocation timed out while waiting for a response.")
            else:
                bucket, _, key = invocation.parameters["InputLocation"].removeprefix("s3://").partition("/")
                assert bucket == BUCKET
                answer = self.invoke(self.objects.get(ObjectKey.parse(key)))
                self.outputs[self._location(invocation.number).removeprefix(f"s3://{BUCKET}/")] = answer
                self._publish(invocation)

    def heard(self) -> list[str]:
        """Bodies that have come to the queue behind the topics, in the order of their coming."""
        now = self.clock.now()
        due = sorted(notice for notice in self._notices if notice[0] <= now)
        self._notices = [notice for notice in self._notices if notice[0] > now]
        return [body for _, body in due]

    def _publish(self, invocation: _Invocation, *, failed: str | None = None) -> None:
        parameters = invocation.parameters
        message: dict[str, Any] = {
            "awsRegion": "us-east-1",
            "eventTime": self.clock.now().isoformat(),
            "receivedTime": invocation.taken_at.isoformat(),
            "invocationStatus": "Completed" if failed is None else "Failed",
            "requestParameters": {
                "contentType": parameters["ContentType"],
                "endpointName": parameters["EndpointName"],
                "inputLocation": parameters["InputLocation"],
            },
            "inferenceId": parameters["InferenceId"],
            "eventVersion": "1.0",
            "eventSource": "aws:sagemaker",
            "eventName": "InferenceResult",
        }
        if failed is None:
            message["responseParameters"] = {
                "contentType": "application/json",
                "outputLocation": self._location(invocation.number),
            }
        else:
            message["failureReason"] = failed
        topic = "arn:aws:sns:us-east-1:000000000000:stack-engine-" + ("success" if failed is None else "error")
        wrapped = {"Type": "Notification", "MessageId": "m", "TopicArn": topic, "Message": json.dumps(message)}
        for _ in range(2 if self._happens(self.faults.duplicated) else 1):
            if not self._happens(self.faults.lost):
                delay_s = (
                    self.random.uniform(0, self.faults.longest_delay_s) if self._happens(self.faults.late) else 0.0
                )
                self._notices.append((self.clock.now() + timedelta(seconds=delay_s), json.dumps(wrapped)))

    def _location(self, number: int) -> str:
        return f"s3://{BUCKET}/async/output-{number}.out"

    def _happens(self, probability: float) -> bool:
        return self.random.random() < probability

    def _check(self, service: str, operation: str, parameters: dict[str, Any]) -> None:
        shape = _model(service).operation_model(operation).input_shape
        report = ParamValidator().validate(parameters, shape)
        assert not report.has_errors(), report.generate_report()


@lru_cache
def _model(service: str) -> ServiceModel:
    return ServiceModel(Loader().load_service_model(service, "service-2"))
