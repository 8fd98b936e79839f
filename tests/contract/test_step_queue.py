"""What every step queue does; then what SQS holds afterwards."""

from __future__ import annotations

import json

import pytest

from services.adapters.aws.clients import Clients
from services.adapters.aws.step_queue import SqsStepQueue, queue_urls
from services.adapters.local.step_queue import NoStepQueue
from services.domain.errors import Unavailable
from services.settings import Settings
from tests.emulator import Aws
from tests.fakes.step_queue import FakeStepQueue

STEPS = ("prepare", "dispatch", "notify", "batch", "engine")


@pytest.fixture
def urls(aws: Aws) -> dict[str, str]:
    return {step: aws.queue(step) for step in STEPS}


@pytest.fixture
def bells(aws: Aws, urls: dict[str, str]) -> SqsStepQueue:
    return SqsStepQueue(aws.clients, urls=urls)


@pytest.fixture(params=["fake", "local", "sqs"])
def step_queue(request: pytest.FixtureRequest):
    match request.param:
        case "fake":
            return FakeStepQueue()
        case "local":
            return NoStepQueue()
        case _:
            return request.getfixturevalue("bells")


def test_every_bell_can_be_rung(step_queue):
    for step in ("prepare", "notify", "batch"):
        step_queue.send(step, f"{step}_1", tenant_id="tenant_a")
    step_queue.ring(tenant_id="tenant_a", delay_s=0.5)
    step_queue.put_off("arn:aws:sqs:us-east-1:000000000000:unknown", "receipt", delay_s=1.0)


def test_only_where_messages_are_sent_rows_are_claimed_for_them(step_queue):
    assert step_queue.is_used is isinstance(step_queue, SqsStepQueue)


@pytest.mark.parametrize(
    ("step", "body"),
    [("prepare", {"job_id": "x_1"}), ("notify", {"job_id": "x_1"}), ("batch", {"batch_id": "x_1"})],
)
def test_message_names_its_item_and_is_grouped_by_tenant(bells, aws, urls, step, body):
    bells.send(step, "x_1", tenant_id="tenant_a")
    [message] = aws.received(urls[step])
    assert json.loads(message["Body"]) == body
    assert message["Attributes"]["MessageGroupId"] == "tenant_a"


def test_dispatch_is_rung_as_a_whole(bells, aws, urls):
    bells.ring(tenant_id="tenant_a")
    [message] = aws.received(urls["dispatch"])
    assert json.loads(message["Body"]) == {"ring": "dispatch"}


def test_delayed_message_is_not_there_yet(bells, aws, urls):
    bells.send("prepare", "job_1", tenant_id="tenant_a", delay_s=600.2)
    assert aws.received(urls["prepare"]) == []
    delayed = aws.client("sqs").get_queue_attributes(
        QueueUrl=urls["prepare"], AttributeNames=["ApproximateNumberOfMessagesDelayed"]
    )
    assert delayed["Attributes"] == {"ApproximateNumberOfMessagesDelayed": "1"}


def test_delay_is_cut_to_what_a_queue_holds(bells, aws, urls):
    bells.send("notify", "job_1", tenant_id="tenant_a", delay_s=72_000.0)
    assert aws.received(urls["notify"]) == []


def test_message_that_failed_comes_again_when_it_was_put_off_to(bells, aws, urls):
    sqs = aws.client("sqs")
    bells.send("prepare", "job_1", tenant_id="tenant_a")
    arn = sqs.get_queue_attributes(QueueUrl=urls["prepare"], AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    [received] = sqs.receive_message(QueueUrl=urls["prepare"], VisibilityTimeout=360)["Messages"]
    assert aws.received(urls["prepare"]) == []
    bells.put_off(arn, received["ReceiptHandle"], delay_s=0)
    [again] = aws.received(urls["prepare"])
    assert again["MessageId"] == received["MessageId"]


def test_message_that_is_gone_is_put_off_without_an_error(bells, urls):
    bells.put_off(f"arn:aws:sqs:us-east-1:000000000000:{urls['prepare'].rpartition('/')[2]}", "gone", delay_s=1)


def test_queue_that_is_not_there_is_named(aws):
    queue = SqsStepQueue(aws.clients, urls={"prepare": f"{aws.endpoint_url}/000000000000/none"})
    for step in ("prepare", "notify"):
        with pytest.raises(Unavailable) as raised:
            queue.send(step, "job_1", tenant_id="tenant_a")
        assert raised.value.code == "queue_unavailable"


def test_settings_name_the_queues():
    settings = Settings(prepare_queue_url="https://q/p", engine_queue_url="https://q/e")
    assert queue_urls(settings) == {"prepare": "https://q/p", "engine": "https://q/e"}
    assert SqsStepQueue(Clients(), urls=queue_urls(settings)).is_used
