from __future__ import annotations

import pytest

from tests.fakes.world import World


@pytest.fixture
def world() -> World:
    return World()
