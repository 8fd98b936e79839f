"""What every upload store does."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from services.adapters.aws.clients import Clients
from services.adapters.aws.uploads import DynamoUploadStore
from services.adapters.local.uploads import SqliteUploadStore
from services.domain.errors import NotFound
from services.ports.uploads import Upload, UploadStore
from tests.fakes.uploads import FakeUploadStore

UPLOAD = Upload(
    id="upload_1",
    tenant_id="tenant_a",
    object_key="upload/tenant_a/upload_1/0/file.png",
    media_type="image/png",
    size_bytes=12,
    file_name='小明\'s "best" photo; rm -rf.png',
    created_at=datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC),
)


@pytest.fixture(params=["fake", "sqlite", "aws"])
def uploads(request: pytest.FixtureRequest, tmp_path: Path) -> UploadStore:
    if request.param == "aws":
        aws = request.getfixturevalue("aws")
        return DynamoUploadStore(Clients(), table_prefix=aws.tables("uploads"), kept=timedelta(days=90))
    return FakeUploadStore() if request.param == "fake" else SqliteUploadStore(tmp_path / "uploads.sqlite")


def test_upload_comes_back_whole_whatever_its_name(uploads):
    uploads.add(UPLOAD)
    assert uploads.get("tenant_a", "upload_1") == UPLOAD


def test_other_tenants_upload_is_not_found(uploads):
    uploads.add(UPLOAD)
    with pytest.raises(NotFound) as caught:
        uploads.get("tenant_b", "upload_1")
    assert caught.value.code == "upload_not_found"


@pytest.mark.parametrize("upload_id", ["", "\0", "../../etc", "图" * 5000])
def test_any_text_may_be_asked_for_and_is_not_found(uploads, upload_id):
    with pytest.raises(NotFound):
        uploads.get("tenant_a", upload_id)
    uploads.delete("tenant_a", upload_id)


def test_adding_again_changes_nothing(uploads):
    uploads.add(UPLOAD)
    uploads.add(replace(UPLOAD, file_name="other"))
    assert uploads.get("tenant_a", "upload_1") == UPLOAD


def test_only_its_tenant_deletes_an_upload(uploads):
    uploads.add(UPLOAD)
    uploads.delete("tenant_b", "upload_1")
    assert uploads.get("tenant_a", "upload_1") == UPLOAD
    uploads.delete("tenant_a", "upload_1")
    with pytest.raises(NotFound):
        uploads.get("tenant_a", "upload_1")


def test_uploads_are_listed_in_slices_of_one_tenant(uploads):
    ids = [f"upload_01J{number:023d}" for number in range(4)]
    for upload_id in ids[:3]:
        uploads.add(replace(UPLOAD, id=upload_id))
    uploads.add(replace(UPLOAD, id=ids[3], tenant_id="tenant_b"))
    first = uploads.list("tenant_a", limit=2)
    second = uploads.list("tenant_a", limit=2, cursor=first.cursor)
    assert [one.id for one in (*first.items, *second.items)] == [ids[2], ids[1], ids[0]]
    assert second.cursor is None


def test_old_uploads_are_named_oldest_first_or_left_to_the_store(uploads):
    for number in range(3):
        made_at = UPLOAD.created_at + timedelta(days=number)
        uploads.add(replace(UPLOAD, id=f"upload_{number}", created_at=made_at))
    found = uploads.created_before(UPLOAD.created_at + timedelta(days=2), limit=10)
    expected = [] if isinstance(uploads, DynamoUploadStore) else ["upload_0", "upload_1"]
    assert [one.id for one in found] == expected
    assert len(uploads.created_before(UPLOAD.created_at + timedelta(days=9), limit=1)) == bool(expected)
