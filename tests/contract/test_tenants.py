"""What every tenant store does."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from services.adapters.local.tenants import SqliteTenantStore
from services.domain.errors import NotFound
from services.ports.tenants import ApiKey, Tenant, TenantStore
from tests.fakes.tenants import FakeTenantStore

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
ACME = Tenant(id="tenant_a", name='Acme "图" GmbH', webhook_secret="whsec_c2VjcmV0", created_at=NOON, max_outstanding=3)
KEY = ApiKey(id="key_1", tenant_id="tenant_a", sha256="ab" * 32, created_at=NOON)


@pytest.fixture(params=["fake", "sqlite"])
def tenants(request: pytest.FixtureRequest, tmp_path: Path) -> TenantStore:
    return FakeTenantStore() if request.param == "fake" else SqliteTenantStore(tmp_path / "tenants.sqlite")


def test_tenant_comes_back_whole(tenants):
    tenants.add(ACME)
    assert tenants.get("tenant_a") == ACME


def test_unknown_tenant_is_not_found(tenants):
    with pytest.raises(NotFound) as caught:
        tenants.get("tenant_x")
    assert caught.value.code == "tenant_not_found"


def test_key_is_found_by_its_hash_alone(tenants):
    tenants.add(ACME)
    tenants.add_key(KEY)
    assert tenants.find_key("ab" * 32) == KEY
    assert tenants.find_key("cd" * 32) is None


def test_revoked_key_says_when_and_other_keys_stay(tenants):
    tenants.add(ACME)
    tenants.add_key(KEY)
    other = replace(KEY, id="key_2", sha256="cd" * 32)
    tenants.add_key(other)
    tenants.revoke_key("key_1", NOON + timedelta(hours=1))
    assert tenants.find_key("ab" * 32) == replace(KEY, revoked_at=NOON + timedelta(hours=1))
    assert tenants.find_key("cd" * 32) == other
