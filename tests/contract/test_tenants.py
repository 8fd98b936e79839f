"""What every tenant store does."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from services.adapters.aws.clients import Clients
from services.adapters.aws.tenants import DynamoTenantStore
from services.adapters.local.tenants import SqliteTenantStore
from services.domain.errors import Conflict, InvalidRequest, NotFound
from services.domain.scope import ALL_SCOPES, Scope
from services.ports.tenants import ApiKey, Tenant, TenantStore
from tests.fakes.tenants import FakeTenantStore

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
A, B = "tenant_01JAAAAAAAAAAAAAAAAAAAAAAA", "tenant_01JBBBBBBBBBBBBBBBBBBBBBBB"
ACME = Tenant(id=A, name='Acme "图" GmbH', webhook_secret="whsec_c2VjcmV0", created_at=NOON, max_outstanding=3)
LIMITED = replace(
    ACME, requests_per_s=0.5, request_burst=7, max_queued_jobs=20, monthly_output_s=3600.5, deleting_since=NOON
)
KEY = ApiKey(id="key_1", tenant_id=A, sha256="ab" * 32, created_at=NOON)
READER = ApiKey(
    id="key_2",
    tenant_id=A,
    sha256="cd" * 32,
    created_at=NOON,
    name="dashboard 图",
    scopes=frozenset({Scope.READ}),
    expires_at=NOON + HOUR,
    last_used_at=NOON,
)


@pytest.fixture(params=["fake", "sqlite", "aws"])
def tenants(request: pytest.FixtureRequest, tmp_path: Path) -> TenantStore:
    if request.param == "aws":
        aws = request.getfixturevalue("aws")
        return DynamoTenantStore(Clients(), table_prefix=aws.tables("tenants"))
    return FakeTenantStore() if request.param == "fake" else SqliteTenantStore(tmp_path / "tenants.sqlite")


@pytest.mark.parametrize("tenant", [ACME, LIMITED])
def test_tenant_comes_back_whole(tenants, tenant):
    tenants.add(tenant)
    assert tenants.get(A) == tenant


def test_tenant_is_added_once(tenants):
    tenants.add(ACME)
    with pytest.raises(Conflict) as caught:
        tenants.add(replace(ACME, name="Other"))
    assert caught.value.code == "tenant_exists"
    assert tenants.get(A) == ACME


def test_unknown_tenant_is_not_found(tenants):
    for call in (lambda: tenants.get(A), lambda: tenants.update(ACME)):
        with pytest.raises(NotFound) as caught:
            call()
        assert caught.value.code == "tenant_not_found"


def test_changed_tenant_replaces_the_one_with_its_id(tenants):
    tenants.add(ACME)
    tenants.update(LIMITED)
    assert tenants.get(A) == LIMITED
    tenants.update(ACME)
    assert tenants.get(A) == ACME


def test_tenants_are_listed_in_slices(tenants):
    tenants.add(ACME)
    tenants.add(replace(ACME, id=B))
    first = tenants.list(limit=1)
    second = tenants.list(limit=1, cursor=first.cursor)
    assert {one.id for page in (first, second) for one in page.items} == {A, B}
    assert second.cursor is None
    with pytest.raises(InvalidRequest) as caught:
        tenants.list(cursor="nonsense")
    assert caught.value.code == "malformed_cursor"


@pytest.mark.parametrize("key", [KEY, READER])
def test_key_is_found_by_its_hash_and_by_its_id(tenants, key):
    tenants.add(ACME)
    tenants.add_key(key)
    assert tenants.find_key(key.sha256) == key
    assert tenants.get_key(A, key.id) == key
    assert tenants.find_key("ef" * 32) is None


def test_key_of_another_tenant_is_not_found(tenants):
    tenants.add(ACME)
    tenants.add_key(KEY)
    for call in (
        lambda: tenants.get_key(B, "key_1"),
        lambda: tenants.revoke_key(B, "key_1", NOON),
        lambda: tenants.expire_key(replace(KEY, tenant_id=B), NOON),
    ):
        with pytest.raises(NotFound) as caught:
            call()
        assert caught.value.code == "key_not_found"
    assert tenants.find_key(KEY.sha256) == KEY


def test_keys_are_listed_with_those_that_serve_no_more(tenants):
    tenants.add(ACME)
    tenants.add_key(KEY)
    tenants.add_key(READER)
    tenants.revoke_key(A, "key_1", NOON)
    assert [key.id for key in tenants.list_keys(A)] == ["key_2", "key_1"]
    assert list(tenants.list_keys(B)) == []


def test_first_revocation_stays_and_other_keys_too(tenants):
    tenants.add(ACME)
    tenants.add_key(KEY)
    tenants.add_key(READER)
    tenants.revoke_key(A, "key_1", NOON + HOUR)
    tenants.revoke_key(A, "key_1", NOON + 2 * HOUR)
    assert tenants.find_key(KEY.sha256) == replace(KEY, revoked_at=NOON + HOUR)
    assert tenants.find_key(READER.sha256) == READER


def test_expiry_only_comes_nearer(tenants):
    tenants.add(ACME)
    tenants.add_key(KEY)
    for hours, left in ((3, 3), (1, 1), (2, 1)):
        tenants.expire_key(tenants.get_key(A, "key_1"), NOON + hours * HOUR)
        assert tenants.get_key(A, "key_1").expires_at == NOON + left * HOUR


@pytest.mark.parametrize("key", [KEY, READER], ids=["without an end", "with an end"])
def test_only_the_first_of_those_who_read_a_key_ends_it(tenants, key):
    tenants.add(ACME)
    tenants.add_key(key)
    seen = tenants.get_key(A, key.id)
    tenants.expire_key(seen, NOON + timedelta(minutes=5))
    with pytest.raises(Conflict) as caught:
        tenants.expire_key(seen, NOON + timedelta(minutes=4))
    assert caught.value.code == "key_changed"
    tenants.revoke_key(A, key.id, NOON)
    with pytest.raises(Conflict):
        tenants.expire_key(replace(seen, expires_at=NOON + timedelta(minutes=5)), NOON)
    assert tenants.get_key(A, key.id).expires_at == NOON + timedelta(minutes=5)


def test_use_is_noted_without_touching_what_else_is_known(tenants):
    tenants.add(ACME)
    tenants.add_key(KEY)
    tenants.revoke_key(A, "key_1", NOON)
    tenants.note_use(KEY, NOON + HOUR)  # as it was read before the revocation
    assert tenants.get_key(A, "key_1") == replace(KEY, revoked_at=NOON, last_used_at=NOON + HOUR)
    tenants.note_use(READER, NOON)
    assert tenants.find_key(READER.sha256) is None


def test_deleted_tenant_takes_its_keys_along(tenants):
    tenants.add(ACME)
    tenants.add(replace(ACME, id=B))
    tenants.add_key(KEY)
    tenants.add_key(replace(READER, tenant_id=B))
    tenants.delete(A)
    tenants.delete(A)
    assert tenants.find_key(KEY.sha256) is None
    assert [one.id for one in tenants.list().items] == [B]
    assert tenants.find_key(READER.sha256) is not None


def test_keys_of_an_older_state_folder_keep_every_right(tmp_path):
    path = tmp_path / "tenants.sqlite"
    SqliteTenantStore(path).add(ACME)
    with sqlite3.connect(path) as old:  # as the first version left it
        old.executescript(
            """
            DROP INDEX api_keys_by_tenant; DROP TABLE api_keys; DROP TABLE tenants;
            CREATE TABLE tenants (id TEXT PRIMARY KEY, name TEXT NOT NULL, webhook_secret TEXT NOT NULL,
                max_outstanding INTEGER NOT NULL, created_at INTEGER NOT NULL) WITHOUT ROWID;
            CREATE TABLE api_keys (sha256 TEXT PRIMARY KEY, id TEXT NOT NULL UNIQUE,
                tenant_id TEXT NOT NULL REFERENCES tenants (id), created_at INTEGER NOT NULL, revoked_at INTEGER)
                WITHOUT ROWID;
            INSERT INTO tenants VALUES ('tenant_old', 'Old', 'whsec_x', 8, 0);
            INSERT INTO api_keys VALUES ('ee', 'key_old', 'tenant_old', 0, NULL);
            PRAGMA user_version = 1;
            """
        )
    key = SqliteTenantStore(path).find_key("ee")
    assert key is not None
    assert (key.scopes, key.expires_at, key.revoked_at) == (ALL_SCOPES, None, None)
    assert SqliteTenantStore(path).get("tenant_old").requests_per_s is None
