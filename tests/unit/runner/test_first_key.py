"""The key that a state folder keeps for its owner."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from services.usecases.authenticate import authenticate
from services.usecases.delete_tenant import delete_tenant
from services.usecases.manage_keys import revoke_key
from spokesmodel.first_start import first_key
from tests.fakes.world import World


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "api_key"


def caller(world: World, secret: str):
    return authenticate(secret, tenants=world.tenants, clock=world.clock)


def test_key_is_made_once_and_kept(path: Path) -> None:
    world = World()
    secret, is_new = first_key(world.services, path)
    assert is_new
    assert first_key(world.services, path) == (secret, False)
    assert path.read_text().strip() == secret
    assert caller(world, secret).tenant.name == "local"


@pytest.mark.parametrize("end", ["revoked", "expired"])
def test_key_that_serves_no_more_is_replaced_for_the_same_tenant(path: Path, end: str) -> None:
    world = World()
    secret, _ = first_key(world.services, path)
    before = caller(world, secret)
    if end == "revoked":
        revoke_key(
            before.key.id,
            tenant_id=before.tenant.id,
            actor="key_1",
            tenants=world.tenants,
            audit=world.audit,
            clock=world.clock,
        )
    else:
        world.tenants.expire_key(before.key, world.clock.now() + timedelta(seconds=1))
        world.clock.advance(1)
    replaced, is_new = first_key(world.services, path)
    assert is_new
    assert replaced != secret
    assert caller(world, replaced).tenant.id == before.tenant.id


def test_folder_of_a_deleted_tenant_gets_another(path: Path) -> None:
    world = World()
    secret, _ = first_key(world.services, path)
    gone = caller(world, secret).tenant.id
    delete_tenant(gone, stores=world.services)
    replaced, _ = first_key(world.services, path)
    assert caller(world, replaced).tenant.id != gone
