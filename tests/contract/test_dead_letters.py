"""Dead letters: a look, and the way back; where no queue carries messages, there is nothing to look at."""

from __future__ import annotations

import json
from collections import Counter
from datetime import timedelta
from typing import Any, Protocol

import pytest

from services.adapters.aws.dead_letters import SqsDeadLetters
from services.adapters.local.clock import SystemClock
from services.adapters.local.dead_letters import NoDeadLetters
from services.domain.errors import Unavailable
from services.ports.dead_letters import DeadLetters
from tests.emulator import Aws
from tests.fakes.dead_letters import FakeDeadLetters

Sent = tuple[str, str, str]  # step, body, group


class Queues(Protocol):
    """The queues of prepare and engine, which have dead letters, and of notify, which has none; their other side."""

    letters: DeadLetters

    def put(self, step: str, body: str, group: str = "tenant_a") -> None:
        """A message that was given up."""

    def sent_back(self) -> list[Sent]:
        """What came back into the queues since this was asked last."""

    def break_down(self) -> None: ...


class Fake:
    def __init__(self) -> None:
        self._sent: list[Sent] = []
        self.letters = FakeDeadLetters(SystemClock(), lambda *message: self._sent.append(message))

    def put(self, step: str, body: str, group: str = "tenant_a") -> None:
        self.letters.put(step, body, group=group)

    def sent_back(self) -> list[Sent]:
        sent, self._sent = self._sent, []
        return sent

    def break_down(self) -> None:
        self.letters.is_reachable = False


class Sqs:
    def __init__(self, aws: Aws) -> None:
        self._aws, self._dead = aws, {step: aws.queue(f"{step}-dead") for step in ("prepare", "engine")}
        self._urls = {step: aws.queue(step, **self._redrive(dead)) for step, dead in self._dead.items()}
        self._urls["notify"] = aws.queue("notify")
        self.letters = SqsDeadLetters(aws.clients, urls=self._urls)

    def put(self, step: str, body: str, group: str = "tenant_a") -> None:
        self._aws.client("sqs").send_message(QueueUrl=self._dead[step], MessageBody=body, MessageGroupId=group)

    def sent_back(self) -> list[Sent]:
        return [
            (step, message["Body"], message["Attributes"]["MessageGroupId"])
            for step, url in self._urls.items()
            for message in self._aws.received(url)
        ]

    def break_down(self) -> None:
        for dead in self._dead.values():
            self._aws.client("sqs").delete_queue(QueueUrl=dead)

    def _redrive(self, dead: str) -> dict[str, str]:
        asked = self._aws.client("sqs").get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])
        policy = {"deadLetterTargetArn": asked["Attributes"]["QueueArn"], "maxReceiveCount": 2}
        return {"RedrivePolicy": json.dumps(policy)}


@pytest.fixture(params=["fake", "aws"])
def queues(request: pytest.FixtureRequest) -> Queues:
    return Fake() if request.param == "fake" else Sqs(request.getfixturevalue("aws"))


@pytest.fixture(params=["fake", "local", "aws"])
def empty(request: pytest.FixtureRequest) -> DeadLetters:
    if request.param == "local":
        return NoDeadLetters()
    return Fake().letters if request.param == "fake" else Sqs(request.getfixturevalue("aws")).letters


def body(**values: Any) -> str:
    return json.dumps(values)


def test_where_nothing_was_given_up_nothing_is_listed_or_sent(empty):
    for _ in range(2):
        assert (tuple(empty.list()), empty.replay(limit=5)) == ((), 0)


def test_letters_are_listed_with_what_they_are_about_and_stay(queues):
    queues.put("prepare", body(job_id="job_1"))
    queues.put("engine", body(type="answer", answer={"job_id": "job_2", "detail": "a private text"}))
    queues.put("engine", body(type="event", event={"job_id": "job_3"}))
    queues.put("prepare", body(batch_id="batch_4"))
    notice = body(eventSource="aws:sagemaker", inferenceId="job_5.2", failureReason="a private text")
    queues.put("engine", notice)
    queues.put("engine", body(Type="Notification", Message=notice.replace("job_5", "job_6")))
    for _ in range(2):
        assert {(letter.queue, letter.item_id, letter.reason) for letter in queues.letters.list()} == {
            ("prepare", "job_1", "undelivered"),
            ("engine", "job_2", "undelivered"),
            ("engine", "job_3", "undelivered"),
            ("prepare", "batch_4", "undelivered"),
            ("engine", "job_5", "undelivered"),
            ("engine", "job_6", "undelivered"),
        }
        assert "private" not in repr(queues.letters.list())


@pytest.mark.parametrize(
    "text", ["{", "[]", "7", "{}", "words", '{"type": "answer"}', '{"Message": 7}', '{"job_id": 7}']
)
def test_message_that_cannot_be_read_is_listed_without_an_item_and_sent_back_as_it_was(queues, text):
    queues.put("engine", text)
    assert [(letter.queue, letter.item_id) for letter in queues.letters.list()] == [("engine", "")]
    assert queues.letters.replay() == 1
    assert queues.sent_back() == [("engine", text, "tenant_a")]


def test_letter_tells_when_it_was_sent_and_that_it_was_tried(queues):
    before = SystemClock().now() - timedelta(milliseconds=1)  # SQS keeps whole ones
    queues.put("prepare", body(job_id="job_1"))
    [letter] = queues.letters.list()
    assert before <= letter.at <= SystemClock().now()
    assert letter.num_tries >= 1


def test_list_is_bounded_over_all_queues(queues):
    for number in range(3):
        queues.put("prepare", body(job_id=f"job_{number}"))
        queues.put("engine", body(type="event", event={"job_id": f"job_{number}"}))
    assert [len(queues.letters.list(limit=limit)) for limit in (1, 4, 6, 100)] == [1, 4, 6, 6]


def test_replay_sends_each_message_back_once_to_where_it_came_from_as_it_was(queues):
    put = [("prepare", body(job_id=f"job_{number}"), f"tenant_{number}") for number in range(12)]
    put += [("engine", body(type="answer", answer={"job_id": "job_1", "text": "grün 图"}), "tenant_1")]
    for step, text, group in put:
        queues.put(step, text, group)
    queues.letters.list()  # a look before hides nothing from the way back
    assert queues.letters.replay() == 13
    assert Counter(queues.sent_back()) == Counter(put)
    assert tuple(queues.letters.list()) == ()
    assert queues.letters.replay() == 0
    assert queues.sent_back() == []


def test_replay_is_bounded_over_all_queues_and_the_rest_waits(queues):
    put = [("prepare", body(job_id=f"job_{number}"), "tenant_a") for number in range(3)]
    put += [("engine", body(type="event", event={"job_id": "job_9"}), "tenant_b")]
    for step, text, group in put:
        queues.put(step, text, group)
    assert queues.letters.replay(limit=2) == 2
    first = queues.sent_back()
    assert len(first) == 2
    assert len(queues.letters.list()) == 2
    assert queues.letters.replay(limit=3) == 2
    assert Counter(first + queues.sent_back()) == Counter(put)


def test_queues_that_do_not_answer_are_told(queues):
    queues.put("prepare", body(job_id="job_1"))
    queues.break_down()
    for ask in (queues.letters.list, queues.letters.replay):
        with pytest.raises(Unavailable) as caught:
            ask()
        assert caught.value.code == "queue_unavailable"
