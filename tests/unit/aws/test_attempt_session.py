"""An attempt's credentials: what is asked of STS, and what the session may do."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from services.adapters.aws.attempt_session import AttemptSessions
from services.adapters.aws.clients import Clients
from services.domain.errors import Unavailable
from tests.models.serving.test_pool import a_request

ROLE = "arn:aws-cn:iam::123456789012:role/engine"
REQUEST = dataclasses.replace(a_request(), tenant_id="tenant_1", job_id="job_2", attempt=3)


class OneClient(Clients):
    """Hands out the client that a test made."""

    def __init__(self, client: Any) -> None:
        super().__init__()
        self._client = client

    def get(self, service: str) -> Any:
        assert service == self._client.meta.service_model.service_name
        return self._client


@pytest.fixture
def sts() -> Any:
    return boto3.client("sts", region_name="cn-north-1", aws_access_key_id="x", aws_secret_access_key="x")


def test_session_is_asked_for_with_the_policy_of_its_attempt(sts) -> None:
    policy = {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Action": "s3:GetObject",
                "Resource": [
                    "arn:aws-cn:s3:::media/work/tenant_1/job_2/*",
                    "arn:aws-cn:s3:::media/result/tenant_1/job_2/*",
                ],
            },
            {
                "Effect": "Allow",
                "Action": ["s3:PutObject", "s3:AbortMultipartUpload"],
                "Resource": "arn:aws-cn:s3:::media/result/tenant_1/job_2/3/*",
            },
        ],
    }
    ends_at = datetime(2026, 12, 1, 12, tzinfo=UTC)
    given = {"AccessKeyId": "A" * 20, "SecretAccessKey": "S", "SessionToken": "T", "Expiration": ends_at}
    with Stubber(sts) as stub:
        stub.add_response(
            "assume_role",
            {"Credentials": given},
            {
                "RoleArn": ROLE,
                "RoleSessionName": "job_2.3",
                "DurationSeconds": 3600,
                "Policy": json.dumps(policy, separators=(",", ":")),
            },
        )
        credentials = AttemptSessions(OneClient(sts), role_arn=ROLE, bucket="media").credentials(REQUEST)
    assert credentials == {
        "AccessKeyId": "A" * 20,
        "SecretAccessKey": "S",
        "Token": "T",
        "Expiration": "2026-12-01T12:00:00+00:00",
    }


@pytest.mark.parametrize(
    ("key_id", "allowed"),
    [
        ("arn:aws:kms:x:1:key/9", {"Resource": "arn:aws:kms:x:1:key/9"}),
        ("9-8-7", {"Resource": "arn:aws-cn:kms:cn-north-1:123456789012:key/9-8-7"}),
        (
            "alias/label",
            {
                "Resource": "arn:aws-cn:kms:cn-north-1:123456789012:key/*",
                "Condition": {"StringEquals": {"kms:RequestAlias": "alias/label"}},
            },
        ),
    ],
)
def test_session_may_sign_with_the_one_key(sts, key_id: str, allowed: dict[str, Any]) -> None:
    sessions = AttemptSessions(OneClient(sts), role_arn=ROLE, bucket="media", signing_key_id=key_id)
    assert sessions.policy(REQUEST)["Statement"][2:] == [
        {"Effect": "Allow", "Action": ["kms:Sign", "kms:GetPublicKey"], **allowed}
    ]


def test_session_may_read_the_certificate(sts) -> None:
    sessions = AttemptSessions(OneClient(sts), role_arn=ROLE, bucket="media", certificate_secret="chain")
    assert sessions.policy(REQUEST)["Statement"][2:] == [
        {
            "Effect": "Allow",
            "Action": "secretsmanager:GetSecretValue",
            "Resource": "arn:aws-cn:secretsmanager:cn-north-1:123456789012:secret:chain-??????",
        }
    ]


def test_policy_fits_into_a_session_with_the_longest_names(sts) -> None:
    sessions = AttemptSessions(
        OneClient(sts), role_arn=ROLE, bucket="b" * 63, signing_key_id="k" * 36, certificate_secret="s" * 100
    )
    request = dataclasses.replace(REQUEST, tenant_id="tenant_" + "x" * 26, job_id="job_" + "x" * 26)
    assert len(json.dumps(sessions.policy(request), separators=(",", ":"))) < 2048


def test_denied_role_is_told(sts) -> None:
    with Stubber(sts) as stub:
        stub.add_client_error("assume_role", "AccessDenied", http_status_code=403)
        with pytest.raises(Unavailable) as caught:
            AttemptSessions(OneClient(sts), role_arn=ROLE, bucket="media").credentials(REQUEST)
    assert caught.value.code == "aws_denied"
