"""The API in front of fakes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from lambdas import runtime
from services.ports.catalogue import Avatar
from services.usecases.manage_keys import issue_key
from tests.fakes.world import OTHER_TENANT, TENANT, World
from tests.handlers.api.gateway import Gateway

AVATAR_ID = "avatar_01JZZZZZZZZZZZZZZZZZZZZZZZ"


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    made.avatars.add(
        Avatar(
            id=AVATAR_ID,
            tenant_id=None,
            name="Vera",
            kind="picture",
            object_key=f"catalogue/shared/{AVATAR_ID}/0/picture.jpg",
            media_type="image/jpeg",
            created_at=made.clock.now(),
            licence="MIT",
        )
    )
    runtime.use_services(made.services)
    yield made
    runtime.use_services(None)


@pytest.fixture
def api(world: World) -> Gateway:
    """The API as a tenant calls it."""
    return Gateway(issue_key(TENANT, tenants=world.tenants, audit=world.audit, clock=world.clock).secret)


@pytest.fixture
def other_api(world: World) -> Gateway:
    """The API as another tenant calls it."""
    return Gateway(issue_key(OTHER_TENANT, tenants=world.tenants, audit=world.audit, clock=world.clock).secret)


@pytest.fixture
def video() -> dict[str, Any]:
    """The smallest video request."""
    return {
        "presenter": {"avatar_id": AVATAR_ID},
        "speech": {"text": "Meet the Aurora.", "voice": {"voice_id": "en-us"}},
    }
