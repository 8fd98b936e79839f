"""The container as a queue's worker, on the emulator: S3 objects, SQS messages, its own processes."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from models.serving.tasks.noop import Fault, NoopOrder
from services.adapters.aws.clients import Clients
from services.adapters.aws.objects import S3ObjectStore
from services.adapters.aws.work_queue import SqsEngineNotices, SqsWorkQueue
from services.domain.engine import AnswerState, EngineAnswer, EngineEvent, EngineRequest
from services.domain.errors import Unavailable
from services.domain.object_key import ObjectKey, Retention
from services.domain.wire import encode, from_values
from tests.emulator import Aws
from tests.models.serving.test_pool import a_request, answer_of
from tests.waiting import until


class Cloud:
    """What surrounds the container: its bucket, its queues."""

    def __init__(self, aws: Aws) -> None:
        self.aws = aws
        dead_url = aws.queue("work-dead")
        dead_arn = aws.client("sqs").get_queue_attributes(QueueUrl=dead_url, AttributeNames=["QueueArn"])
        redrive = {"deadLetterTargetArn": dead_arn["Attributes"]["QueueArn"], "maxReceiveCount": "2"}
        self.work_url = aws.queue("work", RedrivePolicy=json.dumps(redrive), VisibilityTimeout="30")
        self.dead_url = dead_url
        self.engine_url = aws.queue("engine")
        self.store = S3ObjectStore(Clients(), aws.bucket)
        self.heard: list[dict[str, Any]] = []

    def send(self, request: EngineRequest | str) -> None:
        body = request if isinstance(request, str) else encode(request).decode()
        self.aws.client("sqs").send_message(QueueUrl=self.work_url, MessageBody=body)

    def order(self, order: NoopOrder, *, time_left: timedelta = timedelta(minutes=5)) -> EngineRequest:
        request = dataclasses.replace(a_request(), deadline_at=datetime.now(UTC) + time_left)
        key = ObjectKey(
            retention=Retention.WORK,
            tenant_id=request.tenant_id,
            owner_id=request.job_id,
            attempt=0,
            name="storyboard.json",
        )
        self.store.put(key, encode(order), media_type="application/json")
        return dataclasses.replace(request, storyboard_key=str(key))

    def answer(self, request: EngineRequest) -> EngineAnswer:
        found: list[EngineAnswer] = []

        def look() -> bool:
            self.heard += [json.loads(message["Body"]) for message in self.aws.received(self.engine_url)]
            answers = [from_values(EngineAnswer, body["answer"]) for body in self.heard if body["type"] == "answer"]
            found[:] = [answer for answer in answers if answer.job_id == request.job_id]
            return bool(found)

        until(look, 60)
        return found[0]

    def num_waiting(self, queue_url: str) -> tuple[int, int]:
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        values = self.aws.client("sqs").get_queue_attributes(QueueUrl=queue_url, AttributeNames=names)["Attributes"]
        return int(values[names[0]]), int(values[names[1]])


@pytest.fixture
def cloud(aws: Aws) -> Cloud:
    return Cloud(aws)


@pytest.fixture
def start(cloud: Cloud, tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    started: list[subprocess.Popen[bytes]] = []

    def make(*options: str, **settings: str) -> subprocess.Popen[bytes]:
        environment = os.environ | {
            "SPOKESMODEL_PROFILE": "aws",
            "SPOKESMODEL_BUCKET": cloud.aws.bucket,
            "SPOKESMODEL_WORK_QUEUE_URL": cloud.work_url,
            "SPOKESMODEL_ENGINE_QUEUE_URL": cloud.engine_url,
            **settings,
        }
        command = [sys.executable, "-m", "models.serving", "--work-queue", "--host", "127.0.0.1", "--port", "0"]
        command += ["--engines", "noop", "--with-parent", "--scratch-dir", str(tmp_path / "scratch"), *options]
        process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        started.append(process)
        return process

    yield make
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("role_arn", ["", "arn:aws:iam::000000000000:role/engine-attempt"])
def test_message_becomes_output_events_and_answer(start, cloud: Cloud, role_arn: str) -> None:
    request = cloud.order(NoopOrder(duration_s=2.5))
    cloud.send(request)
    start(SPOKESMODEL_ENGINE_ROLE_ARN=role_arn)
    answer = cloud.answer(request)
    assert answer.failure is None
    assert answer.state is AnswerState.SUCCEEDED
    assert cloud.store.get(ObjectKey.parse(answer.outputs[0].key)) == b'{"slept_s": 2.5}'
    events = [from_values(EngineEvent, body["event"]) for body in cloud.heard if body["type"] == "event"]
    assert [event.sequence for event in events] == [0, 1]
    until(lambda: cloud.num_waiting(cloud.work_url) == (0, 0))


def test_breaking_attempts_are_answered_and_a_good_one_follows(start, cloud: Cloud) -> None:
    requests = [
        cloud.order(NoopOrder(fault=Fault.SEGFAULT)),
        cloud.order(NoopOrder(fault=Fault.ALLOCATE)),
        cloud.order(NoopOrder(fault=Fault.HANG), time_left=timedelta(seconds=6)),
        cloud.order(NoopOrder()),
    ]
    for request in requests:
        cloud.send(request)
    start(SPOKESMODEL_ENGINE_MEMORY_BYTES=str(1024**3))
    failures = [cloud.answer(request).failure for request in requests]
    assert [failure and failure.code for failure in failures] == [
        "engine_lost",
        "memory_exceeded",
        "deadline_exceeded",
        None,
    ]


def test_what_cannot_be_read_goes_to_the_dead_letters_and_work_goes_on(start, cloud: Cloud) -> None:
    cloud.send("no request")
    request = cloud.order(NoopOrder())
    cloud.send(request)
    start()
    assert cloud.answer(request).state is AnswerState.SUCCEEDED
    dead: list[Any] = []
    until(lambda: bool(dead.extend(cloud.aws.received(cloud.dead_url)) or dead), 40)
    assert [message["Body"] for message in dead] == ["no request"]


def test_stopped_container_leaves_its_attempt_to_another(start, cloud: Cloud, tmp_path: Path) -> None:
    request = cloud.order(NoopOrder(duration_s=600))
    cloud.send(request)
    first = start("--grace-s", "0.5")
    until(lambda: bool(list((tmp_path / "scratch").glob("worker-0/attempt-*"))), 30)
    first.send_signal(signal.SIGTERM)
    assert first.wait(20) == 0
    assert cloud.num_waiting(cloud.work_url) == (1, 0)
    assert not [body for body in cloud.heard if body["type"] == "answer"]
    cloud.store.put(request.cancel_key(), b"", media_type="text/plain")  # so that the second one is quick
    start()
    assert cloud.answer(request).state is AnswerState.CANCELED


def test_attempt_that_was_run_before_is_run_again_and_overwrites_the_same(start, cloud: Cloud) -> None:
    request = cloud.order(NoopOrder())
    start()
    outputs = []
    for _ in range(2):
        cloud.send(request)
        cloud.heard.clear()
        outputs.append(cloud.answer(request).outputs)
    assert outputs[0] == outputs[1]


def test_messages_hidden_kept_and_given_back(cloud: Cloud) -> None:
    queue = SqsWorkQueue(Clients(), cloud.work_url, visibility_s=1)
    assert queue.receive(wait_s=0) is None
    cloud.send("one")
    message = queue.receive(wait_s=1)
    assert message is not None
    assert message.body == "one"
    assert queue.receive(wait_s=0) is None
    queue.give_back(message)
    again = queue.receive(wait_s=1)
    assert again is not None
    queue.keep(again)
    queue.finish(again)
    assert cloud.num_waiting(cloud.work_url) == (0, 0)


def test_queue_that_is_not_there_is_unavailable_and_events_are_lost_quietly(cloud: Cloud) -> None:
    gone = cloud.engine_url + "-not"
    with pytest.raises(Unavailable) as caught:
        SqsEngineNotices(Clients(), gone).answer(answer_of(a_request()))
    assert caught.value.code == "queue_unavailable"
    SqsEngineNotices(Clients(), gone).emit(
        EngineEvent(job_id="job_1", attempt=1, sequence=0, stage="rendering", fraction=0.5)
    )
