"""What callers are told when AWS cannot be used. No network: answers are put in the place of AWS's."""

from __future__ import annotations

from typing import Any

import boto3
import botocore.exceptions
import pytest
from botocore.stub import Stubber

from services.adapters.aws.clients import Clients, translated
from services.adapters.aws.links import S3Links
from services.adapters.aws.table import Table
from services.domain.errors import ContentRejected, InvalidRequest, SpokesmodelError, Unavailable
from services.domain.object_key import ObjectKey, Retention

KEY = ObjectKey(retention=Retention.UPLOAD, tenant_id="tenant_a", owner_id="upload_1", attempt=0, name="file.png")
SECRET = "arn:aws:iam::123456789012:role/secret-role"


@pytest.fixture
def clients(monkeypatch: pytest.MonkeyPatch) -> Clients:
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    return Clients(boto3.Session(aws_access_key_id="a", aws_secret_access_key="b", region_name="eu-central-1"))


def failing(clients: Clients, code: str, status: int = 400) -> Table:
    stubber = Stubber(clients.get("dynamodb"))
    stubber.add_client_error("get_item", code, f"User {SECRET} is not allowed", status)
    stubber.activate()
    return Table(clients, "spokesmodel-jobs")


@pytest.mark.parametrize(
    ("vendor_code", "status", "code", "retryable"),
    [
        ("ProvisionedThroughputExceededException", 400, "aws_throttled", True),
        ("ThrottlingException", 400, "aws_throttled", True),
        ("RequestLimitExceeded", 400, "aws_throttled", True),
        ("ExpiredTokenException", 400, "aws_credentials", False),
        ("UnrecognizedClientException", 400, "aws_credentials", False),
        ("AccessDeniedException", 400, "aws_denied", False),
        ("ResourceNotFoundException", 400, "store_unavailable", False),
        ("ValidationException", 400, "store_unavailable", False),
        ("InternalServerError", 500, "store_unavailable", True),
        ("ServiceUnavailable", 503, "store_unavailable", True),
    ],
)
def test_refusals_are_told_apart(clients, vendor_code, status, code, retryable):
    with pytest.raises(Unavailable) as caught:
        failing(clients, vendor_code, status).get({"id": "job_1"})
    assert (caught.value.code, caught.value.retryable) == (code, retryable)
    assert vendor_code in caught.value.detail
    assert "spokesmodel-jobs" in caught.value.detail


def test_vendors_message_stays_out_of_ours(clients):
    """It names roles, keys and addresses, and our details reach clients."""
    with pytest.raises(Unavailable) as caught:
        failing(clients, "AccessDeniedException").get({"id": "job_1"})
    assert "arn:" not in caught.value.detail


@pytest.mark.parametrize(
    ("error", "code", "retryable"),
    [
        (botocore.exceptions.NoCredentialsError(), "aws_credentials", False),
        (botocore.exceptions.NoRegionError(), "aws_not_configured", False),
        (botocore.exceptions.ReadTimeoutError(endpoint_url="https://x"), "queue_unavailable", True),
        (botocore.exceptions.ConnectTimeoutError(endpoint_url="https://x"), "queue_unavailable", True),
        (botocore.exceptions.EndpointConnectionError(endpoint_url="https://x"), "queue_unavailable", True),
    ],
)
def test_silence_is_told_apart_from_what_is_not_set_up(error, code, retryable):
    with pytest.raises(Unavailable) as caught, translated("the queue", code="queue_unavailable"):
        raise error
    assert (caught.value.code, caught.value.retryable) == (code, retryable)
    assert caught.value.__cause__ is error


def test_our_own_mistake_is_not_called_an_outage(clients):
    with pytest.raises(botocore.exceptions.ParamValidationError), translated("the queue"):
        clients.get("sqs").send_message(QueueUrl=7)


def test_missing_region_is_named(monkeypatch):
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "no-such-file")
    with pytest.raises(Unavailable, match="AWS_REGION") as caught:
        Clients().get("dynamodb")
    assert caught.value.code == "aws_not_configured"


def test_client_is_made_once_and_bounded_in_time(clients):
    client = clients.get("dynamodb")
    assert clients.get("dynamodb") is client
    config = client.meta.config
    assert config.connect_timeout + config.read_timeout < 10
    assert config.retries["total_max_attempts"] * (config.connect_timeout + config.read_timeout) <= 28
    assert config.retries["mode"] == "standard"


def test_emulators_address_is_honoured(monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:4566")
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    assert Clients().get("s3").meta.endpoint_url == "http://127.0.0.1:4566"


@pytest.mark.parametrize("region", ["us-east-1", "eu-central-1", "ap-southeast-2"])
def test_links_lead_to_the_regions_own_address(monkeypatch, region):
    """The global one redirects requests for new buckets, and a redirected signature is wrong."""
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    session = boto3.Session(aws_access_key_id="a", aws_secret_access_key="b", region_name=region)
    links = S3Links(Clients(session), "bucket")
    for link in (
        links.sign_download(KEY, file_name="a", expires_in_s=60),
        links.sign_upload(KEY, media_type="image/png", size_bytes=1, expires_in_s=60).url,
    ):
        assert link.startswith(f"https://bucket.s3.{region}.amazonaws.com/{KEY}?")


class Recording:
    """A client that keeps what it is asked, and says yes."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []

    def get(self, service: str) -> Recording:
        return self

    def put_item(self, **request: Any) -> dict[str, Any]:
        self.requests.append(request)
        return {}


@pytest.mark.parametrize(
    ("body", "error", "code"),
    [
        ("x" * 409_700, ContentRejected, "record_too_large"),
        ("图" * 140_000, ContentRejected, "record_too_large"),
        ("half a \ud83d", InvalidRequest, "not_utf8"),
    ],
)
def test_what_no_table_can_take_is_refused_by_us(body: str, error: type[SpokesmodelError], code: str):
    recording = Recording()
    with pytest.raises(error) as caught:
        Table(recording, "t").put({"id": "1", "body": body})  # type: ignore[arg-type]
    assert caught.value.code == code
    assert recording.requests == []


def test_largest_record_is_let_through():
    recording = Recording()
    Table(recording, "t").put({"id": "1", "body": "x" * 409_000})  # type: ignore[arg-type]
    assert len(recording.requests) == 1
