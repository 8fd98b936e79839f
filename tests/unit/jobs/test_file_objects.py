"""What the folder of objects looks like, and what killed writers leave there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from services.adapters.local.links import LinkSigner
from services.adapters.local.objects import FileObjectStore
from services.domain.errors import Forbidden, InvalidRequest, Unavailable
from services.domain.object_key import ObjectKey
from tests.fakes.clock import FakeClock

KEY = ObjectKey.parse("result/tenant_a/job_1/1/video.mp4")


@pytest.fixture
def store(tmp_path):
    links = LinkSigner(secret="s" * 32, public_url="http://127.0.0.1:8000", clock=FakeClock())
    return FileObjectStore(tmp_path / "objects", links=links)


def files(tmp_path):
    return [path for path in (tmp_path / "objects").rglob("*") if path.is_file() and not path.is_symlink()]


def test_object_can_be_opened_at_its_key(store, tmp_path):
    store.put(KEY, b"film", media_type="video/mp4")
    assert (tmp_path / "objects" / str(KEY)).read_bytes() == b"film"


def test_folder_copied_elsewhere_is_the_same_store(store, tmp_path):
    store.put(KEY, b"film", media_type="video/mp4")
    (tmp_path / "objects").rename(tmp_path / "moved")
    links = LinkSigner(secret="s" * 32, public_url="http://127.0.0.1:8000", clock=FakeClock())
    moved = FileObjectStore(tmp_path / "moved", links=links)
    assert moved.get(KEY) == b"film"
    assert moved.head(KEY).media_type == "video/mp4"


def test_replaced_bytes_take_no_space(store, tmp_path):
    for number in range(5):
        store.put(KEY, b"film" * (number + 1), media_type="video/mp4")
    assert len(files(tmp_path)) == 1


def test_copy_shares_the_bytes(store, tmp_path):
    store.put(KEY, b"film", media_type="video/mp4")
    store.copy(KEY, ObjectKey.parse("work/tenant_a/job_2/0/source.mp4"))
    assert len({path.stat().st_ino for path in files(tmp_path)}) == 1


def test_writer_that_fails_leaves_the_old_object_and_no_scrap(store, tmp_path, monkeypatch):
    store.put(KEY, b"old", media_type="video/mp4")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Unavailable) as raised:
        store.put(KEY, b"new", media_type="video/mp4")
    assert raised.value.code == "store_unavailable"
    assert store.get(KEY) == b"old"
    assert len(files(tmp_path)) == 1


def test_leftovers_of_killed_writers_are_removed_when_old(store, tmp_path):
    scratch = tmp_path / "objects" / ".scratch"
    (scratch / "half-written").write_bytes(b"fi")
    (scratch / "folder").mkdir()
    (scratch / "folder" / "copy.mp4").write_bytes(b"fi")
    assert store.remove_scratch(older_than_s=60) == 0
    assert store.remove_scratch(older_than_s=-1) == 2
    assert not list(scratch.iterdir())


def test_copies_of_a_killed_process_do_not_outlive_it(store, tmp_path):
    store.put(KEY, b"a face", media_type="video/mp4")
    holding = "import sys; sys.stdin.read()"
    with (
        subprocess.Popen([sys.executable, "-c", holding], stdin=subprocess.PIPE) as other,
        store.local_copy(KEY) as own,
    ):
        left = own.parent.with_name(f"{other.pid}-01JDV3M0Q8T2A4B6C8D0E2F4G6")  # as if the other had made it
        shutil.copytree(own.parent, left)
        assert store.remove_copies_of_the_dead() == 0
        other.kill()
        other.wait()
        assert store.remove_copies_of_the_dead() == 1
        assert not left.exists()
        assert own.read_bytes() == b"a face"

        shutil.copytree(own.parent, left)
        assert store.remove_copies_of(other.pid) == 1
        assert not left.exists()
        assert own.exists()
    assert store.get(KEY) == b"a face"


def test_links_of_the_store_are_checked_by_it(store):
    from urllib.parse import parse_qsl, urlsplit

    query = dict(parse_qsl(urlsplit(store.sign_download(KEY, file_name="a.mp4", expires_in_s=60)).query))
    assert store.verify_signature("GET", str(KEY), query).key == KEY
    with pytest.raises(Forbidden):
        store.verify_signature("GET", str(KEY).replace("job_1", "job_2"), query)


def test_endless_media_type_is_refused(store):
    with pytest.raises(InvalidRequest):
        store.put(KEY, b"", media_type="x/" + "y" * 200)
