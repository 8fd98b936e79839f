"""What every audit log does."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from services.adapters.aws.audit import DynamoAuditLog
from services.adapters.aws.clients import Clients
from services.adapters.local.audit import SqliteAuditLog
from services.domain.errors import InvalidRequest
from services.ports.audit import AuditEntry, AuditLog
from tests.fakes.audit import FakeAuditLog


def numbered(number: int) -> str:
    return f"audit_01J{number:023d}"


ENTRY = AuditEntry(
    id=numbered(1),
    tenant_id="tenant_a",
    at=datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC),
    actor="key_1",
    action="consent.revoked",
    target="consent_1",
    details={"uses": "3"},
)


@pytest.fixture(params=["fake", "sqlite", "aws"])
def audit(request: pytest.FixtureRequest, tmp_path: Path) -> AuditLog:
    if request.param == "aws":
        aws = request.getfixturevalue("aws")
        return DynamoAuditLog(Clients(), table_prefix=aws.tables("audit"))
    return FakeAuditLog() if request.param == "fake" else SqliteAuditLog(tmp_path / "audit.sqlite")


def test_entry_comes_back_whole(audit):
    audit.add(ENTRY)
    audit.add(replace(ENTRY, id=numbered(2), details={}))
    assert audit.list("tenant_a").items == (replace(ENTRY, id=numbered(2), details={}), ENTRY)


def test_entry_stays_as_it_was_first(audit):
    audit.add(ENTRY)
    audit.add(replace(ENTRY, action="other"))
    assert audit.list("tenant_a").items == (ENTRY,)


def test_listing_is_newest_first_in_slices_of_one_tenant(audit):
    for number in (2, 1, 3):
        audit.add(replace(ENTRY, id=numbered(number)))
    audit.add(replace(ENTRY, id=numbered(4), tenant_id="tenant_b"))
    first = audit.list("tenant_a", limit=2)
    second = audit.list("tenant_a", limit=2, cursor=first.cursor)
    assert [one.id for one in (*first.items, *second.items)] == [numbered(3), numbered(2), numbered(1)]
    assert second.cursor is None


def test_cursor_of_another_list_is_malformed(audit):
    with pytest.raises(InvalidRequest) as caught:
        audit.list("tenant_a", cursor="job_1")
    assert caught.value.code == "malformed_cursor"


def test_deleted_tenant_leaves_no_entry(audit):
    audit.add(ENTRY)
    audit.add(replace(ENTRY, id=numbered(4), tenant_id="tenant_b"))
    audit.forget("tenant_a")
    assert audit.list("tenant_a").items == ()
    assert len(audit.list("tenant_b").items) == 1


def test_entry_in_the_file_cannot_be_changed(tmp_path):
    SqliteAuditLog(tmp_path / "audit.sqlite").add(ENTRY)
    with sqlite3.connect(tmp_path / "audit.sqlite") as file, pytest.raises(sqlite3.IntegrityError, match="append"):
        file.execute("UPDATE entries SET actor = 'somebody else'")
