"""What S3 adds to an object store: links that S3 itself checks, parts, metadata, and other sessions."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import botocore.auth
import httpx
import pytest

from services.adapters.aws.clients import Clients
from services.adapters.aws.objects import S3ObjectStore
from services.domain.errors import InvalidRequest, Unavailable
from services.domain.object_key import ObjectKey, Retention
from tests.emulator import Aws

KEY = ObjectKey(retention=Retention.UPLOAD, tenant_id="tenant_a", owner_id="upload_1", attempt=0, name="file.png")
PNG = b"\x89PNG\r\n\x1a\n" + b"x" * 100


@pytest.fixture
def store(aws: Aws) -> S3ObjectStore:
    return S3ObjectStore(Clients(), aws.bucket)


def send(link, data: bytes = PNG, **headers: str) -> httpx.Response:
    return httpx.request(link.method, link.url, content=data, headers={**link.headers, **headers})


def upload_link(store: S3ObjectStore, expires_in_s: int = 60):
    return store.sign_upload(KEY, media_type="image/png", size_bytes=len(PNG), expires_in_s=expires_in_s)


def test_client_uploads_by_the_link_alone_and_downloads_again(store):
    assert send(upload_link(store)).status_code == 200
    assert store.get(KEY) == PNG
    assert store.head(KEY).media_type == "image/png"
    answer = httpx.get(store.sign_download(KEY, file_name="a.png", expires_in_s=60))
    assert (answer.status_code, answer.content) == (200, PNG)


def test_download_link_serves_ranges(store):
    store.put(KEY, b"0123456789", media_type="video/mp4")
    link = store.sign_download(KEY, file_name="a.mp4", expires_in_s=60)
    answer = httpx.get(link, headers={"Range": "bytes=2-4"})
    assert (answer.status_code, answer.content) == (206, b"234")


@pytest.mark.parametrize(
    ("data", "headers"),
    [
        (PNG + b"more", {"Content-Length": str(len(PNG) + 4)}),
        (PNG[:-1], {"Content-Length": str(len(PNG) - 1)}),
        (PNG, {"Content-Type": "text/html"}),
    ],
)
def test_upload_of_another_size_or_type_is_refused(store, data, headers):
    assert send(upload_link(store), data, **headers).status_code == 403
    assert not store.exists(KEY)


def test_size_and_type_are_signed(store):
    """What S3 checks is what the link names; the emulator's word alone would not prove it."""
    signed = parse_qs(urlsplit(upload_link(store).url).query)["X-Amz-SignedHeaders"]
    assert {"content-length", "content-type", "host"} <= set(signed[0].split(";"))


def test_upload_of_unknown_length_is_refused(store):
    link = upload_link(store)
    answer = httpx.put(link.url, content=iter([PNG]), headers={"Content-Type": "image/png"})
    assert answer.status_code in (403, 411)
    assert not store.exists(KEY)


def test_link_for_one_object_or_method_serves_no_other(store):
    store.put(KEY, PNG, media_type="image/png")
    link = store.sign_download(KEY, file_name="a.png", expires_in_s=60)
    other = link.replace("upload_1", "upload_2")
    assert httpx.get(other).status_code == 403
    assert httpx.put(link, content=b"other").status_code == 403
    assert httpx.delete(link).status_code == 403
    assert store.get(KEY) == PNG


def test_forged_link_is_refused(store):
    store.put(KEY, PNG, media_type="image/png")
    link = store.sign_download(KEY, file_name="a.png", expires_in_s=60)
    forged = link[:-4] + ("0000" if not link.endswith("0000") else "1111")
    assert httpx.get(forged).status_code == 403
    longer = link.replace("X-Amz-Expires=60", "X-Amz-Expires=600000")
    assert longer != link
    assert httpx.get(longer).status_code == 403


def test_expired_link_is_refused(store, monkeypatch):
    store.put(KEY, PNG, media_type="image/png")
    now = botocore.auth.get_current_datetime

    def long_ago(*, remove_tzinfo: bool = True) -> datetime:
        return now(remove_tzinfo=remove_tzinfo) - timedelta(seconds=120)

    monkeypatch.setattr(botocore.auth, "get_current_datetime", long_ago)
    download, upload = store.sign_download(KEY, file_name="a.png", expires_in_s=60), upload_link(store)
    assert httpx.get(download).status_code == 403
    assert send(upload, PNG).status_code == 403


@pytest.mark.parametrize("expires_in_s", [0, 604_801])
def test_lifetime_that_s3_would_refuse_is_refused_at_once(store, expires_in_s):
    with pytest.raises(InvalidRequest) as caught:
        upload_link(store, expires_in_s)
    assert caught.value.code == "out_of_range"


@pytest.mark.parametrize(
    ("file_name", "expected"),
    [
        ("a.png", "inline; filename=\"a.png\"; filename*=UTF-8''a.png"),
        ("小明 ü.png", "inline; filename=\"__ _.png\"; filename*=UTF-8''%E5%B0%8F%E6%98%8E%20%C3%BC.png"),
        ('a"; x="\r\nSet-Cookie: b', "inline; filename=\"a_; x=___Set-Cookie: b\"; "
         "filename*=UTF-8''a%22%3B%20x%3D%22%0D%0ASet-Cookie%3A%20b"),
        ("\ud800.png", "inline; filename=\"_.png\"; filename*=UTF-8''%3F.png"),
        ("", "inline; filename=\"\"; filename*=UTF-8''"),
    ],
)  # fmt: skip
def test_suggested_name_is_the_clients_and_harmless(store, file_name, expected):
    store.put(KEY, PNG, media_type="image/png")
    answer = httpx.get(store.sign_download(KEY, file_name=file_name, expires_in_s=60))
    assert answer.headers["Content-Disposition"] == expected
    assert "Set-Cookie" not in answer.headers


