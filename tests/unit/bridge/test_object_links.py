"""``/objects/...``: signed links on one machine."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import anyio
import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from services.adapters.local.links import LinkSigner
from services.adapters.local.objects import FileObjectStore
from services.domain.errors import Forbidden
from services.domain.object_key import ObjectKey, Retention
from services.settings import Settings
from spokesmodel.object_links import object_routes
from tests.fakes.clock import FakeClock
from tests.fakes.world import World

DATA = bytes(range(256)) * 40
KEY = ObjectKey(retention=Retention.RESULT, tenant_id="tenant_a", owner_id="job_1", attempt=1, name="video.mp4")
OTHER = replace(KEY, owner_id="job_2")


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def objects(tmp_path: Path, clock: FakeClock) -> FileObjectStore:
    signer = LinkSigner(secret="s" * 32, public_url="http://testserver", clock=clock)
    return FileObjectStore(tmp_path / "objects", links=signer)


@pytest.fixture
def client(tmp_path: Path, objects: FileObjectStore):
    services = replace(World(Settings(state_dir=tmp_path)).services, objects=objects)
    with TestClient(Starlette(routes=object_routes(services))) as made:
        yield made


@pytest.fixture
def link(objects: FileObjectStore) -> str:
    objects.put(KEY, DATA, media_type="video/mp4")
    return objects.sign_download(KEY, file_name="job_1-video.mp4", expires_in_s=60)


def upload(objects: FileObjectStore, size_bytes: int = len(DATA), media_type: str = "image/png"):
    return objects.sign_upload(KEY, media_type=media_type, size_bytes=size_bytes, expires_in_s=60)


def test_link_reads_the_whole_object(client, link):
    answer = client.get(link)
    assert (answer.status_code, answer.content) == (200, DATA)
    assert answer.headers["content-type"] == "video/mp4"
    assert answer.headers["content-length"] == str(len(DATA))
    assert answer.headers["accept-ranges"] == "bytes"
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "job_1-video.mp4" in answer.headers["content-disposition"]


def test_link_tells_size_and_type_without_the_bytes(client, link):
    answer = client.head(link)
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-length"] == str(len(DATA))


@pytest.mark.parametrize("method", ["DELETE", "POST", "PATCH", "BREW"])
def test_other_methods_are_a_problem_that_names_those_there_are(client, link, method):
    answer = client.request(method, link)
    assert (answer.status_code, answer.headers["content-type"]) == (405, "application/problem+json")
    assert answer.headers["allow"] == "GET, HEAD, PUT"
    document = answer.json()
    assert (document["code"], document["request_id"]) == ("method_not_allowed", answer.headers["x-request-id"])
    assert client.get(link).content == DATA


@pytest.mark.parametrize(
    ("asked", "first", "last"),
    [("bytes=0-99", 0, 99), ("bytes=100-", 100, len(DATA) - 1), ("bytes=-10", len(DATA) - 10, len(DATA) - 1)],
)
def test_players_read_ranges(client, link, asked, first, last):
    answer = client.get(link, headers={"Range": asked})
    assert (answer.status_code, answer.content) == (206, DATA[first : last + 1])
    assert answer.headers["content-range"] == f"bytes {first}-{last}/{len(DATA)}"


def test_range_beyond_the_end_is_refused(client, link):
    assert client.get(link, headers={"Range": f"bytes={len(DATA)}-"}).status_code == 416


def test_nothing_of_a_read_stays_behind(client, link, tmp_path):
    client.get(link)
    client.get(link, headers={"Range": "bytes=0-9"})
    assert list((tmp_path / "objects" / ".scratch").iterdir()) == []


@pytest.mark.parametrize(
    "spoil",
    [
        lambda link: link.replace("job_1/1", "job_2/1"),
        lambda link: link.replace("filename=job_1", "filename=job_2"),
        lambda link: link.replace("expires=", "expires=9"),
        lambda link: link[:-1] + ("A" if link[-1] != "A" else "B"),
        lambda link: link.partition("&signature")[0],
        lambda link: link.partition("?")[0],
        lambda link: link.replace("signature=", "signature=%C3%A4"),
    ],
)
def test_changed_link_is_refused(client, objects, link, spoil):
    objects.put(OTHER, b"other", media_type="video/mp4")
    answer = client.get(spoil(link))
    assert (answer.status_code, answer.json()["code"]) == (403, "link_invalid")
    assert answer.headers["content-type"] == "application/problem+json"


def test_expired_link_is_refused(client, clock, link):
    clock.advance(61)
    answer = client.get(link)
    assert (answer.status_code, answer.json()["code"]) == (403, "link_expired")


def test_link_to_a_deleted_object_is_404(client, objects, link):
    objects.delete_owner("tenant_a", "job_1")
    assert client.get(link).status_code == 404


def test_link_to_read_does_not_write_and_the_other_way_round(client, objects, link):
    assert client.put(link, content=b"x").status_code == 403
    assert client.get(upload(objects).url).status_code == 403
    assert objects.get(KEY) == DATA


def test_upload_stores_exactly_what_was_permitted(client, objects):
    signed = upload(objects)
    answer = client.request(signed.method, signed.url, content=DATA, headers=signed.headers)
    assert answer.status_code == 200
    assert objects.get(KEY) == DATA
    info = objects.head(KEY)
    assert (info.size_bytes, info.media_type) == (len(DATA), "image/png")
    assert answer.headers["etag"].strip('"') == info.sha256 == hashlib.sha256(DATA).hexdigest()
    assert answer.headers["access-control-allow-origin"] == "*"


def test_upload_that_finds_no_place_may_be_sent_again(client, objects, tmp_path):
    signed = upload(objects)
    (tmp_path / "incoming").rmdir()  # any error of the file system, as of a full disk
    answer = client.request(signed.method, signed.url, content=DATA, headers=signed.headers)
    assert (answer.status_code, answer.json()["code"], answer.json()["retryable"]) == (503, "store_unavailable", True)
    (tmp_path / "incoming").mkdir()
    assert client.request(signed.method, signed.url, content=DATA, headers=signed.headers).status_code == 200


@pytest.mark.parametrize("content", [DATA[:-1], DATA + b"x", b""])
def test_upload_of_another_size_is_refused_and_nothing_is_stored(client, objects, tmp_path, content):
    signed = upload(objects)
    answer = client.put(signed.url, content=content, headers={"Content-Type": "image/png"})
    assert (answer.status_code, answer.json()["code"]) == (400, "wrong_size")
    chunked = client.put(
        signed.url, content=iter([content[:100], content[100:]]), headers={"Content-Type": "image/png"}
    )
    assert (chunked.status_code, chunked.json()["code"]) == (400, "wrong_size")
    assert not objects.exists(KEY)
    assert list((tmp_path / "incoming").iterdir()) == []


def test_upload_without_an_announced_size_is_taken_when_it_is_right(client, objects):
    signed = upload(objects)
    answer = client.put(signed.url, content=iter([DATA[:5000], DATA[5000:]]), headers={"Content-Type": "image/png"})
    assert answer.status_code == 200
    assert objects.get(KEY) == DATA


@pytest.mark.parametrize("media_type", ["image/jpeg", "text/html", None])
def test_upload_of_another_type_is_refused(client, objects, media_type):
    headers = {} if media_type is None else {"Content-Type": media_type}
    answer = client.put(upload(objects).url, content=DATA, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")
    assert not objects.exists(KEY)


def test_browsers_may_ask_before_they_send(client, objects):
    answer = client.options(upload(objects).url, headers={"Origin": "https://app.example"})
    assert answer.status_code == 204
    assert "PUT" in answer.headers["access-control-allow-methods"]
    assert answer.headers["access-control-allow-origin"] == "*"


@pytest.mark.parametrize("name", ['小明\'s "best" video.mp4', "a\r\nSet-Cookie: x=1", "é.mp4"])
def test_suggested_names_are_safe_whatever_they_hold(client, objects, link, name):
    answer = client.get(objects.sign_download(KEY, file_name=name, expires_in_s=60))
    assert answer.status_code == 200
    assert "set-cookie" not in answer.headers
    assert answer.headers["content-disposition"].isascii()


@pytest.mark.parametrize("path", ["/objects/../api.sqlite", "/objects/%2e%2e/secret", "/objects/result", "/objects/"])
def test_paths_outside_are_never_served(client, path):
    assert client.get(path).status_code in (403, 404)


def test_signature_does_not_confuse_neighbouring_fields(objects):
    link = objects.sign_download(KEY, file_name="a", expires_in_s=60)
    query = {name: values[0] for name, values in parse_qs(urlsplit(link).query).items()}
    joined = {**query, "expires": query["expires"] + "&filename=a", "filename": ""}
    with pytest.raises(Forbidden):
        objects.verify_signature("GET", str(KEY), joined)


def test_client_that_drops_in_the_middle_leaves_nothing(tmp_path, objects):
    services = replace(World(Settings(state_dir=tmp_path)).services, objects=objects)
    app = Starlette(routes=object_routes(services))
    url = urlsplit(upload(objects).url)
    messages = [{"type": "http.request", "body": DATA[:100], "more_body": True}, {"type": "http.disconnect"}]
    headers = [(b"content-type", b"image/png"), (b"content-length", str(len(DATA)).encode())]
    scope = {
        "type": "http",
        "method": "PUT",
        "path": url.path,
        "query_string": url.query.encode(),
        "headers": headers,
    }

    async def receive():
        return messages.pop(0)

    sent = []

    async def send(message):
        sent.append(message)

    anyio.run(app, scope, receive, send)
    assert sent[0]["status"] == 503
    assert not objects.exists(KEY)
    assert list((tmp_path / "incoming").iterdir()) == []
