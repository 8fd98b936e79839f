"""What every reader of notices understands; then SageMaker's own."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from services.adapters.aws.notices import SageMakerNotices
from services.adapters.local.notices import PlainNotices
from services.domain import wire
from services.domain.engine import AnswerState, EngineAnswer, EngineEvent
from services.domain.errors import InvalidRequest, Unavailable
from tests.fakes.clock import FakeClock
from tests.fakes.objects import FakeObjectStore
from tests.fakes.sagemaker import BUCKET, FakeSageMaker

ANSWER = EngineAnswer(job_id="job_1", attempt=2, state=AnswerState.SUCCEEDED, facts={"n": 1})
EVENT = EngineEvent(job_id="job_1", attempt=2, sequence=3, stage="render", fraction=0.5)


@pytest.fixture
def sagemaker() -> FakeSageMaker:
    return FakeSageMaker(FakeObjectStore(), FakeClock(), lambda data: data, random.Random(1))


@pytest.fixture
def notices(sagemaker: FakeSageMaker) -> SageMakerNotices:
    return SageMakerNotices(sagemaker, bucket=BUCKET)


@pytest.fixture(params=["local", "sagemaker"])
def reader(request: pytest.FixtureRequest):
    return PlainNotices() if request.param == "local" else request.getfixturevalue("notices")


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


@pytest.mark.parametrize("value", [ANSWER, EVENT])
def test_answers_and_events_are_understood(reader, value):
    kind = "answer" if isinstance(value, EngineAnswer) else "event"
    assert reader.read(json.dumps({"type": kind, kind: wire.to_values(value)})) == value


@pytest.mark.parametrize(
    "body", ["", "{", "[]", "7", '"x"', "{}", '{"type": "answer"}', '{"type": "answer", "answer": 1}']
)
def test_what_is_neither_is_refused(reader, body):
    with pytest.raises(InvalidRequest) as raised:
        reader.read(body)
    assert raised.value.code == "malformed_payload"


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


def test_bucket_that_does_not_answer_lets_the_notice_come_again(aws):
    reader = SageMakerNotices(aws.clients, bucket="not-there-at-all")
    with pytest.raises(Unavailable):
        reader.read(sns(completed(responseParameters={"outputLocation": "s3://not-there-at-all/async/1.out"})))


def test_answer_is_read_from_a_bucket(aws):
    aws.client("s3").put_object(Bucket=aws.bucket, Key="async/1.out", Body=wire.encode(ANSWER))
    location = {"outputLocation": f"s3://{aws.bucket}/async/1.out"}
    reader = SageMakerNotices(aws.clients, bucket=aws.bucket)
    assert reader.read(sns(completed(responseParameters=location))) == ANSWER
    gone = {"outputLocation": f"s3://{aws.bucket}/async/2.out"}
    assert reader.read(sns(completed(responseParameters=gone))).failure.code == "output_missing"


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
