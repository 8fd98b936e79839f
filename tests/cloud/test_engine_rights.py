"""What the credentials of one attempt reach on the deployed stack, whose emulator holds sessions to their policies."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from services.adapters.aws.attempt_session import AttemptSessions
from services.adapters.aws.clients import Clients
from services.domain.engine import EngineKind, EngineRequest
from tests.cloud.stack import Stack

pytestmark = pytest.mark.slow
OURS = EngineRequest(
    kind=EngineKind.VIDEO,
    tenant_id="tenant_01JDV3M0Q8T2A4B6C8D0E2F4G6",
    job_id="job_01JDV3M0Q8T2A4B6C8D0E2F4G6",
    attempt=1,
    storyboard_key="work/tenant_01JDV3M0Q8T2A4B6C8D0E2F4G6/job_01JDV3M0Q8T2A4B6C8D0E2F4G6/storyboard.json",
    deadline_at=datetime(2030, 1, 1, tzinfo=UTC),
)
OTHER_JOB = replace(OURS, job_id="job_01JDV3M0Q8T2A4B6C8D0E2F4G7")
OTHER_TENANT = replace(OURS, tenant_id="tenant_01JDV3M0Q8T2A4B6C8D0E2F4G7")


def key(retention: str, request: EngineRequest, name: str) -> str:
    return f"{retention}/{request.tenant_id}/{request.job_id}/{name}"


@pytest.fixture(scope="module")
def session(stack: Stack) -> boto3.Session:
    """As a worker of ``OURS`` has it; what others own lies there, too."""
    s3 = stack.emulator.client("s3")
    for request in (OURS, OTHER_JOB, OTHER_TENANT):
        for name in (key("work", request, "storyboard.json"), key("result", request, "1/video.mp4")):
            s3.put_object(Bucket=stack.outputs["BucketName"], Key=name, Body=b"of " + request.job_id.encode())
    given = AttemptSessions(
        Clients(),
        role_arn=stack.outputs["EngineAttemptRoleArn"],
        bucket=stack.outputs["BucketName"],
        signing_key_id=stack.outputs["SigningKeyArn"],
    ).credentials(OURS)
    return boto3.Session(given["AccessKeyId"], given["SecretAccessKey"], given["Token"], "us-east-1")


def refused(call: Any, **arguments: Any) -> bool:
    """Whether AWS denies the call; any other failure is none of ours."""
    try:
        call(**arguments)
    except ClientError as error:
        if error.response["Error"]["Code"] not in ("AccessDenied", "AccessDeniedException"):
            raise
        return True
    return False


def test_attempt_reads_and_writes_what_is_its_own(session: boto3.Session, stack: Stack):
    s3, bucket = session.client("s3"), stack.outputs["BucketName"]
    found = s3.get_object(Bucket=bucket, Key=key("work", OURS, "storyboard.json"))
    assert found["Body"].read() == b"of " + OURS.job_id.encode()
    s3.put_object(Bucket=bucket, Key=key("result", OURS, "1/video.mp4"), Body=b"film")
    kms = session.client("kms")
    signed = kms.sign(
        KeyId=stack.outputs["SigningKeyArn"], Message=b"claim", MessageType="RAW", SigningAlgorithm="ECDSA_SHA_256"
    )
    assert signed["Signature"]


@pytest.mark.parametrize("other", [OTHER_JOB, OTHER_TENANT], ids=["another job", "another tenant"])
def test_attempt_reads_and_writes_nothing_of_others(session: boto3.Session, stack: Stack, other: EngineRequest):
    s3, bucket = session.client("s3"), stack.outputs["BucketName"]
    for name in (key("work", other, "storyboard.json"), key("result", other, "1/video.mp4")):
        assert refused(s3.get_object, Bucket=bucket, Key=name), name
        assert refused(s3.put_object, Bucket=bucket, Key=name, Body=b"mine"), name
        assert refused(s3.delete_object, Bucket=bucket, Key=name), name
    untouched = stack.emulator.client("s3").get_object(Bucket=bucket, Key=key("result", other, "1/video.mp4"))
    assert untouched["Body"].read() == b"of " + other.job_id.encode()


def test_attempt_changes_neither_its_order_nor_another_attempt_nor_lists(session: boto3.Session, stack: Stack):
    s3, bucket = session.client("s3"), stack.outputs["BucketName"]
    assert refused(s3.put_object, Bucket=bucket, Key=key("work", OURS, "storyboard.json"), Body=b"")
    assert refused(s3.put_object, Bucket=bucket, Key=key("result", OURS, "2/video.mp4"), Body=b"")
    assert refused(s3.list_objects_v2, Bucket=bucket)


def test_attempt_knows_no_table_and_no_queue(session: boto3.Session, stack: Stack):
    jobs = f"{stack.outputs['TablePrefix']}jobs"
    assert refused(session.client("dynamodb").get_item, TableName=jobs, Key={"id": {"S": OTHER_JOB.job_id}})
    sqs = session.client("sqs")
    assert refused(sqs.receive_message, QueueUrl=stack.outputs["WorkQueueUrl"])
    assert refused(sqs.send_message, QueueUrl=stack.outputs["EngineQueueUrl"], MessageBody="{}")
