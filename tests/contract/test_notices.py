"""What every reader of notices understands; then SageMaker's own."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from services.adapters.aws.notices import SageMakerNotices
from services.adapters.local.notices import PlainNotices
from services.domain import wire
from services.domain.engine import AnswerState, EngineAnswer, EngineEvent, Failure, Output
from services.domain.errors import InvalidRequest, Unavailable
from services.ports.notices import NoticeReader
from tests.fakes.clock import FakeClock
from tests.fakes.notices import FakeNotices
from tests.fakes.objects import FakeObjectStore
from tests.fakes.sagemaker import BUCKET, FakeSageMaker

ANSWER = EngineAnswer(job_id="job_1", attempt=2, state=AnswerState.SUCCEEDED, facts={"n": 1})
EVENT = EngineEvent(job_id="job_1", attempt=2, sequence=3, stage="render", fraction=0.5)
OUTPUT = Output(name="video", key="result/t/job_1/2/film 图.mp4", media_type="video/mp4", size_bytes=7, sha256="ab")
ANSWERS = [
    ANSWER,
    replace(
        ANSWER, outputs=(OUTPUT, replace(OUTPUT, name="poster")), usage={"output_s": 1.5}, facts={"名": ["ü", None]}
    ),
    replace(ANSWER, state=AnswerState.CANCELED),
    replace(ANSWER, state=AnswerState.FAILED, failure=Failure(code="face_not_found", detail="No face.")),
    replace(ANSWER, state=AnswerState.FAILED, failure=Failure(code="out_of_memory", detail="Full.", retryable=True)),
]


@pytest.fixture
def sagemaker() -> FakeSageMaker:
    return FakeSageMaker(FakeObjectStore(), FakeClock(), lambda data: data, random.Random(1))


@pytest.fixture
def notices(sagemaker: FakeSageMaker) -> SageMakerNotices:
    return SageMakerNotices(sagemaker, bucket=BUCKET)


class Engine:
    """A reader of notices, and the engine at the other end, which sends all that it says as a message."""

    def __init__(self, reader: NoticeReader) -> None:
        self.reader = reader

    def answers(self, answer: EngineAnswer) -> str:
        """The message that brings ``answer``."""
        return plain(answer)


class Endpoint(Engine):
    """SageMaker, which leaves the answer as an object and sends where it lies."""

    def __init__(self, reader: NoticeReader, bucket: str, put: Callable[[str, bytes], object]) -> None:
        super().__init__(reader)
        self._bucket, self._put = bucket, put

    def answers(self, answer: EngineAnswer) -> str:
        self._put("async/of-the-suite.out", wire.encode(answer))
        location = {"outputLocation": f"s3://{self._bucket}/async/of-the-suite.out"}
        return sns(completed(inferenceId=f"{answer.job_id}.{answer.attempt}", responseParameters=location))


@pytest.fixture(params=["fake", "local", "aws, our container", "aws, an endpoint", "aws, an endpoint and a bucket"])
def engine(request: pytest.FixtureRequest, sagemaker: FakeSageMaker, notices: SageMakerNotices) -> Engine:
    match request.param:
        case "fake":
            return Engine(FakeNotices())
        case "local":
            return Engine(PlainNotices())
        case "aws, our container":
            return Engine(notices)
        case "aws, an endpoint":
            return Endpoint(notices, BUCKET, sagemaker.outputs.__setitem__)
        case _:
            aws = request.getfixturevalue("aws")
            put = lambda key, data: aws.client("s3").put_object(Bucket=aws.bucket, Key=key, Body=data)  # noqa: E731
            return Endpoint(SageMakerNotices(aws.clients, bucket=aws.bucket), aws.bucket, put)


def plain(value: EngineAnswer | EngineEvent) -> str:
    kind = "answer" if isinstance(value, EngineAnswer) else "event"
    return json.dumps({"type": kind, kind: wire.to_values(value)})


def sns(message: Any) -> str:
    return json.dumps({"Type": "Notification", "TopicArn": "arn", "Message": json.dumps(message)})


def completed(**changes: Any) -> dict[str, Any]:
    return {
        "eventSource": "aws:sagemaker",
        "eventName": "InferenceResult",
        "inferenceId": "job_1.2",
        "invocationStatus": "Completed",
        "requestParameters": {"endpointName": "e", "inputLocation": f"s3://{BUCKET}/work/t/job_1/2/request.json"},
        "responseParameters": {"contentType": "application/json", "outputLocation": f"s3://{BUCKET}/async/1.out"},
        **changes,
    }


@pytest.mark.parametrize("answer", ANSWERS)
def test_answer_is_read_whole_however_often_its_message_comes(engine, answer):
    message = engine.answers(answer)
    assert [engine.reader.read(message) for _ in range(2)] == [answer, answer]


@pytest.mark.parametrize("value", [EVENT, replace(EVENT, fraction=1.0, stage="encode"), *ANSWERS])
def test_what_workers_send_themselves_is_understood_everywhere(engine, value):
    assert engine.reader.read(plain(value)) == value


@pytest.mark.parametrize(
    "body",
    [
        *("", "{", "[]", "7", '"x"', "{}", '{"type": "answer"}', '{"type": "answer", "answer": 1}'),
        '{"type": "event", "event": {"job_id": "job_1"}}',
        '{"type": "another", "answer": {}}',
        '{"type": "answer", "answer": {"job_id": "job_1", "attempt": "two", "state": "succeeded"}}',
        '{"type": "answer", "answer": {"job_id": "job_1", "attempt": 2, "state": "well"}}',
        '{"job_id": "job_1"}',
    ],
)
def test_what_is_neither_answer_nor_event_is_refused(engine, body):
    with pytest.raises(InvalidRequest) as raised:
        engine.reader.read(body)
    assert raised.value.code == "malformed_payload"


@pytest.fixture(params=["fake", "aws"])
def away(request: pytest.FixtureRequest) -> tuple[NoticeReader, str]:
    """A reader whose answers cannot be had just now, and a message about one; local ones come with their message."""
    if request.param == "fake":
        reader = FakeNotices()
        reader.is_reachable = False
        return reader, plain(ANSWER)
    location = {"outputLocation": "s3://not-there-at-all/async/1.out"}
    aws = request.getfixturevalue("aws")
    return SageMakerNotices(aws.clients, bucket="not-there-at-all"), sns(completed(responseParameters=location))


def test_answer_that_cannot_be_read_just_now_lets_its_message_come_again_and_progress_goes_on(away):
    reader, message = away
    with pytest.raises(Unavailable):
        reader.read(message)
    assert reader.read(plain(EVENT)) == EVENT


def test_answer_is_read_from_where_the_endpoint_put_it(notices, sagemaker):
    sagemaker.outputs["async/1.out"] = wire.encode(ANSWER)
    for body in (sns(completed()), json.dumps(completed())):  # the latter with raw delivery
        assert notices.read(body) == ANSWER


def test_failed_invocation_is_a_failure_that_another_attempt_may_mend(notices):
    notice = completed(invocationStatus="Failed", failureReason="secret words of the container", responseParameters={})
    answer = notices.read(sns(notice))
    assert (answer.job_id, answer.attempt, answer.state) == ("job_1", 2, AnswerState.FAILED)
    assert (answer.failure.code, answer.failure.retryable) == ("engine_failed", True)
    assert "secret" not in str(answer)


def test_result_that_is_gone_is_a_failure_that_another_attempt_may_mend(notices):
    answer = notices.read(sns(completed()))
    assert (answer.failure.code, answer.failure.retryable) == ("output_missing", True)


@pytest.mark.parametrize(
    "changes",
    [
        {"inferenceId": "job_1"},
        {"inferenceId": "job_1."},
        {"inferenceId": "job_1.-2"},
        {"inferenceId": "job_1.²"},
        {"inferenceId": ".2"},
        {"inferenceId": 7},
        {"invocationStatus": "Unheard"},
        {"responseParameters": {}},
        {"responseParameters": {"outputLocation": "s3://another-bucket/async/1.out"}},
        {"responseParameters": {"outputLocation": f"s3://{BUCKET}-2/async/1.out"}},
        {"responseParameters": {"outputLocation": f"s3://{BUCKET}/"}},
        {"responseParameters": {"outputLocation": "https://elsewhere.example/1.out"}},
        {"inferenceId": "job_1.3"},
        {"inferenceId": "job_2.2"},
    ],
)
def test_notice_about_nothing_of_ours_is_refused(notices, sagemaker, changes):
    sagemaker.outputs["async/1.out"] = wire.encode(ANSWER)
    with pytest.raises(InvalidRequest) as raised:
        notices.read(sns(completed(**changes)))
    assert raised.value.code == "malformed_payload"


@pytest.mark.parametrize("output", [b"", b"{}", b"<html>", b" " * (1024 * 1024 + 1)])
def test_result_that_is_no_answer_is_refused(notices, sagemaker, output):
    sagemaker.outputs["async/1.out"] = output
    with pytest.raises(InvalidRequest):
        notices.read(sns(completed()))


def test_answer_that_is_gone_from_a_bucket_is_a_failure_that_another_attempt_may_mend(aws):
    gone = {"outputLocation": f"s3://{aws.bucket}/async/2.out"}
    answer = SageMakerNotices(aws.clients, bucket=aws.bucket).read(sns(completed(responseParameters=gone)))
    assert (answer.failure.code, answer.failure.retryable) == ("output_missing", True)


@pytest.mark.parametrize("raw", ["false", "true"])
def test_notice_is_understood_as_a_topic_brings_it_to_a_queue(aws, raw):
    aws.client("s3").put_object(Bucket=aws.bucket, Key="async/1.out", Body=wire.encode(ANSWER))
    url = aws.queue("engine")
    arn = aws.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    topic = aws.topic("success")
    attributes = {"RawMessageDelivery": raw}
    aws.client("sns").subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn, Attributes=attributes)
    notice = completed(responseParameters={"outputLocation": f"s3://{aws.bucket}/async/1.out"})
    aws.client("sns").publish(TopicArn=topic, Message=json.dumps(notice))
    [message] = aws.received(url)
    assert SageMakerNotices(aws.clients, bucket=aws.bucket).read(message["Body"]) == ANSWER
