"""What every clock promises."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from services.adapters.local.clock import SystemClock
from services.ports.clock import Clock
from tests.fakes.clock import FakeClock


@pytest.fixture(params=["fake", "system"])
def clock(request: pytest.FixtureRequest) -> Clock:
    return FakeClock() if request.param == "fake" else SystemClock()


def test_now_knows_that_it_is_utc(clock):
    assert clock.now().tzinfo is not None
    assert clock.now().utcoffset() == timedelta(0)


def test_time_does_not_go_back(clock):
    moments = [clock.now() for _ in range(100)]
    assert moments == sorted(moments)


def test_sleep_ends_no_sooner_than_asked(clock):
    before = clock.now()
    clock.sleep(0.02)
    assert clock.now() - before >= timedelta(seconds=0.019)  # the system's may be set while it sleeps, by very little


def test_clock_of_the_system_tells_the_time():
    before = datetime.now(UTC)
    assert before <= SystemClock().now() <= datetime.now(UTC)
