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


class Fake:
    """The fake, and what it rang."""

    def __init__(self) -> None:
        self.queue = FakeStepQueue(is_used=True)

    def rung(self) -> list[tuple[str, str, str]]:
        """Step, item ("" for all of them) and tenant of each bell since this was asked last."""
        return [(bell.step, bell.item_id, bell.tenant_id) for bell in self.queue.taken()]

    def break_down(self) -> None:
        self.queue.is_reachable = False


class Sqs:
    def __init__(self, aws: Aws, urls: dict[str, str]) -> None:
        self._aws, self._urls = aws, urls
        self.queue = SqsStepQueue(aws.clients, urls=urls)

    def rung(self) -> list[tuple[str, str, str]]:
        found = []
        for step, url in self._urls.items():
            for message in self._aws.received(url):
                [(name, value)] = json.loads(message["Body"]).items()
                assert name == {"dispatch": "ring", "batch": "batch_id"}.get(step, "job_id")
                found.append((step, "" if name == "ring" else value, message["Attributes"]["MessageGroupId"]))
        return found

    def break_down(self) -> None:
        self.queue = SqsStepQueue(
            self._aws.clients, urls=dict.fromkeys(self._urls, f"{self._aws.endpoint_url}/000000000000/none")
        )


@pytest.fixture(params=["fake", "aws"])
def ringing(request: pytest.FixtureRequest) -> Fake | Sqs:
    if request.param == "fake":
        return Fake()
    return Sqs(request.getfixturevalue("aws"), request.getfixturevalue("urls"))


@pytest.mark.parametrize("step", ["prepare", "notify", "batch"])
def test_bell_names_step_item_and_tenant(ringing, step):
    ringing.queue.send(step, "x_1", tenant_id="tenant_a")
    ringing.queue.send(step, "x_2", tenant_id="tenant_b")
    assert sorted(ringing.rung()) == [(step, "x_1", "tenant_a"), (step, "x_2", "tenant_b")]


def test_dispatch_is_rung_as_a_whole(ringing):
    ringing.queue.ring(tenant_id="tenant_a")
    assert ringing.rung() == [("dispatch", "", "tenant_a")]


def test_bell_that_is_rung_twice_may_be_heard_twice(ringing):
    for _ in range(2):
        ringing.queue.send("prepare", "job_1", tenant_id="tenant_a")
    assert ringing.rung() == [("prepare", "job_1", "tenant_a")] * 2


def test_queue_that_is_not_there_is_told_whatever_is_rung(ringing):
    ringing.break_down()
    for ring in (
        lambda: ringing.queue.send("prepare", "job_1", tenant_id="tenant_a"),
        lambda: ringing.queue.send("notify", "job_1", tenant_id="tenant_a", delay_s=60.0),
        lambda: ringing.queue.ring(tenant_id="tenant_a"),
    ):
        with pytest.raises(Unavailable) as raised:
            ring()
        assert raised.value.code == "queue_unavailable"


def test_putting_off_a_message_that_is_gone_or_of_an_unknown_queue_is_no_error(ringing):
    ringing.queue.put_off("arn:aws:sqs:us-east-1:000000000000:unknown", "receipt", delay_s=1.0)


def test_only_where_messages_are_sent_rows_are_claimed_for_them(ringing):
    assert ringing.queue.is_used


def test_one_machine_takes_every_bell_and_says_that_none_is_used():
    """Its sources look at the rows."""
    queue = NoStepQueue()
    assert not queue.is_used
    queue.send("prepare", "job_1", tenant_id="tenant_a", delay_s=900.0)
    queue.ring(tenant_id="tenant_a")
    queue.put_off("arn:aws:sqs:us-east-1:000000000000:unknown", "receipt", delay_s=1.0)


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


def test_step_without_a_queue_is_named(aws):
    with pytest.raises(Unavailable, match="notify") as raised:
        SqsStepQueue(aws.clients, urls={}).send("notify", "job_1", tenant_id="tenant_a")
    assert raised.value.code == "queue_unavailable"


def test_settings_name_the_queues():
    settings = Settings(prepare_queue_url="https://q/p", engine_queue_url="https://q/e")
    assert queue_urls(settings) == {"prepare": "https://q/p", "engine": "https://q/e"}
    assert SqsStepQueue(Clients(), urls=queue_urls(settings)).is_used