def test_clients_upload_has_no_checksum_and_ours_has(store):
    send(upload_link(store))
    assert store.head(KEY).sha256 is None
    store.put(KEY, PNG, media_type="image/png")
    assert store.head(KEY).sha256 == hashlib.sha256(PNG).hexdigest()


def test_large_file_travels_in_parts_and_keeps_its_facts(aws, tmp_path):
    store = S3ObjectStore(Clients(), aws.bucket, part_bytes=5 * 1024 * 1024)
    data = bytes(range(256)) * 4096 * 11  # 11 MiB: three parts
    (tmp_path / "film.mp4").write_bytes(data)
    info = store.put_file(KEY, tmp_path / "film.mp4", media_type="video/mp4")
    assert info == store.head(KEY)
    assert (info.size_bytes, info.sha256) == (len(data), hashlib.sha256(data).hexdigest())
    assert aws.client("s3").head_object(Bucket=aws.bucket, Key=str(KEY))["ETag"].endswith('-3"')
    with store.local_copy(KEY) as path:
        assert path.read_bytes() == data
    assert store.start_of(KEY, size_bytes=3) == data[:3]


def test_owner_with_more_objects_than_one_answer_lists_is_deleted_whole(store, aws, monkeypatch):
    monkeypatch.setattr("services.adapters.aws.objects._MAX_DELETED_AT_ONCE", 3)
    client = aws.client("s3")
    for number in range(8):
        client.put_object(Bucket=aws.bucket, Key=f"work/tenant_a/job_1/0/frame-{number}", Body=b"")
    client.put_object(Bucket=aws.bucket, Key="work/tenant_a/job_10/0/file", Body=b"")
    assert store.delete_owner("tenant_a", "job_1") == 8
    assert client.list_objects_v2(Bucket=aws.bucket)["KeyCount"] == 1


@pytest.mark.parametrize(("tenant_id", "owner_id"), [("", "job_1"), ("tenant_a", ""), ("tenant_a/job_2", "x")])
def test_prefix_wider_than_an_owner_is_never_deleted(store, tenant_id, owner_id):
    store.put(KEY, PNG, media_type="image/png")
    with pytest.raises(InvalidRequest):
        store.delete_owner(tenant_id, owner_id)
    assert store.exists(KEY)


@pytest.mark.parametrize("media_type", ["image/png\r\nX: y", "图/png", "x" * 121])
def test_media_type_that_is_no_header_is_refused(store, media_type):
    with pytest.raises(InvalidRequest) as caught:
        store.put(KEY, PNG, media_type=media_type)
    assert caught.value.code == "malformed_media_type"


def test_absent_bucket_is_our_fault_and_not_retryable(aws):
    with pytest.raises(Unavailable) as caught:
        S3ObjectStore(Clients(), "no-such-bucket").put(KEY, b"", media_type="image/png")
    assert (caught.value.code, caught.value.retryable) == ("store_unavailable", False)


def test_session_that_may_not_list_can_ask_for_absent_objects(aws):
    """The emulator answers 404 to such a session, policies enforced or not; so S3's own 403 is put in its place."""
    clients = Clients()

    def denied(**_: object):
        from botocore.awsrequest import AWSResponse

        class Raw:
            def stream(self, **_):
                yield b""

        return AWSResponse("http://s3.test", 403, {}, Raw())

    clients.get("s3").meta.events.register("before-send.s3.HeadObject", denied)
    assert not S3ObjectStore(clients, aws.bucket, denied_is_absent=True).exists(KEY)
    with pytest.raises(Unavailable) as caught:
        S3ObjectStore(clients, aws.bucket).exists(KEY)
    assert caught.value.code == "aws_denied"


def test_store_works_with_the_session_it_is_given(aws):
    import boto3

    other = boto3.Session(aws_access_key_id="other", aws_secret_access_key="test", region_name="us-east-1")
    link = S3ObjectStore(Clients(other), aws.bucket).sign_download(KEY, file_name="a", expires_in_s=60)
    assert "X-Amz-Credential=other%2F" in link


def test_broken_off_answer_is_read_again(aws, monkeypatch):
    from botocore.exceptions import IncompleteReadError
    from botocore.response import StreamingBody

    store = S3ObjectStore(Clients(), aws.bucket)
    store.put(KEY, PNG, media_type="image/png")
    whole, failures = StreamingBody.read, [0]

    def read(self, amt=None):
        if failures[0] < 2:
            failures[0] += 1
            raise IncompleteReadError(actual_bytes=1, expected_bytes=2)
        return whole(self, amt)

    monkeypatch.setattr(StreamingBody, "read", read)
    assert store.get(KEY) == PNG
    failures[0] = -100
    with pytest.raises(Unavailable):
        store.get(KEY)
