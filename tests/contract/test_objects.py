"""What every object store does."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from services.adapters.aws.clients import Clients
from services.adapters.aws.objects import S3ObjectStore
from services.adapters.local.links import LinkSigner
from services.adapters.local.objects import FileObjectStore
from services.domain.errors import NotFound
from services.domain.object_key import ObjectKey, Retention
from services.ports.objects import ObjectStore
from tests.fakes.clock import FakeClock
from tests.fakes.objects import FakeObjectStore


@pytest.fixture(params=["fake", "files", "aws"])
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    if request.param == "fake":
        return FakeObjectStore()
    if request.param == "aws":
        return S3ObjectStore(Clients(), request.getfixturevalue("aws").bucket)
    links = LinkSigner(secret="s" * 32, public_url="http://127.0.0.1:8000", clock=FakeClock())
    return FileObjectStore(tmp_path / "objects", links=links)


def key(name: str = "file.png", *, retention: Retention = Retention.WORK, owner: str = "job_1", attempt: int = 0):
    return ObjectKey(retention=retention, tenant_id="tenant_a", owner_id=owner, attempt=attempt, name=name)


@pytest.mark.parametrize("data", [b"", b"\x00\xff" * 5000])
def test_bytes_come_back(objects, data):
    objects.put(key(), data, media_type="image/png")
    assert objects.get(key()) == data
    info = objects.head(key())
    assert (info.size_bytes, info.media_type) == (len(data), "image/png")
    assert info.sha256 == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize(
    "media_type",
    ["text/vtt; charset=utf-8", "image/svg+xml", 'multipart/mixed; boundary="a.b/c"', "application/x.a.b"],
)
def test_media_type_comes_back_exactly(objects, media_type):
    objects.put(key(), b"x", media_type=media_type)
    assert objects.head(key()).media_type == media_type


def test_files_are_stored_with_size_and_checksum(objects, tmp_path):
    path = tmp_path / "a big 图 'file'"
    path.write_bytes(b"frame" * 500_000)
    info = objects.put_file(key(), path, media_type="video/mp4")
    assert info == objects.head(key())
    assert info.sha256 == hashlib.sha256(b"frame" * 500_000).hexdigest()
    assert objects.get(key()) == path.read_bytes()


def test_putting_again_replaces_bytes_type_and_checksum(objects):
    objects.put(key(), b"old", media_type="image/png")
    objects.put(key(), b"newer", media_type="image/jpeg")
    assert objects.get(key()) == b"newer"
    info = objects.head(key())
    assert (info.media_type, info.size_bytes, info.sha256) == (
        "image/jpeg",
        5,
        hashlib.sha256(b"newer").hexdigest(),
    )


def test_absent_object_is_not_found(objects):
    objects.put(key("other"), b"x", media_type="image/png")
    assert not objects.exists(key())
    for call in (
        objects.get,
        objects.head,
        lambda absent: objects.copy(absent, key("copy")),
        lambda absent: objects.start_of(absent, size_bytes=1),
    ):
        with pytest.raises(NotFound) as raised:
            call(key())
        assert raised.value.code == "object_not_found"
    with pytest.raises(NotFound), objects.local_copy(key()):
        pass
    assert not objects.exists(key("copy"))


def test_start_of_an_object_is_read_alone(objects):
    objects.put(key(), b"0123456789", media_type="image/png")
    assert [objects.start_of(key(), size_bytes=size) for size in (0, 4, 99)] == [b"", b"0123", b"0123456789"]


def test_local_copy_has_the_ending_and_the_bytes(objects):
    objects.put(key("voice.wav"), b"sound", media_type="audio/wav")
    with objects.local_copy(key("voice.wav")) as path:
        assert path.suffix == ".wav"
        assert path.read_bytes() == b"sound"
    assert not path.exists()


def test_local_copy_outlives_replacement_and_deletion(objects):
    objects.put(key(), b"first", media_type="image/png")
    with objects.local_copy(key()) as path:
        objects.put(key(), b"second", media_type="image/png")
        objects.delete_owner("tenant_a", "job_1")
        assert path.read_bytes() == b"first"


def test_copy_is_independent_of_its_source(objects):
    source, target = key("face.png", retention=Retention.UPLOAD, owner="upload_1"), key("presenter.png")
    objects.put(source, b"face", media_type="image/png")
    objects.copy(source, target)
    objects.copy(source, target)
    objects.put(source, b"another", media_type="image/gif")
    objects.delete_owner("tenant_a", "upload_1")
    assert objects.get(target) == b"face"
    assert objects.head(target).media_type == "image/png"


def test_object_copied_onto_itself_stays(objects):
    objects.put(key(), b"x", media_type="image/png")
    objects.copy(key(), key())
    assert objects.get(key()) == b"x"


def test_deleting_an_owner_takes_every_class_and_attempt_and_nothing_else(objects):
    mine = [key(), key(retention=Retention.RESULT, attempt=1), key(retention=Retention.RESULT, attempt=2)]
    others = [
        key(owner="job_2"),
        ObjectKey(retention=Retention.WORK, tenant_id="tenant_b", owner_id="job_1", attempt=0, name="file.png"),
    ]
    for one in mine + others:
        objects.put(one, b"x", media_type="image/png")
    objects.put(mine[0], b"y", media_type="image/png")
    assert objects.delete_owner("tenant_a", "job_1") == len(mine)
    assert objects.delete_owner("tenant_a", "job_1") == 0
    assert not any(objects.exists(one) for one in mine)
    assert all(objects.get(one) == b"x" for one in others)


def test_deleting_a_tenant_takes_every_class_and_owner_and_nothing_else(objects):
    mine = [key(), key(owner="job_2"), key(retention=Retention.UPLOAD, owner="upload_1"), key(attempt=3)]
    other = replace(key(), tenant_id="tenant_b")
    for one in (*mine, other):
        objects.put(one, b"x", media_type="image/png")
    assert objects.delete_tenant("tenant_a") == len(mine)
    assert objects.delete_tenant("tenant_a") == 0
    assert not any(objects.exists(one) for one in mine)
    assert objects.get(other) == b"x"


def test_links_name_method_and_file(objects):
    upload = objects.sign_upload(key(), media_type="image/png", size_bytes=7, expires_in_s=60)
    assert upload.method == "PUT"
    assert upload.headers["Content-Type"] == "image/png"
    assert upload.expires_in_s == 60
    assert str(key()) in objects.sign_download(key(), file_name="a.png", expires_in_s=60)


def test_reader_sees_one_whole_object_while_it_is_replaced(objects):
    """Bytes, size and checksum always belong together."""
    versions = [bytes([number]) * (1000 + number) for number in range(60)]
    objects.put(key(), versions[0], media_type="image/png")
    done = threading.Event()

    def write() -> None:
        for data in versions:
            objects.put(key(), data, media_type="image/png")
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    while not done.is_set():
        info = objects.head(key())
        [seen] = [data for data in versions if len(data) == info.size_bytes]
        assert info.sha256 == hashlib.sha256(seen).hexdigest()
        assert objects.get(key()) in versions
    writer.join()
