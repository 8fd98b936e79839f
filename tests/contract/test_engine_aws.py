"""Engines on AWS: the exact requests that botocore is given, and a work queue on an emulator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import boto3
import pytest
from botocore.stub import ANY, Stubber

from services.adapters.aws.engine_queue import QueueEngine
from services.adapters.aws.engine_sagemaker import SageMakerEngine
from services.domain import wire
from services.domain.engine import EngineKind, EngineRequest
from services.domain.errors import Unavailable
from services.domain.object_key import ObjectKey
from tests.fakes.clock import FakeClock
from tests.fakes.objects import FakeObjectStore

ENDPOINT = "stack-video"


class StubbedClients:
    """Real clients that reach nothing: what they are asked must have been announced, in order and to the letter."""

    def __init__(self) -> None:
        self.stubs: dict[str, Stubber] = {}

    def get(self, service: str) -> Any:
        if service not in self.stubs:
            client = boto3.client(
                service, region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test"
            )
            self.stubs[service] = Stubber(client)
            self.stubs[service].activate()
        return self.stubs[service].client

    def expect(self, service: str, operation: str, request: dict[str, Any], answer: dict[str, Any]) -> None:
        self.get(service)
        self.stubs[service].add_response(operation, answer, request)

    def fail(self, service: str, operation: str, code: str, status: int = 400) -> None:
        self.get(service)
        self.stubs[service].add_client_error(operation, code, http_status_code=status)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def clients() -> StubbedClients:
    return StubbedClients()


@pytest.fixture
def objects() -> FakeObjectStore:
    return FakeObjectStore()


@pytest.fixture
def engine(clients: StubbedClients, objects: FakeObjectStore, clock: FakeClock) -> SageMakerEngine:
    return SageMakerEngine(
        clients, endpoint_name=ENDPOINT, bucket="the-bucket", objects=objects, clock=clock, concurrency=2
    )


@pytest.fixture
def attempt(clock: FakeClock) -> EngineRequest:
    return EngineRequest(
        kind=EngineKind.VIDEO,
        tenant_id="tenant_a",
        job_id="job_01JZZZZZZZZZZZZZZZZZZZZZZZ",
        attempt=2,
        storyboard_key="work/tenant_a/job_01JZZZZZZZZZZZZZZZZZZZZZZZ/0/storyboard.json",
        deadline_at=clock.now() + timedelta(seconds=3000),
    )


def invocation(**changes: Any) -> dict[str, Any]:
    return {
        "EndpointName": ENDPOINT,
        "ContentType": "application/json",
        "Accept": "application/json",
        "InferenceId": "job_01JZZZZZZZZZZZZZZZZZZZZZZZ.2",
        "InputLocation": "s3://the-bucket/work/tenant_a/job_01JZZZZZZZZZZZZZZZZZZZZZZZ/2/request.json",
        "RequestTTLSeconds": 3000,
        "InvocationTimeoutSeconds": 3000,
        **changes,
    }


def described(*counts: int) -> dict[str, Any]:
    return {
        "EndpointName": ENDPOINT,
        "EndpointArn": "arn:aws:sagemaker:us-east-1:000000000000:endpoint/stack-video",
        "EndpointStatus": "InService",
        "CreationTime": 0,
        "LastModifiedTime": 0,
        "ProductionVariants": [
            {"VariantName": f"v{n}", "CurrentInstanceCount": count} for n, count in enumerate(counts)
        ],
    }


def test_attempt_is_an_object_and_an_invocation_that_names_it(engine, clients, objects, attempt):
    clients.expect("sagemaker-runtime", "invoke_endpoint_async", invocation(), {"InferenceId": attempt.inference_id})
    engine.start(attempt)
    clients.stubs["sagemaker-runtime"].assert_no_pending_responses()
    key = ObjectKey.parse("work/tenant_a/job_01JZZZZZZZZZZZZZZZZZZZZZZZ/2/request.json")
    assert wire.decode(EngineRequest, objects.get(key)) == attempt


@pytest.mark.parametrize(
    ("left_s", "ttl_s", "timeout_s"),
    [(3600, 3600, 3600), (20_000, 20_000, 3600), (100_000, 21_600, 3600), (1000.2, 1001, 1001), (-5, 60, 1)],
)
def test_time_is_given_within_what_the_service_takes(engine, clients, attempt, clock, left_s, ttl_s, timeout_s):
    expected = invocation(RequestTTLSeconds=ttl_s, InvocationTimeoutSeconds=timeout_s)
    clients.expect("sagemaker-runtime", "invoke_endpoint_async", expected, {})
    engine.start(replace(attempt, deadline_at=clock.now() + timedelta(seconds=left_s)))


def test_request_stays_small_whatever_the_storyboard_is(engine, clients, objects, attempt):
    """The body is keys: media and texts lie in objects."""
    objects.put(ObjectKey.parse(attempt.storyboard_key), b"x" * 5_000_000, media_type="application/json")
    clients.expect("sagemaker-runtime", "invoke_endpoint_async", {**invocation(), "InputLocation": ANY}, {})
    engine.start(attempt)
    key = ObjectKey.parse(f"work/tenant_a/{attempt.job_id}/2/request.json")
    assert objects.head(key).size_bytes < 1024


@pytest.mark.parametrize(
    ("code", "status", "expected"),
    [
        ("ServiceUnavailable", 503, "engine_unavailable"),
        ("InternalFailure", 500, "engine_unavailable"),
        ("ValidationError", 400, "engine_unavailable"),
        ("ThrottlingException", 400, "aws_throttled"),
        ("AccessDeniedException", 403, "aws_denied"),
    ],
)
def test_attempt_that_is_not_taken_is_unavailable(engine, clients, attempt, code, status, expected):
    clients.fail("sagemaker-runtime", "invoke_endpoint_async", code, status)
    with pytest.raises(Unavailable) as raised:
        engine.start(attempt)
    assert raised.value.code == expected


def test_capacity_is_what_the_endpoint_says(engine, clients):
    clients.expect("sagemaker", "describe_endpoint", {"EndpointName": ENDPOINT}, described(2, 1))
    capacity = engine.capacity(EngineKind.VIDEO)
    assert (capacity.num_instances, capacity.concurrency_per_instance, capacity.max_outstanding) == (3, 2, 12)


def test_endpoint_at_zero_is_woken_by_one(engine, clients):
    clients.expect("sagemaker", "describe_endpoint", {"EndpointName": ENDPOINT}, described(0))
    assert engine.capacity(EngineKind.VIDEO).max_outstanding == 1


def test_endpoint_is_asked_again_after_a_while_only(engine, clients, clock):
    clients.expect("sagemaker", "describe_endpoint", {"EndpointName": ENDPOINT}, described(1))
    engine.capacity(EngineKind.VIDEO)
    clock.advance(4)
    assert engine.capacity(EngineKind.VIDEO).num_instances == 1
    clock.advance(2)
    clients.expect("sagemaker", "describe_endpoint", {"EndpointName": ENDPOINT}, described(4))
    assert engine.capacity(EngineKind.VIDEO).num_instances == 4


def test_endpoint_that_does_not_say_has_what_it_had(engine, clients, clock):
    clients.fail("sagemaker", "describe_endpoint", "ThrottlingException")
    with pytest.raises(Unavailable):
        engine.capacity(EngineKind.VIDEO)
    clients.expect("sagemaker", "describe_endpoint", {"EndpointName": ENDPOINT}, described(3))
    assert engine.capacity(EngineKind.VIDEO).num_instances == 3
    clock.advance(60)
    clients.fail("sagemaker", "describe_endpoint", "ThrottlingException")
    assert engine.capacity(EngineKind.VIDEO).num_instances == 3


@pytest.fixture
def workers(aws: Any) -> Callable[[], list[dict[str, Any]]]:
    return lambda: aws.received(aws.queue("work"))


def test_attempt_is_a_message_for_a_worker(aws, workers, attempt):
    engine = QueueEngine(aws.clients, queue_url=aws.queue("work"), num_instances=2, concurrency=3)
    engine.start(attempt)
    [message] = workers()
    assert wire.decode(EngineRequest, message["Body"]) == attempt
    assert message["Attributes"]["MessageGroupId"] == attempt.tenant_id
    assert engine.capacity(EngineKind.VIDEO).max_outstanding == 12


def test_work_queue_that_is_not_there_takes_no_attempt(aws, attempt):
    url = f"{aws.endpoint_url}/000000000000/none"
    engine = QueueEngine(aws.clients, queue_url=url, num_instances=1, concurrency=1)
    with pytest.raises(Unavailable) as raised:
        engine.start(attempt)
    assert raised.value.code == "engine_unavailable"
