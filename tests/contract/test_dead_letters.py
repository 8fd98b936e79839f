"""Dead letters: a look, and the way back."""

from __future__ import annotations

import json

import pytest

from services.adapters.aws.dead_letters import SqsDeadLetters
from services.adapters.local.dead_letters import NoDeadLetters


@pytest.fixture
def queues(aws):
    """A step's queue, its dead letters, and the adapter over them; a second queue has none."""
    dead = aws.queue("prepare-dead")
    arn = aws.client("sqs").get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    source = aws.queue("prepare", RedrivePolicy=json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 2}))
    urls = {"prepare": source, "notify": aws.queue("notify")}
    return source, dead, SqsDeadLetters(aws.clients, urls=urls)


def put(aws, dead, body, group="tenant_a"):
    text = body if isinstance(body, str) else json.dumps(body)
    aws.client("sqs").send_message(QueueUrl=dead, MessageBody=text, MessageGroupId=group)


def test_letters_are_listed_and_stay(aws, queues):
    _, dead, letters = queues
    put(aws, dead, {"job_id": "job_1"})
    put(aws, dead, {"type": "answer", "answer": {"job_id": "job_2", "detail": "a private text"}})
    put(aws, dead, "{")
    for _ in range(2):
        found = letters.list()
        assert sorted(letter.item_id for letter in found) == ["", "job_1", "job_2"]
        assert {(letter.queue, letter.reason) for letter in found} == {("prepare", "undelivered")}
        assert "private" not in repr(found)


def test_list_is_bounded(aws, queues):
    _, dead, letters = queues
    for number in range(3):
        put(aws, dead, {"job_id": f"job_{number}"})
    assert len(letters.list(limit=2)) == 2


def test_replay_sends_each_message_back_as_it_was(aws, queues):
    source, dead, letters = queues
    for number in range(12):
        put(aws, dead, {"job_id": f"job_{number}"}, group=f"tenant_{number}")
    assert letters.replay() == 12
    back = aws.received(source)
    assert sorted(json.loads(message["Body"])["job_id"] for message in back) == sorted(f"job_{n}" for n in range(12))
    assert aws.received(dead) == []
    groups = {message.get("Attributes", {}).get("MessageGroupId") for message in back}
    assert groups == {f"tenant_{n}" for n in range(12)}


def test_replay_is_bounded(aws, queues):
    source, dead, letters = queues
    for number in range(3):
        put(aws, dead, {"job_id": f"job_{number}"})
    assert letters.replay(limit=2) == 2
    assert (len(aws.received(source)), len(aws.received(dead))) == (2, 1)


def test_one_machine_has_none():
    assert (NoDeadLetters().list(), NoDeadLetters().replay()) == ((), 0)
